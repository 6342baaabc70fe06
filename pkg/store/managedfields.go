package store

import (
	"encoding/json"
	"hash/fnv"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// managedFieldsStamp identifies an entry of managedFields by a digest of its manager, and its time in seconds. status
// is true for the status subresource. It is comparable, so two versions of an object can be compared without their
// managedFields.
type managedFieldsStamp struct {
	who    uint64
	when   int64
	status bool
}

// managedFieldsOf returns the managedFields of an object.
func managedFieldsOf(content map[string]any) []any {
	value, _, _ := unstructured.NestedFieldNoCopy(content, "metadata", "managedFields")
	entries, _ := value.([]any)
	return entries
}

// stampsOf returns the stamps of all entries, in their order.
func stampsOf(managed []any) []managedFieldsStamp {
	stamps := make([]managedFieldsStamp, 0, len(managed))
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
		stamps = append(stamps, managedFieldsStamp{who.Sum64(), when.Unix(), entry["subresource"] == "status"})
	}
	return stamps
}

// moved returns the indexes in after of entries that are new or have another time. An entry that only lost fields is
// not among them.
func moved(before, after []managedFieldsStamp) (entries []int) {
	was := sets.New(before...)
	for i, s := range after {
		if !was.Has(s) {
			entries = append(entries, i)
		}
	}
	return entries
}

// onlyStatus reports whether only the status subresource was written. A write changes only the time of its
// own entry.
func onlyStatus(stamps []managedFieldsStamp, moved []int) bool {
	return len(moved) > 0 && !slices.ContainsFunc(moved, func(i int) bool { return !stamps[i].status })
}

// writtenSince reports whether another client has written an object, other than a subresource, at or after
// the time of the controller's last write.
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

// managedFieldsJSON returns the managedFields of a listed object as JSON. It returns nil if no other client has
// written the object since the controller did: then no drift has to be explained.
func managedFieldsJSON(managed []any) []byte {
	if !writtenSince(managed) {
		return nil
	}
	raw, _ := json.Marshal(managed) // cannot fail: the value was decoded from JSON
	return raw
}
