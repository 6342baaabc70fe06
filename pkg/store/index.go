package store

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// objectIndex contains the objects of a Store, and objects that have left it. The Store has its lock.
type objectIndex struct {
	// objects contains all stored objects, also those without the tracking label.
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
	// The index by Application lists the object under the previous label.
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

// recordEnded records the last state of a Job. It ignores other kinds.
func (s *objectIndex) recordEnded(o *Object) {
	if content := o.Content(); content["apiVersion"] == "batch/v1" && content["kind"] == "Job" {
		s.endedJobs.put(o.Key, o)
	}
}

// applyListed stores an object from a list. It returns the previous state, and whether it was replaced. replaced is
// false for the same state, so a list that repeats known states causes no reconcile. The same version can have another
// state: the API server prunes and defaults custom resources when it reads them, by their current definition.
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
	if o.sameAs(before) {
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
