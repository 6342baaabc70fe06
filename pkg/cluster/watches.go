package cluster

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// Watches runs one watch per kind in use. A kind is in use while an Application
// needs it; its watch stops with the last one. Watches select by our label, so
// their cost grows with what is held and not with the cluster. Objects that are shared
// are watched by their names, labelled or not: see named.go.
type Watches struct {
	// Manifests are those of the Application with that UID, which its objects repeat; nil for
	// nobody knows. It is set before Run.
	Manifests func(application types.UID) *Manifests

	client   dynamic.Interface
	handler  Handler
	patience Patience
	line     line
	ctx      context.Context //nolint:containedctx // the life of the watches, not of a call

	mu     sync.Mutex
	narrow bool
	kinds  map[watched]*kindWatch
	needs  map[types.UID][]watched
	named  map[types.UID]Named
	ranges map[types.UID]Ranges
	wait   sync.WaitGroup
}

// Handler is told what the watches see. Its methods must not block.
type Handler interface {
	// ObjectChanged: an object of an Application has changed, by another client.
	ObjectChanged(application types.UID)
	// WatchChanged: a kind's watch has its first list, fails before that, has become
	// silent (View.Silent), or is heard again.
	WatchChanged(applications []types.UID)
	// KindGone: the API server no longer serves a kind.
	KindGone(resource schema.GroupVersionResource)
}

// watched is what one watch is about: a resource, in one namespace or, with an
// empty one, everywhere. It shows what carries our label; or, where it is for shared
// objects, whatever is in the range.
type watched struct {
	schema.GroupVersionResource
	Range

	shared bool
}

type kindWatch struct {
	store  *Store
	pulse  *pulse
	cancel context.CancelFunc
	users  map[types.UID]struct{}
	err    error
	// silent is true if the users were told that nothing is heard.
	silent bool
}

// NewWatches starts nothing yet.
func NewWatches(client dynamic.Interface, handler Handler, patience Patience) *Watches {
	if patience == (Patience{}) {
		patience = usualPatience
	}
	return &Watches{
		client: client, handler: handler, patience: patience,
		kinds: map[watched]*kindWatch{},
		needs: map[types.UID][]watched{},
		named: map[types.UID]Named{}, ranges: map[types.UID]Ranges{},
	}
}

// Run has the watches that are needed from now on run until the context ends.
func (w *Watches) Run(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ctx = ctx
	w.wait.Go(func() { w.attend(ctx) })
}

// Narrow says whether namespaced kinds are watched in the namespaces where they
// are needed only, for which rights in those are enough, or in all of them by one
// watch. It holds for what is needed from now on.
func (w *Watches) Narrow(narrow bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.narrow = narrow
}

// Need says which kinds an Application needs, all of them, and whether each is
// namespaced, and in which namespaces it may have objects; and the shared objects of
// which it holds fields, or may hold some, by their names or in ranges. What it needed
// before and does not any more is stopped if nobody else needs it.
func (w *Watches) Need(application types.UID, resources map[schema.GroupVersionResource]bool, namespaces []string, named Named, ranges Ranges) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.named[application] = named; len(named) == 0 {
		delete(w.named, application)
	}
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
	w.needs[application] = slices.AppendSeq(make([]watched, 0, len(needs)), maps.Keys(needs))
}

func (w *Watches) needed(resources map[schema.GroupVersionResource]bool, namespaces []string) map[watched]struct{} {
	needs := map[watched]struct{}{}
	for resource, namespaced := range resources {
		if !w.narrow || !namespaced {
			needs[watched{GroupVersionResource: resource}] = struct{}{}
			continue
		}
		for _, namespace := range namespaces {
			needs[watched{GroupVersionResource: resource, Range: Range{Namespace: namespace}}] = struct{}{}
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

// Store returns the objects of a kind where an Application needs it, and why a
// watch of them fails, if one does. It is nil for a kind that the Application
// does not need.
func (w *Watches) Store(application types.UID, resource schema.GroupVersionResource) (*View, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var view *View
	var err error
	for _, r := range w.needs[application] {
		if r.GroupVersionResource != resource {
			continue
		}
		if view == nil {
			view = &View{stores: map[string]*Store{}, application: application, watches: w}
		}
		k := w.kinds[r]
		if r.shared {
			view.shared = append(view.shared, sharedStore{r, k.store, k.err})
			view.pulses = append(view.pulses, k.pulse)
			continue
		}
		view.stores[r.Namespace] = k.store
		view.pulses = append(view.pulses, k.pulse)
		if k.err != nil && (err == nil || !k.store.Ready()) {
			err = k.err
		}
	}
	return view, err
}

// Len is the number of watches.
func (w *Watches) Len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.kinds)
}

// Objects is the number of objects in the watches.
func (w *Watches) Objects() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, k := range w.kinds {
		n += k.store.Len()
	}
	return n
}

