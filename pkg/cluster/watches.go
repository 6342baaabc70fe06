package cluster

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/store"
)

// Watches runs one watch per kind in use. A kind is in use while an Application needs it. Watches select by the
// tracking label, so their cost depends on the number of held objects and not on the size of the cluster. Shared
// objects are watched by name, regardless of labels; see sharedobjects.go.
//
// All methods except Run can be called at any time after Run, from any goroutine.
type Watches struct {
	// Manifests returns the manifests of the Application with that UID. It can be nil, and must be set
	// before Run.
	Manifests func(application types.UID) *store.Manifests

	client   dynamic.Interface
	events   eventClient
	handler  Handler
	patience StallTimeouts
	// line is the connection to the API server, which all watches share.
	line connectionHealth
	ctx  context.Context //nolint:containedctx // the life of the watches, not of a call

	// mu guards the fields below, and the fields users, err and silent of each watch. It is acquired before the lock
	// of a Store. Handler is called without it.
	mu sync.Mutex
	// narrow is set by RestrictNamespaces.
	narrow bool
	// kinds contains the running watches. Each has at least one user.
	kinds map[watchScope]*kindWatch
	// needs lists the watches of each Application. All of them are in kinds.
	needs map[types.UID][]watchScope
	// named lists the shared objects that each Application watches by name, ranges those that it selects.
	named  map[types.UID]Named
	ranges map[types.UID]Ranges
	// shares counts, by the names of the shared objects of a kind in a namespace, the Applications in named.
	shares map[watchScope]map[string]int
	// wait counts the goroutines of the watches.
	wait sync.WaitGroup
}

// Handler is notified of changes. Its methods must not block. Goroutines of watches and writers call them
// concurrently.
type Handler interface {
	// ObjectChanged is called when another client has changed an object of an Application.
	ObjectChanged(application types.UID)
	// WatchChanged is called when a watch has its first list, fails before that, stalls
	// (View.StalledSince), or recovers.
	WatchChanged(applications []types.UID)
	// KindGone is called when the API server no longer serves a kind.
	KindGone(resource schema.GroupVersionResource)
}

// watchScope is the scope of one watch: a resource, in one namespace or, if it is empty, in all of them.
// The watch selects objects with the tracking label or, for shared objects, those in the range.
type watchScope struct {
	schema.GroupVersionResource
	ObjectRange

	// shared is true for a watch of shared objects, which does not select by the tracking label.
	shared bool
}

// kindWatch is one watch with its objects.
type kindWatch struct {
	store *store.Store
	// pulse records when the API server last sent something.
	pulse *watchHealth
	// cancel ends the watch. It is called when the last user is removed.
	cancel context.CancelFunc
	// users lists the Applications that need the watch.
	users map[types.UID]struct{}
	// err is the result of the last request; nil after a success.
	err error
	// silent is true if the users were notified of a stall
	silent bool
}

// newWatches returns a Watches without any watch. The zero value of patience means the default timeouts.
func newWatches(client dynamic.Interface, events eventClient, handler Handler, patience StallTimeouts) *Watches {
	if patience == (StallTimeouts{}) {
		patience = defaultStallTimeouts
	}
	return &Watches{
		client: client, events: events, handler: handler, patience: patience,
		kinds: map[watchScope]*kindWatch{},
		needs: map[types.UID][]watchScope{},
		named: map[types.UID]Named{}, shares: map[watchScope]map[string]int{}, ranges: map[types.UID]Ranges{},
	}
}

// Run enables the watches that are needed until the context ends. It must be called before SetInterest, and returns
// at once.
func (w *Watches) Run(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ctx = ctx
	w.wait.Go(func() { w.monitorHealth(ctx) })
}

// RestrictNamespaces sets whether namespaced kinds are watched only in the namespaces where they are
// needed, which requires permissions only there, or by one watch for all namespaces. It applies to
// subsequent calls of SetInterest.
func (w *Watches) RestrictNamespaces(narrow bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.narrow = narrow
}

// SetInterest replaces the kinds that an Application needs. resources lists the kinds; the value is true if a kind is
// namespaced. namespaces are the namespaces that can contain its objects. named and ranges select shared objects.
// Watches that no Application needs any longer are stopped. SetInterest retains named and ranges, and sends no
// request itself.
//
// A watch that starts has no objects until its first list. Then Handler.WatchChanged is called. An Application that
// begins to use a running watch can read its Store at once.
func (w *Watches) SetInterest(application types.UID, resources map[schema.GroupVersionResource]bool, namespaces []string, named Named, ranges Ranges) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.setNamed(application, named)
	if w.ranges[application] = ranges; len(ranges) == 0 {
		delete(w.ranges, application)
	}
	needs := w.needed(resources, namespaces)
	w.addNamed(needs, named)
	w.addRanges(needs, ranges)
	for _, r := range w.needs[application] {
		if _, still := needs[r]; still {
			continue
		}
		k := w.kinds[r]
		delete(k.users, application)
		// The store would otherwise track writes that no Application processes.
		k.store.Forget(application)
		if len(k.users) == 0 {
			k.cancel()
			delete(w.kinds, r)
		}
	}
	for r := range needs {
		if w.kinds[r] == nil {
			w.kinds[r] = w.start(r)
		}
		w.kinds[r].users[application] = struct{}{}
	}
	if len(needs) == 0 {
		delete(w.needs, application)
		return
	}
	w.needs[application] = slices.AppendSeq(make([]watchScope, 0, len(needs)), maps.Keys(needs))
}

