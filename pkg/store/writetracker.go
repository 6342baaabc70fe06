package store

import (
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/writer"
)

// trackedWrites are the writes to an object since an Application that watches it last processed it or wrote it.
// managedFields are kept until then only. last is the time of the last event.
type trackedWrites struct {
	writer.Activity

	last time.Time
}

// Limits per kind: the number of tracked objects, and the size of the managedFields of one object. Beyond
// the limits, drift is corrected without naming the writer.
const (
	maxTrackedObjects     = 4096
	maxManagedFieldsBytes = 16 << 10
)

// writeTracker records, for each Application, the recent writes to objects of one kind. The lock of its store
// protects it. Package plan names the writers of drift from it.
type writeTracker struct {
	// byApp records the writes by Application and object. No inner map is empty.
	byApp map[types.UID]map[types.NamespacedName]*trackedWrites
	// n is the number of tracked objects of all Applications.
	n int
	// events counts all events. FirstEvent of an object is its value at the first tracked event, and identifies it.
	events uint64
}

// recordEvent records a watch event that changed an object from before to o, for the Applications that watch it.
// managed is nil if the object was deleted. A write of only the status counts as an event, but not as a write.
func (w *writeTracker) recordEvent(watchers []types.UID, before, o *Object, managed []any, now time.Time) {
	var raw []byte
	if managed != nil {
		raw, _ = json.Marshal(managed) // cannot fail: the value was decoded from JSON
	}
	for _, application := range watchers {
		one := w.count(application, o, raw, now)
		if one == nil {
			continue
		}
		one.ChangedEntries = moved(before.stamps, o.stamps)
		if managed == nil || !onlyStatus(o.stamps, one.ChangedEntries) {
			one.Writes, one.Write = one.Writes+1, o.ResourceVersion
		}
	}
}

// recordListed records an object of a list for the Applications that watch it. The number and the times of its writes
// are unknown. It does nothing if no other client has written the object.
func (w *writeTracker) recordListed(watchers []types.UID, o listedObject) {
	if len(o.managed) == 0 {
		return
	}
	for _, application := range watchers {
		if one := w.count(application, o.Object, o.managed, time.Time{}); one != nil {
			one.Events++
			one.ChangedEntries, one.Writes = nil, one.Writes+2 // the number is unknown, so count two
		}
	}
}

// count counts an event and returns the writes to the object, or nil if the limit is reached. Only the managedFields
// of the last event are kept, if they are not too large.
func (w *writeTracker) count(application types.UID, o *Object, managed []byte, now time.Time) *trackedWrites {
	w.events++
	one := w.writesTo(application, o.Key)
	if one == nil {
		return nil
	}
	if one.Events++; one.Events == 1 {
		one.FirstSeen, one.FirstEvent = now, w.events
	}
	one.ResourceVersion, one.ManagedFields, one.last = o.ResourceVersion, nil, now
	if len(managed) <= maxManagedFieldsBytes {
		one.ManagedFields = managed
	}
	return one
}

// writesTo returns the writes to an object. It adds an entry if there is none, and returns nil if the limit
// is reached.
func (w *writeTracker) writesTo(application types.UID, key types.NamespacedName) *trackedWrites {
	if one := w.byApp[application][key]; one != nil {
		return one
	}
	// Tracked writes of objects that never are reconciled would otherwise fill the memory.
	if w.n >= maxTrackedObjects {
		return nil
	}
	if w.byApp == nil {
		w.byApp = map[types.UID]map[types.NamespacedName]*trackedWrites{}
	}
	if w.byApp[application] == nil {
		w.byApp[application] = map[types.NamespacedName]*trackedWrites{}
	}
	one := &trackedWrites{}
	w.byApp[application][key] = one
	w.n++
	return one
}

// processed removes the writes that an Application has processed, and keeps later ones. It does nothing if at is from
// another record, for example because the Application has written the object since.
func (w *writeTracker) processed(application types.UID, key types.NamespacedName, at writer.Activity) {
	one := w.byApp[application][key]
	if one == nil || one.FirstEvent != at.FirstEvent {
		return
	}
	if one.Events -= at.Events; one.Events <= 0 {
		w.forget(application, key)
		return
	}
	// Only the time of the last event is known.
	one.FirstSeen, one.Writes = one.last, one.Writes-at.Writes
	one.FirstEvent += uint64(at.Events)
}

// forget removes the writes to an object after the controller's own write.
func (w *writeTracker) forget(application types.UID, key types.NamespacedName) {
	objects := w.byApp[application]
	if objects[key] == nil {
		return
	}
	delete(objects, key)
	w.n--
	if len(objects) == 0 {
		delete(w.byApp, application)
	}
}

// forgetAll removes all writes of an Application.
func (w *writeTracker) forgetAll(application types.UID) {
	w.n -= len(w.byApp[application])
	delete(w.byApp, application)
}
