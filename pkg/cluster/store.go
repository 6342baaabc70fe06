package cluster

import (
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/writer"
)

// Store contains the objects of one kind. It is filled by a reflector and by the responses to the controller's own
// writes. A watch event never replaces a state with an older one, so a lagging watch does not undo a write. A list
// can; see Replace.
//
// It implements cache.ReflectorStore. The reflector calls these methods on one goroutine. All other methods can be
// called at any time, from any goroutine. An Object in a Store is immutable: a change replaces the pointer.
//
//	event                                       effect
//	watch event, newer                          stored; changed is called
//	watch event, not newer                      ignored: a write was faster
//	watch event of an object in gone            ignored: a deletion was faster
//	response, newer                             stored; changed is not called
//	response, object was deleted meanwhile      ignored: see left
//	list, object unchanged since BeginList      replaced, even by an older version
//	list, object changed since BeginList        stored only if newer
type Store struct {
	now func() time.Time
	// changed is called after every change by another client, with the states before and after. Either can be nil. It
	// is called without the lock, so another change may follow before it returns.
	changed func(before, after *Object)
	// synced is called once, when the first list is complete, after changed was called for its objects.
	synced func()

	// mu guards the fields below that change: the index, written and ready.
	mu sync.RWMutex
	objectIndex
	// keeps selects the objects that are stored, by name. NewStore keeps all. Like manifests and watchers, it is set
	// before the reflector starts.
	keeps func(types.NamespacedName) bool
	// manifests returns the manifests of the Application with that UID. It can be nil. It is called without the lock,
	// because it uses other stores.
	manifests func(types.UID) *Manifests
	// reduce removes fields of an object before it is stored. It can be nil.
	reduce func(content map[string]any)
	// watchers returns the Applications that watch an object regardless of its owner. It is nil if each
	// Application watches only its own objects. It is called without the lock.
	watchers watcherLookup
	// written tracks the recent writers of objects.
	written writeTracker
	// ready is true once the first list is complete.
	ready bool
}

// NewStore returns an empty Store. changed is called after every change by another client, and synced once, when the
// first list is complete. Neither can be nil.
func NewStore(now func() time.Time, changed func(before, after *Object), synced func()) *Store {
	return &Store{
		now: now, changed: changed, synced: synced, keeps: func(types.NamespacedName) bool { return true },
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

// ShareWith makes the Store track the writes to an object for the Applications that watchers returns, and no longer
// for its owner. It must be called before the reflector starts. watchers is called without the lock of the Store,
// because it uses that of Watches.
func (s *Store) ShareWith(watchers func(types.NamespacedName) []types.UID) { s.watchers = watchers }

// ApplyWrite adds the response to a write of an Application. The watch does not report it, so the write is recorded
// here for the other Applications that watch the object. It reports whether the store has changed. It does not change
// content. changed is called only if the object moves to another Application.
//
// The watch event of the write can be faster. Then the event has stored this version, and changed was called for it.
func (s *Store) ApplyWrite(application types.UID, content map[string]any) bool {
	managed := managedFieldsOf(content) // before they are dropped
	o, err := s.object(&unstructured.Unstructured{Object: maps.Clone(content)})
	if err != nil {
		return false
	}
	watchers := s.watchers.sharing(o.Key)
	s.mu.Lock()
	before, replaced := s.put(o)
	if replaced {
		s.written.forget(application, o.Key)
		if before != nil {
			others := slices.DeleteFunc(s.watchers.watching(watchers, before), func(uid types.UID) bool { return uid == application })
			s.written.recordEvent(others, before, o, managed, s.now())
		}
	}
	s.mu.Unlock()
	if replaced && before != nil && before.Application != o.Application {
		s.changed(before, o)
	}
	return replaced
}

// Deleted records that the controller has deleted the object with that UID. If the object is not stored, the watch
// was faster and does not report it again. changed is not called.
func (s *Store) Deleted(key types.NamespacedName, uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.objects[key]; o != nil && o.UID == uid {
		s.gone[uid] = struct{}{}
		s.drop(o)
	}
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

// ObjectKey returns the namespace and name of an object.
func ObjectKey(u metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}
}

// all returns all objects.
func (s *Store) all() []*Object {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Collect(maps.Values(s.objects))
}
