package controller

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/shard"
)

// slots are the slots whose Applications this process reconciles, if several processes share the Applications
// (docs/shards.md). Without slots, all methods report that this process handles the Application.
type slots struct {
	// applications has the UIDs, from which slots follow.
	applications *cluster.ApplicationStore
	n            int // if at most 1, there are no slots and this process handles all Applications

	// begun is closed when the first slot has begun.
	begun chan struct{}

	// mu guards held and the fields ending of the slots.
	mu sync.Mutex
	// held has the slots by number.
	held map[int]*slot
}

// slot is a slot that this process holds, from Begin to the end of End.
type slot struct {
	// held returns an error as soon as another process may hold the slot. It is the fence of all writes of its
	// reconciles.
	held func() error
	// ctx ends with the slot; abandon cancels it.
	ctx     context.Context //nolint:containedctx // the life of the slot, not of a call
	abandon context.CancelCauseFunc
	// ending is true from the start of End on. Running reconciles continue, and no further ones begin.
	ending bool
	// reconciles counts the running reconciles. Add is called with slots.mu and only before ending is set, so End can
	// wait.
	reconciles sync.WaitGroup
}

func newSlots(applications *cluster.ApplicationStore, n int) *slots {
	return &slots{applications: applications, n: n, begun: make(chan struct{}), held: map[int]*slot{}}
}

// slotOf returns the slot of an Application. A missing Application has a slot, too, because its slices must be
// deleted, or because it must be created from a custom resource. That slot follows from its name, and usually differs
// from the slot after its creation.
func (s *slots) slotOf(key types.NamespacedName) int {
	if object := s.applications.Get(key); object != nil {
		return shard.SlotForUID(string(object.UID), s.n)
	}
	return shard.SlotForName(key.String(), s.n)
}

// isAssigned reports whether this process handles an Application, which may not exist.
func (s *slots) isAssigned(key types.NamespacedName) bool { return s.n <= 1 || s.holds(s.slotOf(key)) }

// has reports whether this process handles the Application with a UID.
func (s *slots) has(uid types.UID) bool {
	return s.n <= 1 || s.holds(shard.SlotForUID(string(uid), s.n))
}

// holds reports whether this process holds a slot that is not ending.
func (s *slots) holds(number int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held[number] != nil && !s.held[number].ending
}

// enter begins a reconcile of an Application, if this process handles it. If mine is true, the caller must call leave
// when the reconcile has ended. The returned context ends with the slot, not with the reconcile, because some of the
// work continues afterwards: the renewal of a source, and the call of a workload. It fails writes while the slot is
// not held.
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

// reconcileContext is a context with the values of a reconcile and the lifetime of its slot. It hides the end of the
// context that the worker got, which has the same life as the process.
type reconcileContext struct {
	context.Context //nolint:containedctx // this is one

	slot context.Context //nolint:containedctx // this is one
}

func (t reconcileContext) Deadline() (time.Time, bool) { return t.slot.Deadline() }
func (t reconcileContext) Done() <-chan struct{}       { return t.slot.Done() }
func (t reconcileContext) Err() error                  { return t.slot.Err() }

// abandonAll cancels the running reconciles of all slots, when the process has to end.
func (s *slots) abandonAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.held {
		h.abandon(nil)
	}
}

// number returns the number of slots that this process holds, including those that are ending.
func (s *slots) number() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.held)
}
