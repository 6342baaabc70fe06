package controller

import (
	"context"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/store"
	"holdfast.dev/holdfast/pkg/worker"
)

// restAfter is the time without reconciles after which the controller is at rest.
const restAfter = 30 * time.Second

// rests starts a timer that calls atRest after restAfter, on a goroutine of its own. Each call of busy restarts the
// timer. After a call of stop, atRest is not called again. busy can be called concurrently.
func rests(atRest func()) (busy, stop func()) {
	timer := time.AfterFunc(restAfter, atRest)
	return func() { timer.Reset(restAfter) }, func() { timer.Stop() }
}

// namespaceOf returns the group of an Application in the queue.
func namespaceOf(key types.NamespacedName) string { return key.Namespace }

// work reconciles Applications until the context ends, and returns after the running reconciles and calls have ended.
// The context of a call ends with that of the loop, so the last Wait is short.
func (c *Controller) work(ctx context.Context) {
	busy, stop := rests(c.options.AtRest)
	defer stop()
	loop := worker.Loop[types.NamespacedName]{
		Queue: c.registry.queue, Group: namespaceOf, Workers: c.options.Concurrency, Handle: c.reconcile, Logger: c.applications.loggerFor,
		OnHandled: func(key types.NamespacedName, err error, took time.Duration) {
			c.options.Metrics.reconciled(err, took)
			c.templates.Handled(key)
			busy()
		},
		Drain: c.options.Drain, Abandon: ErrNotLeading,
	}
	loop.Run(ctx)
	c.calls.running.Wait()
}

// loggerFor returns the logger of one reconcile. Each of its lines identifies the reconcile, and the
// version of the Application.
func (a *applicationClient) loggerFor(ctx context.Context, key types.NamespacedName) klog.Logger {
	values := []any{
		"reconcileID", string(uuid.NewUUID()),
		"resource.apiVersion", v1alpha1.GroupVersion.String(), "resource.kind", "Application",
		"resource.name", key.Name, "resource.namespace", key.Namespace,
	}
	if object := a.store.Get(key); object != nil {
		values = append(values, "resource.resourceVersion", object.ResourceVersion,
			"resource.generation", object.Generation, "resource.uid", string(object.UID))
	}
	return klog.LoggerWithValues(klog.FromContext(ctx), values...)
}

// resync returns the time until the next reconcile if nothing changes, or 0 for never. It is up to 10%
// shorter than the interval, so that not all Applications are reconciled at the same moment.
func (c *Controller) resync(app *v1alpha1.Application) time.Duration {
	interval := c.options.ResyncInterval
	if own := app.Spec.Interval; own != nil && own.Duration > 0 {
		interval = own.Duration
	}
	// A deleted Application is not reconciled again.
	if interval <= 0 || c.applications.store.Get(store.Key(app)) == nil {
		return 0
	}
	return interval - time.Duration(rand.Int64N(int64(interval)/10+1))
}
