package controller

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/controller/profiles"
	"holdfast.dev/holdfast/pkg/controller/templates"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/reconcile"
)

// New returns a controller; Run starts it. It connects the parts: the callbacks of the watches queue Applications in
// the registry. It sends no request, and starts no goroutine except those of queues.
func New(client *cluster.Client, options Options) *Controller {
	options = options.withDefaults()
	options.Hooks = standardHooks(options.Callback, options.Hooks)
	c := &Controller{
		options: options, client: client,
		registry: newRegistry(options.Now),
		synced:   make(chan struct{}),
		calls:    newCalls(options.Dial),
		sharers:  newSharers(),
	}
	mapper := cluster.NewMapper(client)
	c.target = &targetCluster{
		client: client, mapper: mapper, now: options.Now, account: options.DefaultServiceAccount,
		watches:    client.NewWatches(watchHandler{c.registry, mapper}, options.Patience),
		namespaces: cluster.NewNamespaces(client.Metadata, options.Now, c.registry.namespaceCreated),
		waits:      newKindWaits(mapper),
		profiles:   profiles.New(client, mapper, options.Now, c.registry.enqueue),
		rights:     cluster.NewReadRights(options.Now),
	}
	// This and the next two calls must come before Run, which starts the watches.
	c.target.watches.Manifests = c.manifests
	c.target.narrow(options.Selection)
	c.target.profiles.Select(options.Selection)
	store := cluster.NewApplicationStore(client, v1alpha1.GroupVersionResource, options.Selection, c.applicationChanged, func() { close(c.synced) })
	c.applications = &applicationClient{client, store, c.target.profiles.ApplicationChanged}
	c.slices = newSliceClient(client, store, options.Selection, options.Now, func(application types.NamespacedName) {
		c.registry.queue.Add(application)
		c.target.profiles.ApplicationChanged()
	}, c.target.profiles.ApplicationChanged)
	c.target.profiles.Count(store, c.slices.store)
	c.events = &eventSender{notes: newNotes(options.Now)}
	c.objectEvents = newObjectEvents(client.WriterFor, options.Now, c.events.reportRefused)
	c.templates = templates.New(templateClient{c.applications, c.target, c.registry, c.events}, client, mapper, options.Now, options.Templates, options.Selection)
	c.events.templated = c.templates.Make
	c.reconciler = c.newReconciler()
	options.Metrics.registry.MustRegister(state{c.registry, c.target.watches, []*cluster.ApplicationStore{store, c.slices.store}, options.Now})
	return c
}

// newReconciler returns the Reconciler of all Applications. The workers share it, and it has no mutable state.
func (c *Controller) newReconciler() *reconcile.Reconciler {
	options := c.options
	size := maxDecoded(options.MemoryLimit)
	sources := &sourceRenewer{c.registry, options.Fetcher, options.Hooks, size, options.SourceInterval, options.Now}
	reports := &conclusions{c.registry, options.Metrics, options.Notify, c.sharers, c.objectEvents, c.target.accountOf}
	r := &reconcile.Reconciler{
		Room:         reconcile.Room{Size: size, Enter: newRooms(size).enter},
		Applications: reconcilerClient{c.applications, reports, c.registry, c.events, c.forget}, Slices: c.slices, Target: c.target.targetOf, Source: sources.source,
		Hooks: options.Hooks, Callback: options.Callback, Rules: options.Rules, Now: options.Now, Older: c.sharers.older,
	}
	r.BeforeDeletes = (&shutdown{c.calls, r, c.registry, c.events, options.Now}).advance
	if users := options.Users; users != nil {
		users.SetNotify(func(application types.UID) { c.registry.enqueue([]types.UID{application}) })
		r.Users = func(app *v1alpha1.Application, wanted []v1alpha1.ObjectVersion) map[v1alpha1.ObjectVersion]plan.User {
			return users.Lookup(app.UID, wanted)
		}
	}
	return r
}

// maxDecoded returns the memory that the manifests of an Application may take.
func maxDecoded(limit int64) int {
	if limit <= 0 {
		return intent.MaxDecoded
	}
	return int(min(limit/4, intent.MaxDecoded))
}

// Run starts the watches, and reconciles Applications as soon as this process leads, until the context ends. It
// returns after the running reconciles have ended. It fails if the first list of Applications is not complete within
// a minute. Run can be called only once.
func (c *Controller) Run(ctx context.Context) error {
	defer c.registry.queue.ShutDown()
	// All requests of this process inherit the fence, so none writes while another process may lead.
	ctx = cluster.WithFence(ctx, c.options.Held)
	stopEvents, err := c.events.start(ctx, c.client.Config)
	if err != nil {
		return err
	}
	defer stopEvents()
	// The watches of objects start only when an Application is reconciled and needs them.
	c.target.watches.Run(ctx)
	c.target.namespaces.Run(ctx)
	c.applications.store.Run(ctx)
	cluster.WatchDefinitions(ctx, c.client.Metadata, c.definitionChanged)
	if ended, err := c.sync(ctx); ended {
		return err
	}
	klog.FromContext(ctx).Info("Holding Applications", "applications", c.applications.store.Len())
	var others sync.WaitGroup
	others.Go(func() { c.templates.Run(ctx) })
	others.Go(func() { c.target.profiles.Run(ctx) })
	others.Go(func() { c.objectEvents.run(ctx) })
	c.work(ctx)
	// The last reports must not compete with other writers.
	others.Wait()
	if !errors.Is(context.Cause(ctx), ErrNotLeading) {
		//nolint:forbidigo // the context of the work has ended already
		last, cancel := context.WithTimeout(context.Background(), flushTime)
		defer cancel()
		// The new context has no fence yet.
		c.flush(cluster.WithFence(last, c.options.Held))
	}
	c.target.watches.Wait()
	return nil
}

// sync waits until the first lists are complete and this process leads. It returns true if Run must return instead of
// starting to work: the context has ended, or the lists are late.
func (c *Controller) sync(ctx context.Context) (ended bool, err error) {
	late := time.After(time.Minute)
	for _, synced := range []chan struct{}{c.synced, c.slices.synced} {
		if synced == c.slices.synced {
			c.slices.store.Run(ctx) // the Applications are known, and so are the slices that they name
		}
		select {
		case <-synced:
		case <-ctx.Done():
			return true, nil
		case <-late:
			return true, errors.New("cannot list Applications and ApplicationSlices within a minute: check that the CRDs are installed, and that the controller may list them")
		}
	}
	if c.options.Leading == nil {
		return false, nil
	}
	klog.FromContext(ctx).Info("Ready to become the leader", "applications", c.applications.store.Len())
	select {
	case <-c.options.Leading:
		return false, nil
	case <-ctx.Done():
		return true, nil
	}
}

// Select changes which Applications the controller handles, also while Run works. It does not delete or release
// anything of Applications that are no longer selected.
func (c *Controller) Select(selection cluster.Selection) {
	c.target.narrow(selection)
	c.slices.store.Select(slicesIn(selection))
	c.applications.store.Select(selection)
	c.templates.Select(selection)
	c.target.profiles.Select(selection)
}
