package controller

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/shard"
)

// Begin starts to handle the Applications of a slot. It writes only while held returns no error. It implements
// shard.Work, as does End: the goroutine of the Runner calls Begin, and a goroutine of its own calls End.
//
// The slot is recorded before its Applications are queued. So an Application whose event arrives in between is queued
// by the event or by Begin, or by both.
func (c *Controller) Begin(number int, held func() error) {
	//nolint:forbidigo // it lives as long as the slot
	ctx, abandon := context.WithCancelCause(context.Background())
	s := c.slots
	s.mu.Lock()
	s.held[number] = &slot{held: held, ctx: ctx, abandon: abandon}
	select {
	// An earlier slot has closed the channel.
	case <-s.begun:
	default:
		close(s.begun)
	}
	s.mu.Unlock()
	// Their events were ignored until now.
	for _, object := range c.applications.store.All() {
		if shard.SlotForUID(string(object.UID), s.n) == number {
			c.registry.add(object)
		}
	}
	for _, key := range c.slices.applications() { // mainly for the slices of deleted Applications
		c.registry.queue.Add(key)
	}
	c.templates.Again()
}

// End stops handling the Applications of a slot. It returns after their reconciles have ended and their state is
// dropped. If the slot is lost, it abandons the running reconciles, because another process may handle the
// Applications already.
//
// The Runner releases the Lease only after End has returned. If the Lease is lost while End runs, the Runner calls
// End again with lost, which cancels the reconciles that the first call waits for.
func (c *Controller) End(number int, lost bool) {
	s := c.slots
	s.mu.Lock()
	h, again := s.held[number], false
	if h != nil {
		// From here on, no reconcile of the slot begins, and events queue none of its Applications.
		again, h.ending = h.ending, true
	}
	s.mu.Unlock()
	if h == nil {
		return
	}
	if lost {
		h.abandon(ErrNotLeading)
	}
	if again {
		return // when the first call has returned, the slot may begin again
	}
	// A reconcile that takes longer is canceled. The next process continues its work.
	late := time.AfterFunc(c.options.Drain, func() { h.abandon(nil) })
	h.reconciles.Wait()
	late.Stop()
	// After the wait, no reconcile changes these states.
	applications := c.registry.remembered(func(uid types.UID) bool { return shard.SlotForUID(string(uid), s.n) == number })
	// After an abandoned reconcile, the states may be those of a request without a response.
	if h.ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(cluster.WithFence(h.ctx, h.held), flushTime)
		c.flush(ctx, applications)
		cancel()
	}
	h.abandon(nil)
	for uid := range applications {
		c.drop(uid)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// The slot may have been taken again in the meantime.
	if s.held[number] == h {
		delete(s.held, number)
	}
}
