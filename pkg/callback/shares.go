package callback

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
)

// shares distributes the connections over addresses. Each address can have a limited number of them. When
// all connections are in use, a new one replaces one of the address with the most connections: preferably
// an idle one, and of these the oldest. So two addresses that open as many connections as they can do not
// lock out others.
type shares struct {
	// most is the maximum number of connections in total, mostOfOne that of one address.
	most, mostOfOne int
	// complain logs a closed connection. It is called without the lock.
	complain func(format string, arguments ...any)

	// mu guards the fields below.
	mu   sync.Mutex
	open map[string][]*share // by address, oldest first
	// total is the number of connections in open.
	total int
}

// share is one connection. active is true once its request is being read: net/http reports that when the first byte
// arrives.
type share struct {
	net.Conn
	active bool
}

// follow tracks the connections of an http.Server. It is the ConnState hook, which net/http calls on the goroutine of
// each connection. For a new connection, that is the goroutine that accepts all connections, so follow must not
// block.
func (s *shares) follow(connection net.Conn, state http.ConnState) {
	address := hostAddress(connection.RemoteAddr().String())
	switch state {
	case http.StateNew:
		closed, problem := s.take(address, connection)
		if closed != nil {
			s.complain("%s %s", hostAddress(closed.RemoteAddr().String()), problem)
			closeAbruptly(closed)
		}
	case http.StateActive:
		s.activate(address, connection)
	case http.StateClosed, http.StateHijacked:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.drop(address, connection)
	}
}

// take counts a connection. It returns the connection to close for it, which can be the same one, and the reason. The
// closed connection no longer counts. closed is nil if there is room.
func (s *shares) take(address string, connection net.Conn) (closed net.Conn, problem string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open[address]) >= s.mostOfOne {
		return connection, fmt.Sprintf("has %d connections, and cannot open more", s.mostOfOne)
	}
	s.open[address] = append(s.open[address], &share{Conn: connection})
	if s.total++; s.total <= s.most {
		return nil, ""
	}
	// If several addresses have equally many connections, that of the new connection loses one.
	greatest := address
	for other, connections := range s.open {
		if len(connections) > len(s.open[greatest]) {
			greatest = other
		}
	}
	closed = s.oldest(greatest)
	s.drop(greatest, closed)
	return closed, "has the most connections, and loses one to another client"
}

// oldest returns the connection of an address to close first: the oldest idle one, or else the oldest. The address
// must have a connection. The caller holds the lock.
func (s *shares) oldest(address string) net.Conn {
	idle := slices.IndexFunc(s.open[address], func(c *share) bool { return !c.active })
	return s.open[address][max(idle, 0)].Conn
}

// activate marks a connection as active. It does nothing if the connection is no longer counted.
func (s *shares) activate(address string, connection net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.open[address] {
		if c.Conn == connection {
			c.active = true
		}
	}
}

// drop removes a connection if it is counted. The caller holds the lock.
func (s *shares) drop(address string, connection net.Conn) {
	i := slices.IndexFunc(s.open[address], func(c *share) bool { return c.Conn == connection })
	if i < 0 {
		return
	}
	s.total--
	if s.open[address] = slices.Delete(s.open[address], i, i+1); len(s.open[address]) == 0 {
		delete(s.open, address)
	}
}

// closeAbruptly closes a connection without a TLS close message, which could block.
func closeAbruptly(connection net.Conn) {
	if secured, ok := connection.(interface{ NetConn() net.Conn }); ok {
		connection = secured.NetConn()
	}
	_ = connection.Close()
}

// hostAddress returns the address of a caller without the port.
func hostAddress(address string) string {
	host, _, _ := net.SplitHostPort(address)
	return host
}
