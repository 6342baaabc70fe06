package faults_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// gate holds the writes of a controller until a test lets them pass. So the seed determines between which
// two writes a change happens, and not the timing.
type gate struct {
	mu      sync.Mutex
	open    bool
	died    chan struct{}
	waiting []*held
}

// held is a write that waits at the gate.
type held struct {
	order   uint64 // among the waiting ones
	through chan struct{}
	done    chan struct{}
}

const (
	// settles is the time after a response in which dependent writes arrive at the gate.
	settles = 5 * time.Millisecond
	// rests is the time without writes after which no more are expected.
	rests = 250 * time.Millisecond
)

var errDead = errors.New("the process is dead")

func newGate() *gate { return &gate{open: true, died: make(chan struct{})} }

// Hold closes the gate.
func (g *gate) Hold() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = false
}

// Open opens the gate.
func (g *gate) Open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = true
	for _, h := range g.waiting {
		close(h.through)
	}
	g.waiting = nil
}

// Die fails all waiting and future writes.
func (g *gate) Die() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.isDead() {
		close(g.died)
	}
}

func (g *gate) isDead() bool {
	select {
	case <-g.died:
		return true
	default:
		return false
	}
}

// Let lets n writes pass one by one, or fewer if no more arrive. It returns after the response to the last
// one.
func (g *gate) Let(writes int) {
	for last := time.Now(); writes > 0 && time.Since(last) < rests; {
		<-time.After(settles)
		if h := g.next(); h != nil {
			close(h.through)
			<-h.done
			writes--
			last = time.Now()
		}
	}
}

// next returns the first waiting write, in an order that does not depend on timing.
func (g *gate) next() *held {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		return nil
	}
	slices.SortStableFunc(g.waiting, func(a, b *held) int {
		if a.order < b.order {
			return -1
		}
		return 1
	})
	first := g.waiting[0]
	g.waiting = g.waiting[1:]
	return first
}

// enter waits until a request may be sent. done must be called after its response.
func (g *gate) enter(request *http.Request, order uint64) (done func(), err error) {
	if g.isDead() {
		return nil, errDead
	}
	// Events are sent concurrently with the work.
	if request.Method == http.MethodGet || strings.HasSuffix(request.URL.Path, "/events") {
		return func() {}, nil
	}
	g.mu.Lock()
	if g.open {
		g.mu.Unlock()
		return func() {}, nil
	}
	h := &held{order: order, through: make(chan struct{}), done: make(chan struct{})}
	g.waiting = append(g.waiting, h)
	g.mu.Unlock()
	select {
	case <-h.through:
		return func() { close(h.done) }, nil
	case <-g.died:
		err = errDead
	case <-request.Context().Done():
		err = request.Context().Err()
	}
	g.leave(h)
	return nil, err
}

// leave removes a waiting write.
func (g *gate) leave(h *held) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = slices.DeleteFunc(g.waiting, func(other *held) bool { return other == h })
	close(h.done)
}
