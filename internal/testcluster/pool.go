package testcluster

import (
	"context"
	"sync"
	"testing"
)

// Pool provides control planes to tests that need one for themselves. If a test leaves a control plane
// intact, the pool rewinds it for the next test, which takes a tenth of the time of a start.
type Pool struct {
	// Prepare sets up a new control plane for tests.
	Prepare func(context.Context, *Cluster) error

	size  chan struct{}
	mutex sync.Mutex
	idle  []poolMember
}

type poolMember struct {
	cluster *Cluster
	state   State
}

// NewPool returns a pool that runs at most size control planes at a time.
func NewPool(size int, prepare func(context.Context, *Cluster) error) *Pool {
	return &Pool{Prepare: prepare, size: make(chan struct{}, size)}
}

// Take returns a control plane for the exclusive use of a test. It waits until one is available. Control
// planes with options are not reused.
func (p *Pool) Take(t testing.TB, options Options) *Cluster {
	t.Helper()
	p.size <- struct{}{}
	t.Cleanup(func() { <-p.size })
	mine, ok := p.takeIdle(options)
	if !ok {
		mine = p.start(t, options)
	}
	t.Cleanup(func() {
		if t.Failed() || options.isSpecial() || mine.cluster.disturbed.Load() {
			mine.cluster.Stop()
			return
		}
		if err := mine.cluster.Rewind(context.Background(), mine.state); err != nil {
			mine.cluster.Stop()
			t.Errorf("rewinding the control plane: %v", err)
			return
		}
		p.mutex.Lock()
		defer p.mutex.Unlock()
		p.idle = append(p.idle, mine)
	})
	return mine.cluster
}

func (p *Pool) takeIdle(options Options) (poolMember, bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if options.isSpecial() || len(p.idle) == 0 {
		return poolMember{}, false
	}
	last := p.idle[len(p.idle)-1]
	p.idle = p.idle[:len(p.idle)-1]
	return last, true
}

func (p *Pool) start(t testing.TB, options Options) poolMember {
	t.Helper()
	cluster, err := Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Prepare(t.Context(), cluster); err != nil {
		cluster.Stop()
		t.Fatal(err)
	}
	state, err := cluster.State(t.Context())
	if err != nil {
		cluster.Stop()
		t.Fatal(err)
	}
	return poolMember{cluster, state}
}