// Wait returns when all watches have ended, after their context has.
func (w *Watches) Wait() { w.wait.Wait() }

// start begins to watch a kind. The lock is held.
func (w *Watches) start(resource watched) *kindWatch {
	ctx, cancel := context.WithCancel(w.ctx)
	k := &kindWatch{pulse: newPulse(w.patience, &w.line), cancel: cancel, users: map[types.UID]struct{}{}}
	changed, selector := w.changed, v1alpha1.LabelApplicationUID
	if resource.shared {
		changed, selector = w.sharedChanged(resource), resource.Labels
	}
	k.store = newStore(changed, func() { w.report(resource, k, nil, true) })
	k.store.written.off, k.store.keeps, k.store.manifests = resource.shared, resource.keeps, w.Manifests
	client := in(w.client.Resource(resource.GroupVersionResource), resource.Namespace)
	f := &feed{
		list: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return client.List(ctx, options)
		},
		watch: client.Watch, selector: selector, name: resource.Name, asks: k.store.Asked, pulse: k.pulse,
		noted: func(err error) { w.report(resource, k, err, false) },
	}
	reflector := cache.NewReflectorWithOptions(f.listerWatcher(), &unstructured.Unstructured{}, k.store,
		cache.ReflectorOptions{Name: resource.String(), TypeDescription: resource.GroupVersionResource.String(), Backoff: w.patience.tries()})
	w.wait.Go(func() { reflector.RunWithContext(ctx) })
	return k
}

// changed tells the handler whose object has changed.
func (w *Watches) changed(before, after *Object) {
	if before != nil && before.Application != "" {
		w.handler.ObjectChanged(before.Application)
	}
	if after != nil && after.Application != "" && (before == nil || before.Application != after.Application) {
		w.handler.ObjectChanged(after.Application)
	}
}

// Dead is how many watches have had no sign of life for too long: no list, no event,
// no bookmark.
func (w *Watches) Dead(now time.Time) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, k := range w.kinds {
		if _, err := k.pulse.dead(now, time.Time{}); err != nil {
			n++
		}
	}
	return n
}

// attend tells the handler of watches that become silent, and are heard again, until
// the context ends.
func (w *Watches) attend(ctx context.Context) {
	ticker := time.NewTicker(w.patience.Check)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			if users := w.turned(now); len(users) > 0 {
				w.handler.WatchChanged(users)
			}
		}
	}
}

// turned returns who uses the watches that have become silent, or are heard again, since
// the last call.
func (w *Watches) turned(now time.Time) []types.UID {
	w.mu.Lock()
	defer w.mu.Unlock()
	users := map[types.UID]struct{}{}
	for _, k := range w.kinds {
		_, err := k.pulse.silent(now)
		if silent := err != nil; silent != k.silent {
			k.silent = silent
			maps.Copy(users, k.users)
		}
	}
	return slices.Collect(maps.Keys(users))
}

// report remembers how a kind's watch is, and tells the handler if that is new.
func (w *Watches) report(resource watched, k *kindWatch, err error, news bool) {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return // the reflector lists again
	}
	w.mu.Lock()
	gone := apierrors.IsNotFound(err)
	// Once there is a list, any other error says nothing before it has lasted for a while.
	failing := (err == nil) != (k.err == nil) && !k.store.Ready()
	news = news || failing || gone != apierrors.IsNotFound(k.err)
	k.err = err
	var users []types.UID
	for application := range k.users {
		users = append(users, application)
	}
	w.mu.Unlock()
	if !news {
		return
	}
	if gone {
		w.handler.KindGone(resource.GroupVersionResource)
	}
	w.handler.WatchChanged(users)
}

// in is a resource in a namespace, or everywhere.
func in(client dynamic.NamespaceableResourceInterface, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return client
	}
	return client.Namespace(namespace)
}
