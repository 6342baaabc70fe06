package cluster

import (
	"context"
	"maps"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// Watches runs one watch per kind in use. A kind is in use while an Application
// needs it; its watch stops with the last one. Watches select by our label, so
// their cost grows with what is held and not with the cluster.
type Watches struct {
	client  dynamic.Interface
	handler Handler
	ctx     context.Context //nolint:containedctx // the life of the watches, not of a call

	mu    sync.Mutex
	kinds map[schema.GroupVersionResource]*kindWatch
	needs map[types.UID]map[schema.GroupVersionResource]struct{}
	wait  sync.WaitGroup
}

// Handler is told what the watches see. Its methods must not block.
type Handler interface {
	// ObjectChanged: an object of an Application has changed, by somebody else.
	ObjectChanged(application types.UID)
	// WatchChanged: a kind's watch has its first list, fails, or works again.
	WatchChanged(applications []types.UID)
	// KindGone: the API server no longer serves a kind.
	KindGone(resource schema.GroupVersionResource)
}

type kindWatch struct {
	store  *Store
	cancel context.CancelFunc
	users  map[types.UID]struct{}
	err    error
}

// NewWatches starts nothing yet. The watches end with the context.
func NewWatches(ctx context.Context, client dynamic.Interface, handler Handler) *Watches {
	return &Watches{
		client: client, handler: handler, ctx: ctx,
		kinds: map[schema.GroupVersionResource]*kindWatch{},
		needs: map[types.UID]map[schema.GroupVersionResource]struct{}{},
	}
}

// Need says which kinds an Application needs, all of them. What it needed before
// and does not any more is stopped if nobody else needs it.
func (w *Watches) Need(application types.UID, resources map[schema.GroupVersionResource]struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for r := range w.needs[application] {
		if _, still := resources[r]; still {
			continue
		}
		k := w.kinds[r]
		delete(k.users, application)
		if len(k.users) == 0 {
			k.cancel()
			delete(w.kinds, r)
		}
	}
	for r := range resources {
		if w.kinds[r] == nil {
			w.kinds[r] = w.start(r)
		}
		w.kinds[r].users[application] = struct{}{}
	}
	if len(resources) == 0 {
		delete(w.needs, application)
		return
	}
	w.needs[application] = maps.Clone(resources)
}

// Users returns the Applications that need a kind of a group.
func (w *Watches) Users(group string) []types.UID {
	w.mu.Lock()
	defer w.mu.Unlock()
	users := map[types.UID]struct{}{}
	for resource, k := range w.kinds {
		if resource.Group == group {
			maps.Copy(users, k.users)
		}
	}
	return slices.Collect(maps.Keys(users))
}

// Store returns the store of a kind that is needed, and why its watch fails, if
// it does. The store is nil for a kind that nobody needs.
func (w *Watches) Store(resource schema.GroupVersionResource) (*Store, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := w.kinds[resource]
	if k == nil {
		return nil, nil
	}
	return k.store, k.err
}

// Len is the number of watches.
func (w *Watches) Len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.kinds)
}

// Wait returns when all watches have ended, after their context has.
func (w *Watches) Wait() { w.wait.Wait() }

// start begins to watch a kind. The lock is held.
func (w *Watches) start(resource schema.GroupVersionResource) *kindWatch {
	ctx, cancel := context.WithCancel(w.ctx)
	k := &kindWatch{cancel: cancel, users: map[types.UID]struct{}{}}
	k.store = newStore(w.changed, func() { w.report(resource, k, nil, true) })
	reflector := cache.NewReflectorWithOptions(
		w.listerWatcher(resource, k), &unstructured.Unstructured{}, k.store,
		cache.ReflectorOptions{Name: resource.String(), TypeDescription: resource.String()})
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

func (w *Watches) listerWatcher(resource schema.GroupVersionResource, k *kindWatch) cache.ListerWatcher {
	client := w.client.Resource(resource)
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector = v1alpha1.LabelApplicationUID
			list, err := client.List(ctx, options)
			w.report(resource, k, err, false)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector = v1alpha1.LabelApplicationUID
			stream, err := client.Watch(ctx, options)
			w.report(resource, k, err, false)
			return stream, err
		},
	}
}

// report remembers how a kind's watch is, and tells the handler if that is new.
func (w *Watches) report(resource schema.GroupVersionResource, k *kindWatch, err error, news bool) {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return // the reflector lists again
	}
	w.mu.Lock()
	news = news || (err == nil) != (k.err == nil)
	k.err = err
	var users []types.UID
	for application := range k.users {
		users = append(users, application)
	}
	w.mu.Unlock()
	if !news {
		return
	}
	if apierrors.IsNotFound(err) {
		w.handler.KindGone(resource)
	}
	w.handler.WatchChanged(users)
}
