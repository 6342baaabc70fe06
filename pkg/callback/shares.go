package callback

import (
	"fmt"
	"net"
	"net/http"
	"sync"
)

// shares is how the connections are shared out among addresses. Each may have a part
// of them; and when all are taken, who comes takes one from the address that has the
// most: one that has said nothing, if there is such a one, and of these the oldest. So
// two addresses that take all they can get keep nobody else out.
type shares struct {
	most, mostOfOne int
	complain        func(format string, arguments ...any)

	mu    sync.Mutex
	open  map[string][]*share // by address, the oldest first
	total int
}

// share is a connection.
type share struct {
	net.Conn
	active bool
}

// follow counts a connection of an http.Server, as its ConnState.
func (s *shares) follow(connection net.Conn, state http.ConnState) {
	address := hostOf(connection.RemoteAddr().String())
	switch state {
	case http.StateNew:
		closed, problem := s.take(address, connection)
		if closed != nil {
			s.complain("%s %s", hostOf(closed.RemoteAddr().String()), problem)
			hangUp(closed)
		}
	case http.StateActive:
		s.activate(address, connection)
	case http.StateClosed, http.StateHijacked:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.drop(address, connection)
	}
}

// take counts a connection. It returns the one that is to be closed for it, which may
// be the same one.
func (s *shares) take(address string, connection net.Conn) (closed net.Conn, problem string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open[address]) >= s.mostOfOne {
		return connection, fmt.Sprintf("has %d connections, and gets no more", s.mostOfOne)
	}
	s.open[address] = append(s.open[address], &share{Conn: connection})
	if s.total++; s.total <= s.most {
		return nil, ""
	}
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

// oldest is the connection of an address that it can do without.
func (s *shares) oldest(address string) net.Conn {
	for _, c := range s.open[address] {
		if !c.active {
			return c.Conn
		}
	}
	return s.open[address][0].Conn
}

func (s *shares) activate(address string, connection net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.open[address] {
		if c.Conn == connection {
			c.active = true
		}
	}
}

// drop forgets a connection that is counted, if it is. The lock is held.
func (s *shares) drop(address string, connection net.Conn) {
	for i, c := range s.open[address] {
		if c.Conn != connection {
			continue
		}
		s.total--
		if s.open[address] = append(s.open[address][:i], s.open[address][i+1:]...); len(s.open[address]) == 0 {
			delete(s.open, address)
		}
		return
	}
}

// hangUp closes a connection without a word, for which a TLS connection would wait.
func hangUp(connection net.Conn) {
	if secured, ok := connection.(interface{ NetConn() net.Conn }); ok {
		connection = secured.NetConn()
	}
	_ = connection.Close()
}

// hostOf is the address of a caller, without its port.
func hostOf(address string) string {
	host, _, _ := net.SplitHostPort(address)
	return host
}
