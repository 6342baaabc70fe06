package cluster

import (
	"context"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/store"
)

// Selection defines which Applications the controller handles. The zero value selects all of them.
type Selection struct {
	// Namespaces restricts the namespaces. If empty, all namespaces are selected.
	Namespaces []string
	// Labels restricts the labels. If nil, all Applications are selected.
	Labels labels.Selector
}

// labels returns the label selector for a request.
func (s Selection) labels() string {
	if s.Labels == nil {
		return ""
	}
	return s.Labels.String()
}

// namespaces returns the namespaces to watch, where "" means all.
func (s Selection) namespaces() []string {
	if len(s.Namespaces) == 0 {
		return []string{metav1.NamespaceAll}
	}
	return s.Namespaces
}

// ApplicationStore contains the selected objects of one resource, in a Store per namespace. The selection
// can change at runtime.
type ApplicationStore struct {
	// Noted is called with the result of each request. It can be nil, and must be set before Run, as Reduce.
	Noted func(error)
	// Reduce removes fields of an object that should not be stored. Fill adds them later.
	Reduce func(content map[string]any)

	client   *Client
	resource schema.GroupVersionResource
	changed  func(before, after *store.Object)

	line connectionHealth

	mu        sync.RWMutex
	ctx       context.Context //nolint:containedctx // the life of the watches, not of a call
	selection Selection
	stores    map[string]*selectedStore
	// released is closed when the objects of all stores that were closed so far are reported as removed.
	released chan struct{}
	// unsynced is the number of initial stores without a complete list.
	unsynced int
	synced   func()
}

// selectedStore is a Store with its reflector.
type selectedStore struct {
	*store.Store
	synced func()
	pulse  *watchHealth
	stop   context.CancelFunc
	ended  chan struct{}
}

// NewApplicationStore returns a store that watches nothing before Run. changed is called for every change
// by another client, and with a nil after for objects that are no longer selected. synced is called once,
// when the first lists are complete.
func NewApplicationStore(client *Client, resource schema.GroupVersionResource, selection Selection, changed func(before, after *store.Object), synced func()) *ApplicationStore {
	none := make(chan struct{})
	close(none)
	return &ApplicationStore{
		client: client, resource: resource, selection: selection, changed: changed, synced: synced,
		stores: map[string]*selectedStore{}, released: none,
	}
}

// Run starts the watches and returns. They run until the context ends.
func (s *ApplicationStore) Run(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ctx = ctx
	for _, namespace := range s.selection.namespaces() {
		s.unsynced++
		s.open(namespace, s.first)
	}
}

// Select changes the selection. It starts and stops watches. Watches of namespaces that stay selected with
// the same labels are not affected.
func (s *ApplicationStore) Select(selection Selection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	relabelled := selection.labels() != s.selection.labels()
	s.selection = selection
	if s.ctx == nil {
		return // Run opens the stores
	}
	wanted := selection.namespaces()
	var closed []*selectedStore
	for namespace, store := range s.stores {
		if !slices.Contains(wanted, namespace) {
			delete(s.stores, namespace)
			store.stop()
			closed = append(closed, store)
		}
	}
	if len(closed) > 0 {
		before, released := s.released, make(chan struct{})
		s.released = released
		go func() {
			defer close(released)
			<-before
			for _, store := range closed {
				s.release(store)
			}
		}()
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

// open starts to watch a namespace. A store that was closed before can contain the same objects, so their removal must
// be reported first. The caller holds the lock.
func (s *ApplicationStore) open(namespace string, synced func()) {
	opened := &selectedStore{
		Store:  store.New(store.Options{Now: time.Now, Changed: s.changed, Synced: synced, Reduce: s.Reduce}),
		synced: synced, pulse: newWatchHealth(defaultStallTimeouts, &s.line), ended: s.released,
	}
	s.stores[namespace] = opened
	s.fill(opened, namespace)
}

// fill starts the reflector of a store with the current selection, after the previous reflector has ended.
// The caller holds the lock.
func (s *ApplicationStore) fill(store *selectedStore, namespace string) {
	before := store.ended
	f := &consistentListWatcher{selector: s.selection.labels(), pulse: store.pulse, noted: s.Noted}
	reflector := f.reflector(s.client.Own, eventClient{s.client.applications}, s.resource, namespace, store.Store)
	ctx, stop := context.WithCancel(s.ctx)
	ended := make(chan struct{})
	store.stop, store.ended = stop, ended
	go func() {
		defer close(ended)
		<-before
		reflector.RunWithContext(ctx)
	}()
}

// first is called when one of the initial stores has its list.
func (s *ApplicationStore) first() {
	s.mu.Lock()
	s.unsynced--
	last := s.unsynced == 0
	s.mu.Unlock()
	if last {
		s.synced()
	}
}

// release reports the objects of a namespace that is no longer selected as removed, after its watch has ended.
func (s *ApplicationStore) release(store *selectedStore) {
	<-store.ended
	if !store.Ready() {
		store.synced() // its first list is no longer awaited
	}
	for _, object := range store.All() {
		s.changed(object, nil)
	}
}

// Get returns the object of that name, or nil.
func (s *ApplicationStore) Get(key types.NamespacedName) *store.Object {
	if store := s.storeFor(key.Namespace); store != nil {
		return store.Get(key)
	}
	return nil
}

// All returns all objects.
func (s *ApplicationStore) All() []*store.Object {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var all []*store.Object
	for _, store := range s.stores {
		all = append(all, store.All()...)
	}
	return all
}

// Len returns the number of objects.
func (s *ApplicationStore) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	n := 0
	for _, store := range s.stores {
		n += store.Len()
	}
	return n
}

// AddBytes adds the memory of all objects to their namespaces.
func (s *ApplicationStore) AddBytes(sum map[string]int) {
	for _, o := range s.All() {
		o.AddBytes(sum, o.Key.Namespace)
	}
}

// Stalled returns the number of stalled watches.
func (s *ApplicationStore) Stalled(now time.Time) int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	n := 0
	for _, store := range s.stores {
		n += store.pulse.stalled(now)
	}
	return n
}

// Wrote calls Store.ApplyWrite. It ignores objects that are no longer selected.
func (s *ApplicationStore) Wrote(content map[string]any) {
	u := unstructured.Unstructured{Object: content}
	s.mu.RLock()
	selector := s.selection.Labels
	s.mu.RUnlock()
	if selector != nil && !selector.Matches(labels.Set(u.GetLabels())) {
		return
	}
	if store := s.storeFor(u.GetNamespace()); store != nil {
		store.ApplyWrite("", content)
	}
}

// Fill calls Store.Fill. It ignores objects that are no longer selected.
func (s *ApplicationStore) Fill(content map[string]any) {
	if store := s.storeFor(manifest.NestedString(content, "metadata", "namespace")); store != nil {
		store.Fill(content)
	}
}

// Deleted calls Store.Deleted.
func (s *ApplicationStore) Deleted(key types.NamespacedName, uid types.UID) {
	if store := s.storeFor(key.Namespace); store != nil {
		store.Deleted(key, uid)
	}
}

// storeFor returns the store for a namespace, or nil if the namespace is not selected.
func (s *ApplicationStore) storeFor(namespace string) *selectedStore {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if store := s.stores[metav1.NamespaceAll]; store != nil {
		return store
	}
	return s.stores[namespace]
}
