package cluster

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

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
	// keeps selects the objects that are stored, by name. If nil, all are. Like manifests and watchers, it is set
	// before the reflector starts.
	keeps nameFilter
	// manifests returns the manifests of the Application with that UID. It can be nil. It is called without the lock,
	// because it uses other stores.
	manifests func(types.UID) *Manifests
	// watchers returns the Applications that watch an object regardless of its owner. It is nil if each
	// Application watches only its own objects. It is called without the lock.
	watchers watcherLookup
	// written tracks the recent writers of objects.
	written writeTracker
	// ready is true once the first list is complete.
	ready bool
}

// objectIndex has the objects of a Store, and objects that have left it. The Store has its lock.
type objectIndex struct {
	// objects has all stored objects, also those without the tracking label.
	objects map[types.NamespacedName]*Object
	// byApp indexes the objects by the Application in their tracking label, sorted by key. Objects without the label
	// are not in it.
	byApp map[types.UID][]*Object
	// gone contains the UIDs of objects that the controller has deleted, until the watch confirms it. An older event
	// of such an object must not bring it back.
	gone map[types.UID]struct{}
	// left contains the last versions of objects that recently left the watch, by UID. The response to an earlier
	// write can arrive afterwards and must not bring them back. Its values have a resourceVersion only.
	left *recentCache[types.UID, *Object]
	// endedJobs contains the last states of Jobs that recently left the watch: whether they had finished
	// matters after their deletion.
	endedJobs *recentCache[types.NamespacedName, *Object]
	// asked and askedGone are the objects and the deleted UIDs at the time when the pending list was requested. They
	// are nil while no list is pending.
	asked     map[types.NamespacedName]*Object
	askedGone map[types.UID]struct{}
}

// maxLeftObjects is the number of objects in left. The response to a write is mistaken for a new object if
// more objects have left the watch before it arrives.
const maxLeftObjects = 1024

// maxEndedJobs is the number of deleted Jobs in endedJobs.
const maxEndedJobs = 256

