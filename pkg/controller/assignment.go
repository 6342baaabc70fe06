package controller

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/shard"
)

// Begin starts to handle the Applications of a slot. It writes only while held returns no error.
func (c *Controller) Begin(number int, held func() error) {
	//nolint:forbidigo // it lives as long as the slot
	ctx, abandon := context.WithCancelCause(context.Background())
	s := c.slots
	s.mu.Lock()
	s.held[number] = &slot{held: held, ctx: ctx, abandon: abandon}
	select {
	case <-s.begun:
	default:
		close(s.begun)
	}
	s.mu.Unlock()
	for _, object := range c.applications.All() {
		if shard.SlotForUID(string(object.UID), s.n) != number {
			continue
		}
		c.mu.Lock()
		c.names[object.UID] = object.Key
		c.changed[object.UID] = struct{}{}
		c.mu.Unlock()
		c.queue.Add(object.Key)
	}
	c.mu.Lock()
	for key := range c.slicesOf { // mainly for the slices of deleted Applications
		c.queue.Add(key)
	}
	c.mu.Unlock()
	c.templates.Again()
}

// End stops handling the Applications of a slot. It returns after their reconciles have ended and their
// state is dropped. If the slot is lost, it abandons the running reconciles, because another process may
// handle the Applications already.
func (c *Controller) End(number int, lost bool) {
	s := c.slots
	s.mu.Lock()
	h := s.held[number]
	if h != nil {
		h.ending = true
	}
	s.mu.Unlock()
	if h == nil {
		return
	}
	if lost {
		h.abandon(ErrNotLeading)
	}
	late := time.AfterFunc(c.options.Drain, func() { h.abandon(nil) })
	h.turns.Wait()
	late.Stop()
	applications := c.remembered(func(uid types.UID) bool { return shard.SlotForUID(string(uid), s.n) == number })
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
	if s.held[number] == h {
		delete(s.held, number)
	}
}

// remembered returns the memory of the Applications that which selects.
func (c *Controller) remembered(which func(types.UID) bool) map[types.UID]*memory {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := map[types.UID]*memory{}
	for uid := range c.names {
		if which(uid) {
			found[uid] = c.memories[uid]
		}
	}
	return found
}
