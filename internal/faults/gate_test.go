package faults_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// gate holds back what a controller writes, until a test lets it pass. So it is the
// seed that says between which two writes something happens, and not who is faster.
type gate struct {
	mu      sync.Mutex
	open    bool
	died    chan struct{}
	waiting []*held
}

// held is a write that waits to be let through.
type held struct {
	order   uint64 // among those that wait
	through chan struct{}
	done    chan struct{}
}

const (
	// settles is how long after one write has been answered it may take until all that
	// follows at once waits at the gate.
	settles = 5 * time.Millisecond
	// rests is how long nothing comes when nothing more is to be expected at once.
	rests = 250 * time.Millisecond
)

var errDead = errors.New("the process is dead")

func newGate() *gate { return &gate{open: true, died: make(chan struct{})} }

// Hold lets nothing through from now on.
func (g *gate) Hold() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = false
}

// Open lets everything through from now on.
func (g *gate) Open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = true
	for _, h := range g.waiting {
		close(h.through)
	}
	g.waiting = nil
}

// Die lets nothing pass any more, and fails what waits.
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

// Let lets so many writes through, one after the other, or fewer if no more come. The
// last one is answered when it returns.
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

// next is the first of those that wait, in an order that does not depend on who came first.
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

// enter waits until a request may be sent; done is to be called when it was answered.
func (g *gate) enter(request *http.Request, order uint64) (done func(), err error) {
	if g.isDead() {
		return nil, errDead
	}
	// Events are told beside the work.
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

// leave takes a write back.
func (g *gate) leave(h *held) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = slices.DeleteFunc(g.waiting, func(other *held) bool { return other == h })
	close(h.done)
}
