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
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/turn"
	"holdfast.dev/holdfast/pkg/worker"
)

// New returns a controller; Run starts it.
func New(client *cluster.Client, options Options) *Controller {
	options = options.withDefaults()
	c := &Controller{
		options: options, client: client,
		queue:        worker.NewQueue[types.NamespacedName]("applications"),
		calls:        newCalls(options.Dial),
		sharers:      newSharers(),
		stores:       stores{synced: make(chan struct{}), slicesSynced: make(chan struct{})},
		eventWriters: eventWriters{notes: newNotes(options.Now)},
		registry: registry{
			selection: options.Selection,
			slicesOf:  map[types.NamespacedName]map[types.NamespacedName]turn.Slice{}, sliceOwners: map[types.NamespacedName]types.NamespacedName{},
			names:    map[types.UID]types.NamespacedName{},
			memories: map[types.UID]*memory{},
			waiting:  map[string]map[types.NamespacedName]struct{}{},
			changed:  map[types.UID]struct{}{},
			arrived:  map[types.UID]struct{}{},
			orphans:  map[types.UID]struct{}{},
		},
	}
	c.options.Hooks = c.standardHooks(options.Hooks)
	c.target = targetCluster{
		client, cluster.NewMapper(client), cluster.NewWatches(client.Own, c, options.Patience),
		cluster.NewNamespaces(client.Metadata, options.Now, c.onNamespaceCreated),
	}
	c.target.watches.Manifests = c.manifests
	c.turns = &turn.Reconciler{
		Home: home{c}, Slices: slicesHome{c}, Target: c.targetOf, Source: c.source, BeforeDeletes: c.shutDown,
		Hooks: c.options.Hooks, Callback: c.callback, Rules: options.Rules, Now: options.Now,
	}
	c.turns.Older = c.sharers.older
	if users := options.Users; users != nil {
		users.SetNotify(c.onUserResolved)
		c.turns.Users = func(app *v1alpha1.Application, wanted []v1alpha1.ObjectVersion) map[v1alpha1.ObjectVersion]plan.User {
			return users.Lookup(app.UID, wanted)
		}
	}
	c.objectEvents = newObjectEvents(c.target.client.WriterFor, options.Now, c.eventsRefused)
	c.target.narrow(options.Selection)
	c.templates = templates.New(templateHome{c}, client, c.target.mapper, options.Now, options.Templates)
	c.profiles = profiles.New(client, c.target.mapper, options.Now, c.profilesChanged)
	c.profiles.Select(options.Selection)
	c.applications = cluster.NewApplicationStore(client, v1alpha1.GroupVersionResource, options.Selection, c.applicationChanged, func() { close(c.synced) })
	c.slots = newSlots(c.applications, options.Slots)
	c.slices = cluster.NewApplicationStore(client, v1alpha1.SliceGroupVersionResource, slicesIn(options.Selection), c.sliceChanged, func() { close(c.slicesSynced) })
	c.profiles.Count(c.applications, c.slices)
	options.Metrics.register(c)
	return c
}

// Run starts the watches, and reconciles Applications as soon as this process leads, until the context
// ends. It returns after the running reconciles have ended. It fails if the first list of Applications is
// not complete within a minute.
func (c *Controller) Run(ctx context.Context) error {
	defer c.queue.ShutDown()
	ctx = cluster.WithFence(ctx, c.options.Held)
	stopEvents, err := c.startEvents(ctx)
	if err != nil {
		return err
	}
	defer stopEvents()
	c.target.run(ctx)
	c.slices.Run(ctx)
	c.applications.Run(ctx)
	cluster.WatchDefinitions(ctx, c.client.Metadata, c.definitionChanged)
	if ended, err := c.sync(ctx); ended {
		return err
	}
	klog.FromContext(ctx).Info("Holding Applications", "applications", c.applications.Len())
	var others sync.WaitGroup
	others.Go(func() { c.templates.Run(ctx) })
	others.Go(func() { c.profiles.Run(ctx) })
	others.Go(func() { c.objectEvents.run(ctx) })
	c.work(ctx)
	others.Wait()
	if !errors.Is(context.Cause(ctx), ErrNotLeading) {
		//nolint:forbidigo // the context of the work has ended already
		last, cancel := context.WithTimeout(context.Background(), flushTime)
		defer cancel()
		c.flush(cluster.WithFence(last, c.options.Held), c.remembered(func(types.UID) bool { return true }))
	}
	c.target.wait()
	return nil
}

// sync waits until the first lists are complete and this process leads. It returns true if Run must return
// instead of starting to work.
func (c *Controller) sync(ctx context.Context) (ended bool, err error) {
	late := time.After(time.Minute)
	for _, synced := range []chan struct{}{c.synced, c.slicesSynced} {
		select {
		case <-synced:
		case <-ctx.Done():
			return true, nil
		case <-late:
			return true, errors.New("cannot list Applications and ApplicationSlices within a minute: check that the CRDs are installed, and that the controller may list them")
		}
	}
	leading := c.options.Leading
	if c.slots.n > 1 {
		leading = c.slots.begun
	}
	if leading == nil {
		return false, nil
	}
	klog.FromContext(ctx).Info("Ready to become the leader", "applications", c.applications.Len())
	select {
	case <-leading:
		return false, nil
	case <-ctx.Done():
		return true, nil
	}
}

// Select changes which Applications the controller handles. It does not delete or release anything of
// Applications that are no longer selected.
func (c *Controller) Select(selection cluster.Selection) {
	c.mu.Lock()
	c.selection = selection
	c.mu.Unlock()
	c.target.narrow(selection)
	c.slices.Select(slicesIn(selection))
	c.applications.Select(selection)
	c.templates.Select(selection)
	c.profiles.Select(selection)
}

// slicesIn returns a selection of all slices in the same namespaces. Slices have no labels to select them
// by.
func slicesIn(selection cluster.Selection) cluster.Selection {
	return cluster.Selection{Namespaces: selection.Namespaces}
}
