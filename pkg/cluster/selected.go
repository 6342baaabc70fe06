package cluster

import (
	"context"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// Selection says which Applications are looked at. The zero value selects all.
type Selection struct {
	// Namespaces are those of the Applications; none stands for all.
	Namespaces []string
	// Labels are those that the Applications have; nil for any.
	Labels labels.Selector
}

// labels is the selector as a request has it.
func (s Selection) labels() string {
	if s.Labels == nil {
		return ""
	}
	return s.Labels.String()
}

// namespaces are those to watch, an empty one for all.
func (s Selection) namespaces() []string {
	if len(s.Namespaces) == 0 {
		return []string{metav1.NamespaceAll}
	}
	return s.Namespaces
}

// Selected has the objects of one resource that are selected, in a Store for each
// namespace. What is selected can change while it runs.
type Selected struct {
	// Noted is told what came of each request; nil for nobody. It is set before Run.
	Noted func(error)

	client   *Client
	resource schema.GroupVersionResource
	changed  func(before, after *Object)

	line line

	mu        sync.RWMutex
	ctx       context.Context //nolint:containedctx // the life of the watches, not of a call
	selection Selection
	stores    map[string]*selectedStore
	// unsynced is how many of the first stores have no list yet.
	unsynced int
	synced   func()
}

// selectedStore is a Store with the reflector that fills it.
type selectedStore struct {
	*Store
	pulse *pulse
	stop  context.CancelFunc
	ended chan struct{}
}

// NewSelected watches nothing before Run. changed is called for every change that
// is not our own, and with nothing after it for an object that is no longer
// selected; synced once, when the first lists are complete.
func NewSelected(client *Client, resource schema.GroupVersionResource, selection Selection, changed func(before, after *Object), synced func()) *Selected {
	return &Selected{client: client, resource: resource, selection: selection, changed: changed, synced: synced, stores: map[string]*selectedStore{}}
}

// Run watches until the context ends. It does not wait.
func (s *Selected) Run(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ctx = ctx
	for _, namespace := range s.selection.namespaces() {
		s.unsynced++
		s.open(namespace, s.first)
	}
}

// Select changes what is selected. Watches start and stop; those of namespaces
// that stay, with the same labels, notice nothing.
func (s *Selected) Select(selection Selection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	relabelled := selection.labels() != s.selection.labels()
	s.selection = selection
	if s.ctx == nil {
		return // Run will
	}
	wanted := selection.namespaces()
	for namespace, store := range s.stores {
		if !slices.Contains(wanted, namespace) {
			delete(s.stores, namespace)
			go s.release(store)
		}
	}
	for _, namespace := range wanted {
		switch store := s.stores[namespace]; {
		case store == nil:
			s.open(namespace, func() {})
		case relabelled:
			store.stop()
			s.fill(store, namespace)
		}
	}
}

// open begins to watch a namespace. The lock is held.
func (s *Selected) open(namespace string, synced func()) {
	never := make(chan struct{})
	close(never)
	store := &selectedStore{Store: newStore(s.changed, synced), pulse: newPulse(usualPatience, &s.line), ended: never}
	s.stores[namespace] = store
	s.fill(store, namespace)
}

// fill has a store follow what is selected now, when what has filled it before
// has ended. The lock is held.
func (s *Selected) fill(store *selectedStore, namespace string) {
	client, selector, before := in(s.client.Own.Resource(s.resource), namespace), s.selection.labels(), store.ended
	f := &feed{
		list: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return client.List(ctx, options)
		},
		watch: client.Watch, selector: selector, asks: store.Asked, pulse: store.pulse, noted: s.Noted,
	}
	reflector := cache.NewReflectorWithOptions(f.listerWatcher(), &unstructured.Unstructured{}, store.Store,
		cache.ReflectorOptions{Name: s.resource.Resource, TypeDescription: s.resource.String(), Backoff: usualPatience.tries()})
	ctx, stop := context.WithCancel(s.ctx)
	ended := make(chan struct{})
	store.stop, store.ended = stop, ended
	go func() {
		defer close(ended)
		<-before
		reflector.RunWithContext(ctx)
	}()
}

// first is called when one of the first stores has its list.
func (s *Selected) first() {
	s.mu.Lock()
	s.unsynced--
	last := s.unsynced == 0
	s.mu.Unlock()
	if last {
		s.synced()
	}
}

// release lets go of the objects of a namespace that is no longer selected.
func (s *Selected) release(store *selectedStore) {
	store.stop()
	<-store.ended
	if !store.Ready() {
		store.synced() // nobody waits for its first list any more
	}
	for _, object := range store.all() {
		s.changed(object, nil)
	}
}

// Get returns the object of that name, or nil.
func (s *Selected) Get(key types.NamespacedName) *Object {
	if store := s.at(key.Namespace); store != nil {
		return store.Get(key)
	}
	return nil
}

// All are the objects.
func (s *Selected) All() []*Object {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var all []*Object
	for _, store := range s.stores {
		all = append(all, store.all()...)
	}
	return all
}

// Len is the number of objects.
func (s *Selected) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	n := 0
	for _, store := range s.stores {
		n += store.Len()
	}
	return n
}

// Dead is how many of the watches have had no sign of life for too long.
func (s *Selected) Dead(now time.Time) int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	n := 0
	for _, store := range s.stores {
		if _, err := store.pulse.dead(now, time.Time{}); err != nil {
			n++
		}
	}
	return n
}

// Wrote is Store.Wrote. What is no longer selected does not come back by it.
func (s *Selected) Wrote(content map[string]any) {
	u := unstructured.Unstructured{Object: content}
	s.mu.RLock()
	selector := s.selection.Labels
	s.mu.RUnlock()
	if selector != nil && !selector.Matches(labels.Set(u.GetLabels())) {
		return
	}
	if store := s.at(u.GetNamespace()); store != nil {
		store.Wrote(content)
	}
}

// Deleted is Store.Deleted.
func (s *Selected) Deleted(key types.NamespacedName, uid types.UID) {
	if store := s.at(key.Namespace); store != nil {
		store.Deleted(key, uid)
	}
}

// at is the store that has the objects of a namespace, if it is selected.
func (s *Selected) at(namespace string) *selectedStore {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if store := s.stores[metav1.NamespaceAll]; store != nil {
		return store
	}
	return s.stores[namespace]
}
