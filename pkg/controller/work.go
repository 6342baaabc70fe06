package controller

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/turn"
)

// limiter says when an Application whose handling failed is handled again: per
// Application only, where the default of the queue lets ten a second through, all
// together.
func limiter() workqueue.TypedRateLimiter[types.NamespacedName] {
	return jittered{workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](50*time.Millisecond, 5*time.Minute)}
}

// jittered waits up to a tenth longer, so that not all come back at one moment.
type jittered struct {
	workqueue.TypedRateLimiter[types.NamespacedName]
}

func (j jittered) When(key types.NamespacedName) time.Duration {
	wait := j.TypedRateLimiter.When(key)
	return wait + time.Duration(rand.Int64N(int64(wait)/10+1))
}

// work runs the workers until the context ends and their work is done.
func (c *Controller) work(ctx context.Context) {
	working, abandon := c.draining(ctx)
	defer abandon()
	var workers sync.WaitGroup
	for range c.options.Concurrency {
		workers.Go(func() {
			for c.next(ctx, working) {
			}
		})
	}
	<-ctx.Done()
	c.queue.ShutDown()
	workers.Wait()
	c.calls.running.Wait()
}

// draining is the context of work that is finished though the other has ended,
// for a while; at once if another process leads.
func (c *Controller) draining(ctx context.Context) (context.Context, context.CancelFunc) {
	working, abandon := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if errors.Is(context.Cause(ctx), ErrNotLeading) {
			abandon()
			return
		}
		late := time.AfterFunc(c.options.Drain, abandon)
		context.AfterFunc(working, func() { late.Stop() })
	})
	return working, func() {
		stop()
		abandon()
	}
}

// next handles one Application. It is false when there is no more work.
func (c *Controller) next(ctx, working context.Context) bool {
	key, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(key)
	if ctx.Err() != nil {
		return true // what is not begun is left to the next process
	}
	defer c.templates.handled(key)
	defer c.forgetMissing(key)
	logger := c.loggerFor(ctx, key)
	begun := time.Now()
	after, err := c.safely(klog.NewContext(working, logger), key)
	c.options.Metrics.reconciled(err, time.Since(begun))
	switch {
	case err != nil && working.Err() != nil:
	case err != nil:
		logger.Error(err, "Retrying")
		c.queue.AddRateLimited(key)
	default:
		c.queue.Forget(key)
		if look := c.resync(key); look > 0 {
			after = turn.Sooner(after, look)
		}
		if after > 0 {
			c.queue.AddAfter(key, after)
		}
	}
	return true
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

// safely turns a panic into an error.
func (c *Controller) safely(ctx context.Context, key types.NamespacedName) (after time.Duration, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = turn.Panicked(ctx, r)
		}
	}()
	return c.reconcile(ctx, key)
}
