package cluster

import (
	"context"
	"crypto/tls"
	"net/http/httptrace"
	"sync"
)

// connection records the HTTP/2 connection of a request. With HTTP/2, all streams share one connection.
// With HTTP/1.1, each watch has its own one, so a new connection has no significance.
type connection struct {
	// mu guards name, the addresses of both ends; empty if the connection is not HTTP/2 over TLS.
	mu   sync.Mutex
	name string
}

// noted returns a context that records the connection of a request. net/http may call the hook on another goroutine,
// and again if it repeats the request.
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

// String identifies the connection among all open ones. It returns "" if the connection is unknown.
func (c *connection) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.name
}
