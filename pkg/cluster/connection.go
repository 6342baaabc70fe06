package cluster

import (
	"context"
	"crypto/tls"
	"net/http/httptrace"
	"sync"
)

// connection is the one that a request went over in the end, if it is of HTTP/2, where one
// connection has all streams. With HTTP/1.1 each watch has its own, and another the next
// time, which says nothing.
type connection struct {
	mu   sync.Mutex
	name string
}

// noted is a context for a request whose connection is to be noted.
func (c *connection) noted(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		name := ""
		if conn, ok := info.Conn.(*tls.Conn); ok && conn.ConnectionState().NegotiatedProtocol == "h2" {
			name = conn.LocalAddr().String() + " " + conn.RemoteAddr().String()
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.name = name
	}})
}

// String tells it from every other that is open; empty if it is not known.
func (c *connection) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.name
}
