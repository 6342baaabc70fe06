package source

import (
	"context"
	"sync"
)

// Slots limits how much work runs at the same time: in total, and for one namespace. One namespace can neither take all
// slots nor fill the queue for them, so it cannot delay the others. All methods can be called concurrently. A channel
// with a buffer serves its waiting senders in order, so no caller waits forever.
type Slots struct {
	// total contains an element for each slot in use. each is the number of slots for one namespace.
	total chan struct{}
	each  int

	// mu guards namespaces, and the number of callers of each.
	mu sync.Mutex
	// namespaces contains only the namespaces with callers, so it does not grow.
	namespaces map[string]*namespaceSlots
}

// namespaceSlots are the slots of a namespace, and how many callers use or wait for them. They are dropped when
// callers is 0.
type namespaceSlots struct {
	taken chan struct{}
	// callers counts the callers between enter and leave.
	callers int
}

// NewSlots returns total slots. One namespace can use at most each at the same time.
func NewSlots(total, each int) *Slots {
	return &Slots{total: make(chan struct{}, total), each: each, namespaces: map[string]*namespaceSlots{}}
}

// Acquire waits for a slot and returns the function that releases it. It returns the cause
// if ctx ends first.
//
// A caller first waits for its own namespace. So no more than each callers of a namespace are in the queue for the
// total, which channels serve in order. release must be called exactly once, and can be called by another goroutine.
func (s *Slots) Acquire(ctx context.Context, namespace string) (release func(), err error) {
	own := s.enter(namespace)
	if err := acquire(ctx, own.taken); err != nil {
		s.leave(namespace)
		return nil, err
	}
	if err := acquire(ctx, s.total); err != nil {
		<-own.taken
		s.leave(namespace)
		return nil, err
	}
	return func() {
		// The slots are released in the reverse order, so that the next caller of the namespace can proceed to the
		// total.
		<-s.total
		<-own.taken
		s.leave(namespace)
	}, nil
}

// acquire waits for a slot of one channel. It returns the cause if ctx ends first, or has ended already.
func acquire(ctx context.Context, slots chan struct{}) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// enter returns the slots of a namespace, which leave drops after the last caller.
func (s *Slots) enter(namespace string) *namespaceSlots {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.namespaces[namespace]
	if own == nil {
		own = &namespaceSlots{taken: make(chan struct{}, s.each)}
		s.namespaces[namespace] = own
	}
	own.callers++
	return own
}

// leave reverses enter.
func (s *Slots) leave(namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if own := s.namespaces[namespace]; own.callers > 1 {
		own.callers--
		return
	}
	delete(s.namespaces, namespace)
}
