package controller

import (
	"context"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/turn"
	"holdfast.dev/holdfast/pkg/worker"
)

// restAfter is how long nothing is handled before the controller is at rest.
const restAfter = 30 * time.Second

// rests calls a function once, when busy was not called for long enough, and again after
// the next time that it was. Nothing is called after stop.
func rests(atRest func()) (busy, stop func()) {
	timer := time.AfterFunc(restAfter, atRest)
	return func() { timer.Reset(restAfter) }, func() { timer.Stop() }
}

// work handles Applications until the context ends and what is being done is done.
func (c *Controller) work(ctx context.Context) {
	busy, stop := rests(c.options.AtRest)
	defer stop()
	loop := worker.Loop[types.NamespacedName]{
		Queue: c.queue, Workers: c.options.Concurrency, Handle: c.handle, Logger: c.loggerFor,
		OnHandled: func(key types.NamespacedName, err error, took time.Duration) {
			c.options.Metrics.reconciled(err, took)
			c.forgetMissing(key)
			c.templates.Handled(key)
			busy()
		},
		Drain: c.options.Drain, Abandon: ErrNotLeading,
	}
	context.AfterFunc(ctx, func() { time.AfterFunc(c.options.Drain, c.slots.abandonAll) })
	loop.Run(ctx)
	c.calls.running.Wait()
}

// handle is reconcile, and again before the interval of the Application is over.
func (c *Controller) handle(ctx context.Context, key types.NamespacedName) (time.Duration, error) {
	ctx, leave, mine := c.slots.enter(ctx, key)
	if !mine {
		c.unchanged(key)
		return 0, nil
	}
	defer leave()
	after, err := c.reconcile(ctx, key)
	if interval := c.resync(key); interval > 0 {
		after = turn.MinWait(after, interval)
	}
	return after, err
}

// unchanged forgets that something has changed about an Application that is another
// process' to handle.
func (c *Controller) unchanged(key types.NamespacedName) {
	if object := c.applications.Get(key); object != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.taken(object.UID)
	}
}

// loggerFor is the logger of one reconcile: every line of it tells which version
// of which Application it is about, and which reconcile.
func (c *Controller) loggerFor(ctx context.Context, key types.NamespacedName) klog.Logger {
	values := []any{
		"reconcileID", string(uuid.NewUUID()),
		"resource.apiVersion", v1alpha1.GroupVersion.String(), "resource.kind", "Application",
		"resource.name", key.Name, "resource.namespace", key.Namespace,
	}
	if object := c.applications.Get(key); object != nil {
		values = append(values, "resource.resourceVersion", object.ResourceVersion,
			"resource.generation", object.Generation, "resource.uid", string(object.UID))
	}
	return klog.LoggerWithValues(klog.FromContext(ctx), values...)
}

// resync is when to look at an Application again though nothing happens: a little
// before its interval is over, so that not all come at one moment; 0 for never.
func (c *Controller) resync(key types.NamespacedName) time.Duration {
	object := c.applications.Get(key)
	if object == nil {
		return 0
	}
	interval := c.options.ResyncInterval
	c.mu.Lock()
	if m := c.memories[object.UID]; m != nil && m.interval > 0 {
		interval = m.interval
	}
	c.mu.Unlock()
	if interval <= 0 {
		return 0
	}
	return interval - time.Duration(rand.Int64N(int64(interval)/10+1))
}
