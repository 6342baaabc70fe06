package controller

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/plan"
)

// Options of the controller.
type Options struct {
	// Concurrency is how many Applications are handled at the same time.
	Concurrency int
	// DefaultServiceAccount acts for Applications that name none.
	DefaultServiceAccount string
	// Rules say when a field is contested.
	Rules plan.Rules
	// Now is the clock; nil for the real one.
	Now func() time.Time
}

// Controller holds the Applications of one API server.
type Controller struct {
	options Options
	client  *cluster.Client
	mapper  *cluster.Mapper
	queue   workqueue.TypedRateLimitingInterface[types.NamespacedName]
	events  recorder

	applications *cluster.Store
	watches      *cluster.Watches
	synced       chan struct{}

	mu sync.Mutex
	// names finds the Application of an object's label.
	names map[types.UID]types.NamespacedName
	// memories has what is remembered of each Application between reconciles.
	memories map[types.UID]*memory
	// waiting has the Applications that wait for kinds of a group to appear.
	waiting map[string]map[types.NamespacedName]struct{}
}

// New makes a controller; Run starts it.
func New(client *cluster.Client, options Options) *Controller {
	if options.Concurrency <= 0 {
		options.Concurrency = 16
	}
	if options.DefaultServiceAccount == "" {
		options.DefaultServiceAccount = "holdfast-applier"
	}
	if options.Rules == (plan.Rules{}) {
		options.Rules = plan.DefaultRules
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	return &Controller{
		options: options, client: client, mapper: cluster.NewMapper(client),
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(
			// Per Application only: the default limiter lets ten Applications a
			// second through, all together.
			workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](50*time.Millisecond, 5*time.Minute),
			workqueue.TypedRateLimitingQueueConfig[types.NamespacedName]{Name: "applications"}),
		synced:   make(chan struct{}),
		names:    map[types.UID]types.NamespacedName{},
		memories: map[types.UID]*memory{},
		waiting:  map[string]map[types.NamespacedName]struct{}{},
	}
}

// Run watches and works until the context ends, and returns when the
// Applications that were being handled are done. It fails if the first list of
// Applications cannot be had within a minute.
func (c *Controller) Run(ctx context.Context) error {
	stopEvents, err := c.startEvents(ctx)
	if err != nil {
		return err
	}
	defer stopEvents()
	c.watches = cluster.NewWatches(ctx, c.client.Own, c)
	c.applications = cluster.WatchApplications(ctx, c.client, c.applicationChanged, func() { close(c.synced) })
	cluster.WatchDefinitions(ctx, c.client.Metadata, c.definitionChanged)
	select {
	case <-c.synced:
	case <-ctx.Done():
		c.queue.ShutDown()
		return nil
	case <-time.After(time.Minute):
		c.queue.ShutDown()
		return errors.New("no list of Applications within a minute: is the CustomResourceDefinition applied, and may the controller list it?")
	}
	klog.FromContext(ctx).Info("Holding Applications", "applications", c.applications.Len())
	c.work(ctx)
	c.flush()
	c.watches.Wait()
	return nil
}

// Ready tells whether the first list of Applications is complete.
func (c *Controller) Ready() bool {
	select {
	case <-c.synced:
		return true
	default:
		return false
	}
}

// work runs the workers until the context ends and their work is done.
func (c *Controller) work(ctx context.Context) {
	var workers sync.WaitGroup
	for range c.options.Concurrency {
		workers.Go(func() {
			for c.next(ctx) {
			}
		})
	}
	<-ctx.Done()
	c.queue.ShutDown()
	workers.Wait()
}

// next handles one Application. It is false when there is no more work.
func (c *Controller) next(ctx context.Context) bool {
	key, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(key)
	logger := klog.FromContext(ctx).WithValues("application", key.String())
	after, err := c.safely(klog.NewContext(ctx, logger), key)
	switch {
	case err != nil && ctx.Err() != nil:
	case err != nil:
		logger.Error(err, "Retrying")
		c.queue.AddRateLimited(key)
	default:
		c.queue.Forget(key)
		if after > 0 {
			c.queue.AddAfter(key, after)
		}
	}
	return true
}

// safely turns a panic into an error: one Application must not stop the others.
func (c *Controller) safely(ctx context.Context, key types.NamespacedName) (after time.Duration, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return c.reconcile(ctx, key)
}

// applicationChanged is called by the watch of Applications.
func (c *Controller) applicationChanged(before, after *cluster.Object) {
	object := after
	if object == nil {
		object = before
	}
	c.mu.Lock()
	if after != nil {
		c.names[after.UID] = after.Key
	}
	c.mu.Unlock()
	c.queue.Add(object.Key)
	if before != nil && after != nil && before.UID != after.UID {
		c.forget(before.UID)
	}
	if after == nil {
		c.forget(before.UID)
	}
}

// forget drops what is remembered of an Application that is gone.
func (c *Controller) forget(uid types.UID) {
	c.watches.Need(uid, nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	key := c.names[uid]
	delete(c.names, uid)
	delete(c.memories, uid)
	for _, keys := range c.waiting {
		delete(keys, key)
	}
}

// ObjectChanged is called when an object has changed by somebody else's hand.
func (c *Controller) ObjectChanged(application types.UID) {
	c.mu.Lock()
	key, known := c.names[application]
	c.mu.Unlock()
	if known {
		c.queue.Add(key)
	}
}

// WatchChanged is called when a kind's watch has its first list, fails, or
// works again.
func (c *Controller) WatchChanged(applications []types.UID) {
	for _, uid := range applications {
		c.ObjectChanged(uid)
	}
}

// KindGone is called when the API server no longer serves a kind.
func (c *Controller) KindGone(resource schema.GroupVersionResource) {
	c.mapper.Forget(resource.Group)
}

// definitionChanged is called when a custom kind has come, changed or gone. Who
// uses it looks again: its watch may not notice for minutes.
func (c *Controller) definitionChanged(group string) {
	c.mapper.Forget(group)
	users := c.watches.Users(group)
	c.mu.Lock()
	keys := c.waiting[group]
	delete(c.waiting, group)
	if keys == nil {
		keys = map[types.NamespacedName]struct{}{}
	}
	for _, uid := range users {
		if key, known := c.names[uid]; known {
			keys[key] = struct{}{}
		}
	}
	c.mu.Unlock()
	for key := range keys {
		// Served, and not served any more, a moment after its definition says so.
		c.queue.AddAfter(key, 100*time.Millisecond)
	}
}

// awaitKind has an Application handled again when a kind of the group changes.
func (c *Controller) awaitKind(group string, key types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting[group] == nil {
		c.waiting[group] = map[types.NamespacedName]struct{}{}
	}
	c.waiting[group][key] = struct{}{}
}
