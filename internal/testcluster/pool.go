package testcluster

import (
	"context"
	"sync"
	"testing"
)

// Pool hands out control planes to tests that want one for themselves. One that a test
// leaves as whole as it was given is rewound, and given to the next: they are as good
// as new, and cost a tenth.
type Pool struct {
	// Prepare makes of a new control plane what tests are given.
	Prepare func(context.Context, *Cluster) error

	size  chan struct{}
	mutex sync.Mutex
	idle  []pooled
}

type pooled struct {
	cluster *Cluster
	state   State
}

// NewPool returns a pool of which at most so many control planes run at a time.
func NewPool(size int, prepare func(context.Context, *Cluster) error) *Pool {
	return &Pool{Prepare: prepare, size: make(chan struct{}, size)}
}

// Take returns a control plane of the test's own until its end. It waits for one.
// Control planes with options are started and stopped.
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

func (p *Pool) takeIdle(options Options) (pooled, bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if options.isSpecial() || len(p.idle) == 0 {
		return pooled{}, false
	}
	last := p.idle[len(p.idle)-1]
	p.idle = p.idle[:len(p.idle)-1]
	return last, true
}

func (p *Pool) start(t testing.TB, options Options) pooled {
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
	return pooled{cluster, state}
}
