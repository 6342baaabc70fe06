package cluster

import (
	"encoding/json"
	"hash/fnv"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// Written is what the watch has told of who wrote an object, since its Application looked at
// it or wrote it. managedFields are kept for so long, and no longer.
type Written struct {
	// Managed are the managedFields of the newest event, as JSON; nil if the object is gone.
	Managed []byte
	// Events is how many events there were. A list may stand for many.
	Events int
	// Moved are the entries of Managed whose time has moved with the newest event.
	Moved []int
	// Since is when the first of them came; zero if it was a list.
	Since time.Time
	// First is the number of the first event.
	First uint64
	// ResourceVersion is that of the newest event.
	ResourceVersion string
	// Writes is how many of the events may be more than a write of the subresource status,
	// and Write the version that the newest of them brought.
	Writes int
	Write  string

	last time.Time
}

// stamp is an entry of managedFields: a digest of whose it is, its time, and whether it is
// of the subresource status.
type stamp struct {
	who    uint64
	when   int64
	status bool
}

// managedFieldsOf are the managedFields of decoded content.
func managedFieldsOf(content map[string]any) []any {
	metadata, _ := content["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	return entries
}

func stampsOf(managed []any) []stamp {
	stamps := make([]stamp, 0, len(managed))
	for _, item := range managed {
		entry, _ := item.(map[string]any)
		who := fnv.New64a()
		for _, field := range []string{"manager", "operation", "subresource", "apiVersion"} {
			text, _ := entry[field].(string)
			who.Write([]byte(text))
			who.Write([]byte{0})
		}
		text, _ := entry["time"].(string)
		when, _ := time.Parse(time.RFC3339, text)
		stamps = append(stamps, stamp{who.Sum64(), when.Unix(), entry["subresource"] == "status"})
	}
	return stamps
}

// moved are the entries that were not there before, or had another time.
func moved(before, after []stamp) (entries []int) {
	was := make(map[stamp]struct{}, len(before))
	for _, s := range before {
		was[s] = struct{}{}
	}
	for i, s := range after {
		if _, same := was[s]; !same {
			entries = append(entries, i)
		}
	}
	return entries
}

// listed is an object of a list that is not taken in yet, with its managedFields, see listedBy.
type listed struct {
	*Object

	managed []byte
}

// listedBy are the managedFields of an object of a list as JSON, if another client may have
// written it since we did.
func listedBy(managed []any) []byte {
	if !writtenSince(managed) {
		return nil
	}
	raw, _ := json.Marshal(managed) // it was read from JSON
	return raw
}

// mostWritten is for how many objects of a kind it is remembered who wrote them, and
// mostManaged how many bytes of one. What is beyond is corrected, and nobody is named.
const (
	mostWritten = 4096
	mostManaged = 16 << 10
)

// writings has who wrote the objects of one kind. The lock of its store guards it.
type writings struct {
	// off is set where nobody is told: of shared objects, which belong to nobody here.
	off    bool
	byApp  map[types.UID]map[types.NamespacedName]*Written
	n      int
	events uint64
}

// note takes in an event about an object that was there before, and is now o. managed is
// nil if it is gone.
func (w *writings) note(before, o *Object, managed []any, now time.Time) {
	var raw []byte
	if managed != nil {
		raw, _ = json.Marshal(managed) // it was read from JSON
	}
	one := w.count(before.Application, o, raw, now)
	if one == nil {
		return
	}
	one.Moved = moved(before.stamps, o.stamps)
	if managed == nil || !onlyStatus(o.stamps, one.Moved) {
		one.Writes, one.Write = one.Writes+1, o.ResourceVersion
	}
}

// onlyStatus reports whether the entries whose time has moved say that nothing but the
// subresource status was written: a write moves the time of its own entry alone.
func onlyStatus(stamps []stamp, moved []int) bool {
	return len(moved) > 0 && !slices.ContainsFunc(moved, func(i int) bool { return !stamps[i].status })
}

// noteListed takes in an object of a list: nobody knows when it was written, and how often.
func (w *writings) noteListed(o listed) {
	if len(o.managed) == 0 {
		return
	}
	if one := w.count(o.Application, o.Object, o.managed, time.Time{}); one != nil {
		one.Events++
		one.Moved, one.Writes = nil, one.Writes+2 // nobody knows how many
	}
}

// count counts an event, and returns what is known of the object then; nil if there is no
// room for it.
func (w *writings) count(application types.UID, o *Object, managed []byte, now time.Time) *Written {
	w.events++
	one := w.of(application, o.Key)
	if one == nil {
		return nil
	}
	if one.Events++; one.Events == 1 {
		one.Since, one.First = now, w.events
	}
	one.ResourceVersion, one.Managed, one.last = o.ResourceVersion, nil, now
	if len(managed) <= mostManaged {
		one.Managed = managed
	}
	return one
}

// of is what is known of an object; nil if there is no room for more.
func (w *writings) of(application types.UID, key types.NamespacedName) *Written {
	if one := w.byApp[application][key]; one != nil {
		return one
	}
	if w.off || w.n >= mostWritten {
		return nil
	}
	if w.byApp == nil {
		w.byApp = map[types.UID]map[types.NamespacedName]*Written{}
	}
	if w.byApp[application] == nil {
		w.byApp[application] = map[types.NamespacedName]*Written{}
	}
	one := &Written{}
	w.byApp[application][key] = one
	w.n++
	return one
}

// looked is told that an Application has looked at an object, up to what was known then.
// What has come since stays.
func (w *writings) processed(application types.UID, key types.NamespacedName, at Written) {
	one := w.byApp[application][key]
	if one == nil || one.First != at.First {
		return
	}
	if one.Events -= at.Events; one.Events <= 0 {
		w.forget(application, key)
		return
	}
	one.Since, one.Writes = one.last, one.Writes-at.Writes
	one.First += uint64(at.Events)
}

// forget is told that we have written an object.
func (w *writings) forget(application types.UID, key types.NamespacedName) {
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

// forgetAll is told that an Application is gone.
func (w *writings) forgetAll(application types.UID) {
	w.n -= len(w.byApp[application])
	delete(w.byApp, application)
}

// writtenSince reports whether another client has written an object, and not only a
// subresource of it, when we had, or later.
func writtenSince(managed []any) bool {
	ours, theirs := int64(-1), int64(-1)
	for i, s := range stampsOf(managed) {
		entry, _ := managed[i].(map[string]any)
		manager, _ := entry["manager"].(string)
		isOurs := v1alpha1.IsFieldManager(manager)
		switch {
		case isOurs && entry["operation"] == string(metav1.ManagedFieldsOperationUpdate):
			ours = max(ours, s.when)
		case entry["subresource"] != "status":
			theirs = max(theirs, s.when)
		}
	}
	return theirs >= ours && theirs >= 0
}
