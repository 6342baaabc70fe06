package controller

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/shard"
)

// slots are the slots whose Applications this process reconciles, if several processes share the
// Applications (docs/shards.md).
type slots struct {
	applications *cluster.ApplicationStore
	n            int // if at most 1, there are no slots and this process handles all Applications

	// begun is closed when the first slot has begun.
	begun chan struct{}

	mu   sync.Mutex
	held map[int]*slot
}

// slot is a slot that this process holds.
type slot struct {
	// held returns an error as soon as another process may hold the slot.
	held func() error
	// ctx ends with the slot; abandon cancels it.
	ctx        context.Context //nolint:containedctx // the life of the slot, not of a call
	abandon    context.CancelCauseFunc
	ending     bool
	reconciles sync.WaitGroup
}

func newSlots(applications *cluster.ApplicationStore, n int) *slots {
	return &slots{applications: applications, n: n, begun: make(chan struct{}), held: map[int]*slot{}}
}

// slotOf returns the slot of an Application. A missing Application has a slot, too, because its slices must be
// deleted, or because it must be created from a custom resource.
func (s *slots) slotOf(key types.NamespacedName) int {
	if object := s.applications.Get(key); object != nil {
		return shard.SlotForUID(string(object.UID), s.n)
	}
	return shard.SlotForName(key.String(), s.n)
}

// isAssigned reports whether this process handles an Application.
func (s *slots) isAssigned(key types.NamespacedName) bool { return s.n <= 1 || s.holds(s.slotOf(key)) }

// has reports whether this process handles the Application with a UID.
func (s *slots) has(uid types.UID) bool {
	return s.n <= 1 || s.holds(shard.SlotForUID(string(uid), s.n))
}

func (s *slots) holds(number int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held[number] != nil && !s.held[number].ending
}

// enter begins a reconcile of an Application, if this process handles it. The returned context ends with
// the slot, not with the reconcile, because some of the work continues afterwards.
func (s *slots) enter(ctx context.Context, key types.NamespacedName) (inside context.Context, leave func(), mine bool) {
	if s.n <= 1 {
		return ctx, func() {}, true
	}
	of := s.slotOf(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.held[of]
	if h == nil || h.ending {
		return ctx, nil, false
	}
	h.reconciles.Add(1)
	return cluster.WithFence(reconcileContext{ctx, h.ctx}, h.held), h.reconciles.Done, true
}

// reconcileContext is a context with the values of a reconcile and the lifetime of its slot.
type reconcileContext struct {
	context.Context //nolint:containedctx // this is one

	slot context.Context //nolint:containedctx // this is one
}

func (t reconcileContext) Deadline() (time.Time, bool) { return t.slot.Deadline() }
func (t reconcileContext) Done() <-chan struct{}       { return t.slot.Done() }
func (t reconcileContext) Err() error                  { return t.slot.Err() }

// abandonAll cancels the running reconciles of all slots.
func (s *slots) abandonAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.held {
		h.abandon(nil)
	}
}

// number returns the number of slots that this process holds.
func (s *slots) number() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.held)
}
