package record

import (
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// Record is the last-applied state of one resource, with its schema and its inventory entry.
type Record struct {
	ID manifest.ID
	// Desired is the last-applied state, with masked values of Secrets. It can be the manifest's own map, and must not
	// be changed.
	Desired map[string]any
	// Entry is the schema that belongs to Desired; nil if the status has no valid one.
	Entry  *observer.Schema
	Status *v1alpha1.ResourceStatus // nil if it was never created
	// Created is true if the record is not from the status but from the annotation that was written before
	// the object was created.
	Created bool
}

// Read returns the records in a status. It skips records that cannot be decoded: learned values are lost,
// but no write is wrong. known returns the manifest and the schema of the resource at a position, which its record
// usually repeats and then need not be decoded. It may be nil.
func Read(app *v1alpha1.Application, types intent.Kinds, known func(i int) (map[string]any, *observer.Schema)) map[manifest.ID]*Record {
	records := make(map[manifest.ID]*Record, len(app.Status.LastAppliedManifest))
	// An item without a valid state has no identity, so it is skipped with its schema.
	statuses := ByID(app.Status.Resources)
	for i, item := range app.Status.LastAppliedManifest {
		var desired map[string]any
		var rendered *observer.Schema
		if known != nil {
			desired, rendered = known(i)
		}
		if desired == nil || !manifest.IsTextOf(item.Raw, desired) {
			var err error
			if desired, err = manifest.DecodeRaw(item); err != nil {
				continue
			}
		}
		id, ok := manifest.Identify(desired, app.Namespace, types)
		if !ok {
			continue
		}
		r := &Record{ID: id, Desired: desired, Status: statuses[id]} // without a status, the object was never created
		// The two lists are parallel.
		if i < len(app.Status.MangledObserverSchema) {
			r.Entry = decodeEntry(app.Status.MangledObserverSchema[i], id, rendered)
		}
		// Dropped fields can be removed only under a default schema: see delta.Input.Prune.
		if r.Entry != nil && r.Status != nil {
			r.Entry.Default = r.Status.Schema == v1alpha1.SchemaDefault
			r.Entry.Follows = r.Status.Schema == v1alpha1.SchemaFields
		}
		records[id] = r
	}
	return records
}

// Append adds the schema and the last-applied state of a resource to a status. desired must have no values of Secrets.
func Append(status *v1alpha1.ApplicationStatus, entry *observer.Schema, desired map[string]any) {
	status.MangledObserverSchema = append(status.MangledObserverSchema, manifest.EncodeRaw(entry.Raw()))
	status.LastAppliedManifest = append(status.LastAppliedManifest, manifest.EncodeRaw(desired))
}

// decodeEntry returns a schema in the status, or nil if it is not a valid schema of the object. It does not parse
// the schema if it is the text of known, which may be nil.
func decodeEntry(item runtime.RawExtension, id manifest.ID, known *observer.Schema) (entry *observer.Schema) {
	if known != nil {
		entry = known.ReadBack(item.Raw)
	}
	if entry == nil {
		raw, err := manifest.DecodeRaw(item)
		if err != nil {
			return nil
		}
		if entry, err = observer.ParseRecorded(raw); err != nil {
			return nil
		}
	}
	// The namespace can be missing in the schema, so it is not compared.
	if entry.ID.GroupKind() != id.GroupKind() || entry.ID.Name != id.Name {
		return nil
	}
	return entry
}

// ByID returns the inventory entries by object. They point into the inventory, and are not copies.
func ByID(inventory []v1alpha1.ResourceStatus) map[manifest.ID]*v1alpha1.ResourceStatus {
	byID := make(map[manifest.ID]*v1alpha1.ResourceStatus, len(inventory))
	for i := range inventory {
		byID[manifest.IDFromReference(inventory[i].ResourceReference)] = &inventory[i]
	}
	return byID
}