// needed returns the watches of owned objects. The caller holds the lock.
func (w *Watches) needed(resources map[schema.GroupVersionResource]bool, namespaces []string) map[watchScope]struct{} {
	needs := map[watchScope]struct{}{}
	for resource, namespaced := range resources {
		if !w.narrow || !namespaced {
			needs[watchScope{GroupVersionResource: resource}] = struct{}{}
			continue
		}
		for _, namespace := range namespaces {
			needs[watchScope{GroupVersionResource: resource, ObjectRange: ObjectRange{Namespace: namespace}}] = struct{}{}
		}
	}
	return needs
}

// Users returns the Applications that need a kind of a group.
func (w *Watches) Users(group string) []types.UID {
	w.mu.Lock()
	defer w.mu.Unlock()
	users := map[types.UID]struct{}{}
	for r, k := range w.kinds {
		if r.Group == group {
			maps.Copy(users, k.users)
		}
	}
	return slices.Collect(maps.Keys(users))
}

// DefinitionChanged makes the watches of a custom kind list again when they end. The API server ends them a second
// after a change of the schema, when all requests use the new one. A list before that could use the previous schema. A
// watch that continues from a later event would not show objects that have changed without an event.
func (w *Watches) DefinitionChanged(definition schema.GroupResource) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for r, k := range w.kinds {
		if r.GroupResource() == definition {
			k.pulse.markStale()
		}
	}
}

// Len returns the number of watches.
func (w *Watches) Len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.kinds)
}

// Objects returns the number of objects in all watches.
func (w *Watches) Objects() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, k := range w.kinds {
		n += k.store.Len()
	}
	return n
}

// AddBytes adds the memory of all objects to the namespaces of their Applications. An object without one, such as a
// selected object, counts for its own namespace.
func (w *Watches) AddBytes(sum map[string]int, namespaceOf map[types.UID]string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, k := range w.kinds {
		for _, o := range k.store.All() {
			namespace, known := namespaceOf[o.Application]
			if !known {
				namespace = o.Key.Namespace
			}
			o.AddBytes(sum, namespace)
		}
	}
}

// Wait waits until all watches have ended after their context. No Application may need another watch by then.
func (w *Watches) Wait() { w.wait.Wait() }

// start starts to watch a kind. The caller holds the lock. The callbacks of the watch need the lock, so they wait
// until the caller has stored the watch in kinds.
func (w *Watches) start(resource watchScope) *kindWatch {
	ctx, cancel := context.WithCancel(w.ctx)
	k := &kindWatch{pulse: newWatchHealth(w.patience, &w.line), cancel: cancel, users: map[types.UID]struct{}{}}
	options := store.Options{
		Now: time.Now, Changed: w.changed, Synced: func() { w.report(resource, k, nil, true) },
		Keeps: resource.keeps, Manifests: w.Manifests,
	}
	selector := v1alpha1.LabelApplicationUID
	if resource.shared {
		selector, options.Changed = resource.Labels, w.sharedChanged(resource)
		options.Watchers = func(key types.NamespacedName) []types.UID { return w.sharers(resource, key) }
	}
	k.store = store.New(options)
	f := &consistentListWatcher{
		selector: selector, name: resource.Name, pulse: k.pulse, restricted: w.narrow,
		noted: func(err error) { w.report(resource, k, err, false) },
	}
	reflector := f.reflector(w.client, w.events, resource.GroupVersionResource, resource.Namespace, k.store)
	w.wait.Go(func() { reflector.RunWithContext(ctx) })
	return k
}

// changed notifies the Applications of a changed object: the previous and the new owner.
func (w *Watches) changed(before, after *store.Object) {
	if before != nil && before.Application != "" {
		w.handler.ObjectChanged(before.Application)
	}
	if after != nil && after.Application != "" && (before == nil || before.Application != after.Application) {
		w.handler.ObjectChanged(after.Application)
	}
}

// Stalled returns the number of stalled watches.
func (w *Watches) Stalled(now time.Time) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, k := range w.kinds {
		n += k.pulse.stalled(now)
	}
	return n
}

// monitorHealth notifies the handler of watches that stall or recover, until the context ends.
func (w *Watches) monitorHealth(ctx context.Context) {
	ticker := time.NewTicker(w.patience.Check)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			if users := w.healthChanges(now); len(users) > 0 {
				w.handler.WatchChanged(users)
			}
		}
	}
}

// healthChanges returns the users of watches that have stalled or recovered since the last call.
func (w *Watches) healthChanges(now time.Time) []types.UID {
	w.mu.Lock()
	defer w.mu.Unlock()
	users := map[types.UID]struct{}{}
	for _, k := range w.kinds {
		_, err := k.pulse.reportableStall(now)
		if silent := err != nil; silent != k.silent {
			k.silent = silent
			maps.Copy(users, k.users)
		}
	}
	return slices.Collect(maps.Keys(users))
}

// report records the result of a request of a watch, and notifies the handler if it is new, or if news is true. It
// runs on the goroutine of the watch. The watch may have been stopped in between; then k has no users.
func (w *Watches) report(resource watchScope, k *kindWatch, err error, news bool) {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return // the reflector lists again
	}
	w.mu.Lock()
	gone := apierrors.IsNotFound(err)
	// After the first list, other errors matter only if they persist.
	failing := (err == nil) != (k.err == nil) && !k.store.Ready()
	// A kind that is not served any more is reported at any time.
	news = news || failing || gone != apierrors.IsNotFound(k.err)
	k.err = err
	users := slices.Collect(maps.Keys(k.users))
	w.mu.Unlock()
	if !news {
		return
	}
	if gone {
		w.handler.KindGone(resource.GroupVersionResource)
	}
	w.handler.WatchChanged(users)
}
