package cluster

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// Store has the objects of one kind. A reflector fills it, and our own writes
// do; an event never takes it back to a state that is older than one it has seen, so
// a watch that lags behind our writes does not undo them. A list does, see Replace.
//
// It implements cache.ReflectorStore.
type Store struct {
	// changed is called with what an object was and is, either of which may be
	// nil, after every change that is not our own.
	changed func(before, after *Object)
	// synced is called once, when the first list is complete.
	synced func()

	mu      sync.RWMutex
	objects map[types.NamespacedName]*Object
	// byApp are those of each Application, in order.
	byApp map[types.UID][]*Object
	// gone has the UIDs of objects that we know to be deleted while the watch
	// may still speak of them.
	gone map[types.UID]struct{}
	// left has the versions at which objects left the watch lately: the response
	// to a write of ours may still be on its way to us, and is older.
	left *ring[types.UID, *Object]
	// ended has Jobs that left the watch lately, in their last state: whether they had
	// finished matters when they are gone.
	ended *ring[types.NamespacedName, *Object]
	// keeps says which objects, by their names, are kept at all; nil for all.
	keeps func(types.NamespacedName) bool
	// manifests are those of the Application with that UID, which its objects repeat; nil for
	// nobody knows.
	manifests func(types.UID) *Manifests
	// written has who wrote objects lately.
	written writings
	ready   bool
	// asked is what was here, and askedGone what was gone, when the list was asked for
	// that is on its way.
	asked     map[types.NamespacedName]*Object
	askedGone map[types.UID]struct{}
}

// mostLeft is how many objects that left are remembered. A response that comes
// later than so many of them is taken for news.
const mostLeft = 1024

// mostEnded is how many Jobs that are gone are remembered.
const mostEnded = 256

func newStore(changed func(before, after *Object), synced func()) *Store {
	return &Store{
		changed: changed, synced: synced,
		objects: map[types.NamespacedName]*Object{},
		byApp:   map[types.UID][]*Object{},
		gone:    map[types.UID]struct{}{},
		left:    newRing[types.UID, *Object](mostLeft),
		ended:   newRing[types.NamespacedName, *Object](mostEnded),
	}
}

// Get returns the object of that name, or nil.
func (s *Store) Get(key types.NamespacedName) *Object {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.objects[key]
}

// Of returns the objects that carry the label of an Application, in order.
func (s *Store) Of(application types.UID) []*Object {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clone(s.byApp[application])
}

// Ended returns the Jobs of an Application that left the watch lately, in their last
// state.
func (s *Store) Ended(application types.UID) (jobs []*Object) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, o := range s.ended.values {
		if o.Application == application {
			jobs = append(jobs, o)
		}
	}
	return jobs
}

// Written is who wrote objects of an Application lately: those of which it was not told
// that they were looked at (Processed), and that it has not written since.
func (s *Store) Written(application types.UID) map[types.NamespacedName]Written {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if len(s.written.byApp[application]) == 0 {
		return nil
	}
	all := make(map[types.NamespacedName]Written, len(s.written.byApp[application]))
	for key, one := range s.written.byApp[application] {
		all[key] = *one
	}
	return all
}

// Forget takes in that an Application is gone, or needs nothing of this kind any more.
func (s *Store) Forget(application types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written.forgetAll(application)
}

// Processed takes in that an Application has looked at an object, of which it knew that much.
func (s *Store) Processed(application types.UID, key types.NamespacedName, at Written) {
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

// Len is the number of objects.
func (s *Store) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.objects)
}

// Wrote takes in the response to our own write. It is no news but to the
// Application that has lost the object by it. It reports whether it is news to the store.
func (s *Store) Wrote(content map[string]any) bool {
	o, err := s.object(&unstructured.Unstructured{Object: maps.Clone(content)})
	if err != nil {
		return false
	}
	s.mu.Lock()
	before, replaced := s.put(o)
	if replaced {
		s.written.forget(o.Application, o.Key)
	}
	s.mu.Unlock()
	if replaced && before != nil && before.Application != o.Application {
		s.changed(before, o)
	}
	return replaced
}

// Deleted takes in that the object with that UID is gone. If it is not here, the
// watch was faster and will not speak of it again.
func (s *Store) Deleted(key types.NamespacedName, uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.objects[key]; o != nil && o.UID == uid {
		s.gone[uid] = struct{}{}
		s.drop(o)
	}
}

// put stores an object unless it is stale. It returns what was there, and
// whether it was replaced.
func (s *Store) put(o *Object) (before *Object, replaced bool) {
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

// set puts an object in the place of another one, if there is one.
func (s *Store) set(before, o *Object) {
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
		all[i] = o
		return
	}
	s.byApp[o.Application] = slices.Insert(all, i, o)
}

// shareTexts has an object keep nothing of its own that another one of its Application has.
func (o *Object) shareTexts(other *Object) {
	o.Application = other.Application
	if o.Key.Namespace == other.Key.Namespace {
		o.Key.Namespace = other.Key.Namespace
	}
}

func byKey(o *Object, key types.NamespacedName) int {
	return cmp.Or(strings.Compare(o.Key.Namespace, key.Namespace), strings.Compare(o.Key.Name, key.Name))
}

func (s *Store) drop(o *Object) {
	delete(s.objects, o.Key)
	all := s.byApp[o.Application]
	if i, found := slices.BinarySearchFunc(all, o.Key, byKey); found {
		s.byApp[o.Application] = slices.Delete(all, i, i+1)
	}
	if len(s.byApp[o.Application]) == 0 {
		delete(s.byApp, o.Application)
	}
}

// Add takes in a watch event.
func (s *Store) Add(item any) error { return s.Update(item) }