// NewStore returns an empty Store. changed is called after every change by another client, and synced once, when the
// first list is complete. Neither can be nil.
func NewStore(now func() time.Time, changed func(before, after *Object), synced func()) *Store {
	return &Store{
		now: now, changed: changed, synced: synced,
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

// Written returns the recent writes to objects of an Application. It omits writes that were marked as
// processed, and those before the Application's own last write.
func (s *Store) Written(application types.UID) map[types.NamespacedName]writer.Activity {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if len(s.written.byApp[application]) == 0 {
		return nil
	}
	all := make(map[types.NamespacedName]writer.Activity, len(s.written.byApp[application]))
	for key, one := range s.written.byApp[application] {
		all[key] = one.Activity
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

// put stores an object unless it is stale. It returns the previous state, and whether it was replaced. The caller
// holds the lock, as for all methods of objectIndex.
func (s *objectIndex) put(o *Object) (before *Object, replaced bool) {
	before = s.objects[o.Key]
	if _, dead := s.gone[o.UID]; dead {
		return before, false
	}
	if before != nil && !o.Newer(before) {
		return before, false
	}
	if last := s.left.get(o.UID); last != nil && !o.Newer(last) {
		return before, false
	}
	s.set(before, o)
	return before, true
}

// set replaces an object, or adds it if before is nil. If the label has changed, the object moves to another
// Application.
func (s *objectIndex) set(before, o *Object) {
	// The index by Application has the object under the previous label.
	if before != nil && before.Application != o.Application {
		s.drop(before)
	}
	s.objects[o.Key] = o
	if o.Application == "" {
		return
	}
	all := s.byApp[o.Application]
	if len(all) > 0 {
		o.shareTexts(all[0])
	}
	i, found := slices.BinarySearchFunc(all, o.Key, byKey)
	if found {
		// The slice of ForApplication is a copy, so it does not change.
		all[i] = o
		return
	}
	s.byApp[o.Application] = slices.Insert(all, i, o)
}

// shareTexts replaces strings of an object by equal ones of another object of its Application, to save
// memory.
func (o *Object) shareTexts(other *Object) {
	o.Application = other.Application
	if o.Key.Namespace == other.Key.Namespace {
		o.Key.Namespace = other.Key.Namespace
	}
}

func byKey(o *Object, key types.NamespacedName) int {
	return cmp.Or(strings.Compare(o.Key.Namespace, key.Namespace), strings.Compare(o.Key.Name, key.Name))
}

// drop removes an object from the index.
func (s *objectIndex) drop(o *Object) {
	delete(s.objects, o.Key)
	all := s.byApp[o.Application]
	if i, found := slices.BinarySearchFunc(all, o.Key, byKey); found {
		s.byApp[o.Application] = slices.Delete(all, i, i+1)
	}
	if len(s.byApp[o.Application]) == 0 {
		delete(s.byApp, o.Application)
	}
}

// Add handles a watch event. An object can be in the Store already, as the response to a write.
func (s *Store) Add(item any) error { return s.Update(item) }

// Update handles a watch event. It removes managedFields from item. Objects are decoded and compressed without the
// lock, so that readers do not wait.
func (s *Store) Update(item any) error {
	if u, ok := item.(metav1.Object); ok && (s.Get(KeyOf(u)).isVersion(u) || s.keeps.ignores(KeyOf(u))) {
		return nil // most often the watch event of the controller's own write
	}
	item, err := decoded(item)
	if err != nil {
		return err
	}
	var managed []any
	if u, ok := item.(*unstructured.Unstructured); ok {
		managed = managedFieldsOf(u.Object) // before NewObject removes them
	}
	o, err := s.objectOf(item)
	if err != nil {
		return err
	}
	sharing := s.watchers.sharing(o.Key)
	s.mu.Lock()
	before, replaced := s.put(o)
	if replaced && before != nil {
		s.written.recordEvent(s.watchers.watching(sharing, before), before, o, managed, s.now())
	}
	s.mu.Unlock()
	if replaced {
		s.changed(before, o)
	}
	return nil
}

// isVersion reports whether an object is in the given version. It accepts nil.
func (o *Object) isVersion(u metav1.Object) bool {
	return o != nil && o.UID == u.GetUID() && o.ResourceVersion == u.GetResourceVersion()
}

// nameFilter reports by name whether an object is stored.
type nameFilter func(types.NamespacedName) bool

// ignores reports whether an object of that name is not stored.
func (f nameFilter) ignores(key types.NamespacedName) bool { return f != nil && !f(key) }

// KeyOf returns the namespace and name of an object.
func KeyOf(u metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}
}

// Delete handles a watch event: the object was deleted, or no longer matches the selector. A response to an earlier
// write can still arrive: see left. An event about an earlier object of the same name is ignored.
func (s *Store) Delete(item any) error {
	if u, ok := item.(metav1.Object); ok && s.keeps.ignores(KeyOf(u)) {
		return nil
	}
	o, err := s.objectOf(item)
	if err != nil {
		return err
	}
	sharing := s.watchers.sharing(o.Key)
	s.mu.Lock()
	// The watch confirms the deletion.
	delete(s.gone, o.UID)
	s.left.put(o.UID, &Object{ResourceVersion: o.ResourceVersion})
	before := s.objects[o.Key]
	// The store can have a newer object of this name, from the response to a create.
	dropped := before != nil && before.UID == o.UID && !before.Newer(o)
	if dropped {
		s.drop(before)
		s.recordEnded(o)
		s.written.recordEvent(s.watchers.watching(sharing, before), before, o, nil, s.now())
	}
	s.mu.Unlock()
	if dropped {
		s.changed(before, nil)
	}
	return nil
}

// recordEnded records the last state of a Job. It ignores other kinds.
func (s *objectIndex) recordEnded(o *Object) {
	if content := o.Content(); content["apiVersion"] == "batch/v1" && content["kind"] == "Job" {
		s.endedJobs.put(o.Key, o)
	}
}

// BeginList records the current objects before a list request. The list will contain them or newer states, because it
// is a consistent read. Objects that change until Replace are recognized by their pointer.
func (s *Store) BeginList() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked, s.askedGone = maps.Clone(s.objects), maps.Clone(s.gone)
}

// Replace handles a list. The list is authoritative for all objects known at the time of its request, even if its
// versions are older: then the API server was restored from a backup. The controller's later writes are kept, unless
// the list contains newer versions. version is the resourceVersion of the list.
//
// An object that the list lacks is dropped if it was known at the time of the request, or is not newer than the list.
// changed is called for all differences after the lock is released, and then synced for the first list.
func (s *Store) Replace(items []any, version string) error {
	all, sharing, err := s.listed(items)
	if err != nil {
		return err
	}
	type change struct{ before, after *Object }
	var changes []change
	s.mu.Lock()
	// It represents the state that the list shows.
	horizon := &Object{ResourceVersion: version}
	for key, o := range s.objects {
		// An object that was written after the list is newer than the list.
		if all[key].Object == nil && (s.asked[key] == o || !o.Newer(horizon)) {
			s.drop(o)
			s.recordEnded(o)
			changes = append(changes, change{o, nil})
		}
	}
	for _, o := range all {
		if before, replaced := s.applyListed(o.Object); replaced {
			s.written.recordListed(s.watchers.watching(sharing[o.Key], o.Object), o)
			changes = append(changes, change{before, o.Object})
		}
	}
	s.forgetGone(all)
	s.asked, s.askedGone = nil, nil
	// Later lists follow an interruption of the watch.
	first := !s.ready
	s.ready = true
	s.mu.Unlock()
	for _, c := range changes {
		s.changed(c.before, c.after)
	}
	if first {
		s.synced()
	}
	return nil
}

// listed returns the objects of a list that are kept, and the Applications that share them. It needs no lock. sharing
// has only objects that another client has written since the controller did.
func (s *Store) listed(items []any) (all map[types.NamespacedName]listedObject, sharing map[types.NamespacedName][]types.UID, err error) {
	all, sharing = make(map[types.NamespacedName]listedObject, len(items)), map[types.NamespacedName][]types.UID{}
	for _, item := range items {
		if u, ok := item.(metav1.Object); ok && s.keeps.ignores(KeyOf(u)) {
			continue
		}
		o, err := s.listedOf(item)
		if err != nil {
			return nil, nil, err
		}
		if s.keeps.ignores(o.Key) {
			continue
		}
		all[o.Key] = o
		if watchers := s.watchers.sharing(o.Key); len(watchers) > 0 && len(o.managed) > 0 {
			sharing[o.Key] = watchers
		}
	}
	return all, sharing, nil
}

// applyListed stores an object from a list. It returns the previous state, and whether it was replaced. replaced is
// false for the same version, so a list that repeats known states causes no reconcile.
func (s *objectIndex) applyListed(o *Object) (before *Object, replaced bool) {
	if _, dead := s.askedGone[o.UID]; dead {
		delete(s.gone, o.UID)
	}
	before = s.objects[o.Key]
	if _, dead := s.gone[o.UID]; dead || before != s.asked[o.Key] {
		return s.put(o) // the object has changed since the list was requested
	}
	if s.left.get(o.UID) != nil {
		s.left.put(o.UID, nil)
	}
	if before != nil && before.UID == o.UID && before.ResourceVersion == o.ResourceVersion {
		return before, false
	}
	s.set(before, o)
	return before, true
}

// forgetGone drops the UIDs of deleted objects that a list no longer contains.
func (s *objectIndex) forgetGone(all map[types.NamespacedName]listedObject) {
	still := map[types.UID]struct{}{}
	for _, o := range all {
		if _, dead := s.gone[o.UID]; dead {
			still[o.UID] = struct{}{}
		}
	}
	s.gone = still
}

// all returns all objects.
func (s *Store) all() []*Object {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Collect(maps.Values(s.objects))
}

// Resync does nothing.
func (s *Store) Resync() error { return nil }

// Transformer returns a function that compresses the initial objects of a stream as they arrive. Otherwise the
// reflector would keep all of them decoded until the list is complete. It reduces objects that are not stored to
// their keys.
func (s *Store) Transformer() cache.TransformFunc {
	return func(item any) (any, error) {
		u, ok := item.(metav1.Object)
		switch {
		case !ok:
			return item, nil
		case s.keeps.ignores(KeyOf(u)):
			return &Object{Key: KeyOf(u)}, nil
		}
		return s.listedOf(u)
	}
}

// objectOf converts an item of the reflector, which the Transformer may have converted already.
func (s *Store) objectOf(item any) (*Object, error) {
	item, err := decoded(item)
	if err != nil {
		return nil, err
	}
	switch item := item.(type) {
	case *Object:
		return item, nil
	case listedObject:
		return item.Object, nil
	case *unstructured.Unstructured:
		return s.object(item)
	}
	return nil, fmt.Errorf("a watch returned a %T", item)
}

// listedOf converts an object of a list.
func (s *Store) listedOf(item any) (listedObject, error) {
	item, err := decoded(item)
	if err != nil {
		return listedObject{}, err
	}
	switch item := item.(type) {
	case listedObject:
		return item, nil
	case *unstructured.Unstructured:
		managed := managedFieldsJSON(managedFieldsOf(item.Object)) // before NewObject removes them
		o, err := s.object(item)
		return listedObject{o, managed}, err
	}
	o, err := s.objectOf(item)
	return listedObject{Object: o}, err
}
