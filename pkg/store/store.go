package store

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/writer"
)

// Store contains the objects of one kind. It is filled by a reflector and by the responses to the controller's own
// writes. A watch event never replaces a state with an older one, so a lagging watch does not undo a write. A list
// can; see Replace.
//
// It implements cache.ReflectorStore, whose methods the reflector calls on one goroutine. All other methods can be
// called at any time, from any goroutine. An Object in a Store is immutable: a change replaces the pointer.
//
//	event                                       effect
//	watch event, newer                          stored; Changed is called
//	watch event, not newer                      ignored: a write was faster
//	watch event of an object in gone            ignored: a deletion was faster
//	response, newer                             stored; Changed is not called
//	response, object was deleted meanwhile      ignored: see left
//	list, object unchanged since BeginList      replaced, even by an older version
//	list, object changed since BeginList        stored only if newer
type Store struct {
	options Options
	// watchers is Options.Watchers.
	watchers watcherLookup

	// mu guards the fields below.
	mu sync.RWMutex
	objectIndex
	// written tracks the recent writers of objects.
	written writeTracker
	// ready is true once the first list is complete.
	ready bool
}

// Options are the functions that a Store calls, each without the lock of the Store.
type Options struct {
	Now func() time.Time
	// Changed is called after every change by another client, with the states before and after. Either can be nil.
	// Another change may follow before it returns.
	Changed func(before, after *Object)
	// Synced is called once, when the first list is complete, after Changed was called for its objects.
	Synced func()

	// The others can be nil.

	// Keeps selects the objects that are stored, by name. If it is nil, all objects are stored.
	Keeps func(types.NamespacedName) bool
	// Manifests returns the manifests of the Application with that UID. It can use other stores.
	Manifests func(types.UID) *Manifests
	// Reduce removes fields of an object before it is stored.
	Reduce func(content map[string]any)
	// Watchers returns the Applications that watch an object regardless of its owner. If it is nil, each Application
	// watches only its own objects.
	Watchers func(types.NamespacedName) []types.UID
}

// New returns an empty Store.
func New(options Options) *Store {
	if options.Keeps == nil {
		options.Keeps = func(types.NamespacedName) bool { return true }
	}
	return &Store{
		options: options, watchers: options.Watchers,
		objectIndex: objectIndex{
			objects:   map[types.NamespacedName]*Object{},
			byApp:     map[types.UID][]*Object{},
			gone:      map[types.UID]struct{}{},
			left:      newRing[types.UID, *Object](maxLeftObjects),
			endedJobs: newRing[types.NamespacedName, *Object](maxEndedJobs),
		},
	}
}

// Get returns the object of that name, or nil.
func (s *Store) Get(key types.NamespacedName) *Object {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.objects[key]
}

// ForApplication returns the objects with the label of an Application, sorted by key. The caller owns the slice.
func (s *Store) ForApplication(application types.UID) []*Object {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clone(s.byApp[application])
}

// Ended returns the last states of an Application's Jobs that recently left the watch.
func (s *Store) Ended(application types.UID) (jobs []*Object) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, o := range s.endedJobs.values {
		if o.Application == application {
			jobs = append(jobs, o)
		}
	}
	return jobs
}

// WrittenObject is an object with the recent writes to it.
type WrittenObject struct {
	writer.Activity

	// Object is the state after the last of these writes; nil if the object is gone.
	Object *Object
}

// Written returns the objects of an Application that were written recently. It omits writes that were marked as
// processed, and those before the Application's own last write.
func (s *Store) Written(application types.UID) map[types.NamespacedName]WrittenObject {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := make(map[types.NamespacedName]WrittenObject, len(s.written.byApp[application]))
	for key, one := range s.written.byApp[application] {
		all[key] = WrittenObject{one.Activity, s.objects[key]}
	}
	return all
}

// Forget drops the tracked writes of an Application that was deleted or no longer needs the kind.
func (s *Store) Forget(application types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written.forgetAll(application)
}

// Processed marks writes to an object as processed, up to the given state, which Written has returned. Writes that
// were recorded since then remain.
func (s *Store) Processed(application types.UID, key types.NamespacedName, at writer.Activity) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written.processed(application, key, at)
}

// Ready reports whether the first list is complete.
func (s *Store) Ready() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.ready
}

// Len returns the number of objects.
func (s *Store) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.objects)
}

// watcherLookup returns the Applications that watch an object regardless of its owner.
type watcherLookup func(types.NamespacedName) []types.UID

// sharing returns the Applications that share an object; nil for a store of owned objects.
func (w watcherLookup) sharing(key types.NamespacedName) []types.UID {
	if w == nil {
		return nil
	}
	return w(key)
}

// watching returns the Applications that watch an object: those that share it, or its owner. sharing is a parameter,
// because it is looked up before the lock of the Store is acquired.
func (w watcherLookup) watching(sharing []types.UID, o *Object) []types.UID {
	if w == nil {
		return []types.UID{o.Application}
	}
	return sharing
}

// All returns all objects.
func (s *Store) All() []*Object {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Collect(maps.Values(s.objects))
}