// Update takes in a watch event.
func (s *Store) Update(item any) error {
	if u, ok := item.(*unstructured.Unstructured); ok && (s.knows(u) || s.ignores(u)) {
		return nil // most often the echo of our own write
	}
	var managed []any
	if u, ok := item.(*unstructured.Unstructured); ok {
		managed = managedFieldsOf(u.Object) // before they are dropped
	}
	o, err := s.objectOf(item)
	if err != nil {
		return err
	}
	s.mu.Lock()
	before, replaced := s.put(o)
	if replaced && before != nil {
		s.written.note(before, o, managed, time.Now())
	}
	s.mu.Unlock()
	if replaced {
		s.changed(before, o)
	}
	return nil
}

// knows reports whether this very state of an object is here.
func (s *Store) knows(u *unstructured.Unstructured) bool {
	o := s.Get(types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()})
	return o != nil && o.UID == u.GetUID() && o.ResourceVersion == u.GetResourceVersion()
}

// ignores reports whether an object is none of those that are kept.
func (s *Store) ignores(u *unstructured.Unstructured) bool {
	return s.keeps != nil && !s.keeps(types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()})
}

// Delete takes in a watch event: the object is gone, or is no longer selected.
func (s *Store) Delete(item any) error {
	if u, ok := item.(*unstructured.Unstructured); ok && s.ignores(u) {
		return nil
	}
	o, err := s.objectOf(item)
	if err != nil {
		return err
	}
	s.mu.Lock()
	delete(s.gone, o.UID)
	s.left.put(o.UID, &Object{ResourceVersion: o.ResourceVersion})
	before := s.objects[o.Key]
	dropped := before != nil && before.UID == o.UID && !before.Newer(o)
	if dropped {
		s.drop(before)
		s.end(o)
		s.written.note(before, o, nil, time.Now())
	}
	s.mu.Unlock()
	if dropped {
		s.changed(before, nil)
	}
	return nil
}

// end remembers a Job that is gone.
func (s *Store) end(o *Object) {
	if content := o.Content(); content["apiVersion"] == "batch/v1" && content["kind"] == "Job" {
		s.ended.put(o.Key, o)
	}
}

// Asked notes that a list is being asked for. It will have all that is known here: the
// list is consistent, and asked for after that was known.
func (s *Store) Asked() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked, s.askedGone = maps.Clone(s.objects), maps.Clone(s.gone)
}

// Replace takes in a list. It is the truth about all that was known when it was asked
// for, also where its versions are older: then the API server was restored from a
// backup. What we wrote since stays, unless the list has it.
func (s *Store) Replace(items []any, version string) error {
	all := make(map[types.NamespacedName]listed, len(items))
	for _, item := range items {
		if u, ok := item.(*unstructured.Unstructured); ok && s.ignores(u) {
			continue
		}
		o, err := s.listedOf(item)
		if err != nil {
			return err
		}
		if s.keeps == nil || s.keeps(o.Key) {
			all[o.Key] = o
		}
	}
	type change struct{ before, after *Object }
	var changes []change
	s.mu.Lock()
	horizon := &Object{ResourceVersion: version}
	for key, o := range s.objects {
		if all[key].Object == nil && (s.asked[key] == o || !o.Newer(horizon)) {
			s.drop(o)
			s.end(o)
			changes = append(changes, change{o, nil})
		}
	}
	for _, o := range all {
		if before, replaced := s.believe(o.Object); replaced {
			s.written.noteListed(o)
			changes = append(changes, change{before, o.Object})
		}
	}
	s.forgetGone(all)
	s.asked, s.askedGone = nil, nil
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

// believe stores an object of a list. It returns what was there, and whether it was
// replaced.
func (s *Store) believe(o *Object) (before *Object, replaced bool) {
	if _, dead := s.askedGone[o.UID]; dead {
		delete(s.gone, o.UID)
	}
	before = s.objects[o.Key]
	if _, dead := s.gone[o.UID]; dead || before != s.asked[o.Key] {
		return s.put(o) // something has happened since the list was asked for
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

// forgetGone forgets the deleted objects that a list no longer has.
func (s *Store) forgetGone(all map[types.NamespacedName]listed) {
	still := map[types.UID]struct{}{}
	for _, o := range all {
		if _, dead := s.gone[o.UID]; dead {
			still[o.UID] = struct{}{}
		}
	}
	s.gone = still
}

// all returns every object.
func (s *Store) all() []*Object {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Collect(maps.Values(s.objects))
}

// Resync does nothing: nothing here is waiting for a second look.
func (s *Store) Resync() error { return nil }

// Transformer makes what a stream of initial events collects as small as the
// store is.
func (s *Store) Transformer() cache.TransformFunc {
	return func(item any) (any, error) {
		u, ok := item.(*unstructured.Unstructured)
		switch {
		case !ok:
			return item, nil
		case s.ignores(u):
			return &Object{Key: types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}}, nil
		}
		return s.listedOf(u)
	}
}

func (s *Store) objectOf(item any) (*Object, error) {
	switch item := item.(type) {
	case *Object:
		return item, nil
	case listed:
		return item.Object, nil
	case *unstructured.Unstructured:
		return s.object(item)
	}
	return nil, fmt.Errorf("a watch gave a %T", item)
}

// listedOf is objectOf for an object of a list.
func (s *Store) listedOf(item any) (listed, error) {
	switch item := item.(type) {
	case listed:
		return item, nil
	case *unstructured.Unstructured:
		managed := listedBy(managedFieldsOf(item.Object)) // before they are dropped
		o, err := s.object(item)
		return listed{o, managed}, err
	}
	o, err := s.objectOf(item)
	return listed{Object: o}, err
}
