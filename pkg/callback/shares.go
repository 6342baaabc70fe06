package callback

import (
	"net"
	"net/http"
	"sync"
)

// shares keeps one address from taking all connections: each may have a part of
// them, and what is beyond that is closed at once.
type shares struct {
	most     int
	complain func(format string, arguments ...any)

	mu   sync.Mutex
	open map[string]int
}

// follow counts a connection of an http.Server, as its ConnState.
func (s *shares) follow(connection net.Conn, state http.ConnState) {
	address := hostOf(connection.RemoteAddr().String())
	switch state {
	case http.StateNew:
		if !s.take(address) {
			s.complain("%s has %d connections, and gets no more", address, s.most)
			_ = connection.Close()
		}
	case http.StateClosed, http.StateHijacked:
		s.giveBack(address)
	}
}

// take counts a connection, and tells whether it is within the share.
func (s *shares) take(address string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[address]++
	return s.open[address] <= s.most
}

func (s *shares) giveBack(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[address]--; s.open[address] == 0 {
		delete(s.open, address)
	}
}

// hostOf is the address of a caller, without its port.
func hostOf(address string) string {
	host, _, _ := net.SplitHostPort(address)
	return host
}
