package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/health"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/record"
)

// writeAhead finds the data to record before a plan is executed. If the process ends during the execution, the next
// one only knows what the status and the annotation have.
type writeAhead struct{ *Plan }

// WriteAheadStatus returns the status to write before the plan is executed, or nil if none is needed. It is
// needed if a request is about to write fields that the status does not record. The controller may stop before it
// writes the final status, and the next spec may no longer have these fields. Without the record, the controller
// could not know that it must remove them. It covers resources in the status. For other resources see
// PendingCreates, except for objects that do not fit into that annotation: the write-ahead status names
// them. It does not change the plan.
// Source: docs/design.md, "Crashes".
func (p *Plan) WriteAheadStatus() *v1alpha1.ApplicationStatus {
	ahead := map[manifest.ID]*record.Record{}
	for _, res := range p.resources {
		if r := res.writeAheadRecord(); r != nil && !p.unrecorded(r.Status) {
			ahead[res.object.ID] = r
		}
	}
	unnamed, shared := writeAhead{p}.unnamed(), writeAhead{p}.writeAheadInventory()
	if len(ahead) == 0 && len(unnamed) == 0 && len(shared) == 0 {
		return nil
	}
	app := p.in.Application
	status := app.Status.DeepCopy()
	// Only these parts differ from the stored status. In particular, observedGeneration still is the previous one.
	status.Resources = upsertInventory(status.Resources, shared)
	for _, res := range unnamed {
		status.Resources = append(status.Resources, v1alpha1.ResourceStatus{
			ResourceReference: reference(res.object.ID, res.object.APIVersion), Health: health.NotFound,
			Reason: v1alpha1.ReasonRetrying, Message: res.object.ID.String() + " is about to be created",
		})
	}
	more := record.NewSpare(status)
	for i, item := range status.LastAppliedManifest {
		content, err := manifest.DecodeRaw(item)
		if err != nil {
			continue
		}
		// Records and schemas are parallel lists. A record without a schema is never extended.
		id, ok := manifest.Identify(content, app.Namespace, p.in.Kinds)
		if r := ahead[id]; ok && r != nil && i < len(status.MangledObserverSchema) {
			more.Put(i, r)
			if known := record.ByID(status.Resources)[id]; known != nil {
				// Otherwise the next process would not remove the fields of the schema.
				known.Schema = schemaOrigin(r.Entry)
			}
		}
	}
	return status
}

// writeAheadRecord returns the record of a resource with the fields that it is about to get. It returns nil
// if all of them are recorded, or if the controller never removes fields of the resource.
func (res *resource) writeAheadRecord() *record.Record {
	r := res.previous
	// Under a user's schema, dropped fields are released and not removed. The next patch may add nothing.
	if !res.change.Writes() || res.restoresFirst || !res.policy.MayRemove() || !res.entry.FollowsManifest() || !res.hasRecord() {
		return nil
	}
	if !r.Entry.FollowsManifest() { // the user's schema was removed: the Application may remove all fields that it holds from now on
		return &record.Record{ID: r.ID, Desired: res.stored(), Entry: res.entry, Status: r.Status}
	}
	// Both states, because a crash can happen before or after the write.
	desired, more := mergeStates(res.kind, r.Desired, res.stored())
	if !more {
		return nil
	}
	// A copy: the previous record remains that of the plan.
	grown := *r
	grown.Desired = desired.(map[string]any)
	grown.Entry = res.entry.ForManifest(manifest.Object{ID: r.ID, APIVersion: manifest.NestedString(grown.Desired, "apiVersion"), Content: grown.Desired}).Typed(res.kind)
	grown.Entry.KeepSurplus(res.kind, grown.Desired, r.Entry, r.Desired)
	observer.KeepLearned(grown.Entry, res.entry)
	return &grown
}

// writeAheadInventory returns the inventory entries to write before the plan is executed: those of shared
// objects that the inventory does not have, and those with new baselines of fields that are about to be
// written. The UID of an object is in BaselineUID until the status records that the Application owns or holds the
// object.
func (p writeAhead) writeAheadInventory() (rows []v1alpha1.ResourceStatus) {
	for _, res := range p.resources {
		// An owned object without baselines is in the inventory or in the annotation already.
		if !res.change.Writes() || !res.policy.Claims && len(res.baseline)+len(res.unrecorded) == 0 {
			continue
		}
		// The rest of the previous entry is kept, because the object has not changed yet.
		row := v1alpha1.ResourceStatus{ResourceReference: reference(res.object.ID, res.object.APIVersion)}
		before := p.statuses[res.object.ID]
		if before != nil {
			row = *before
		}
		if res.policy.Claims {
			res.policy.Record(p.in.Application, &row)
		}
		if row.BaselineUID = ""; string(row.UID) != res.change.UID {
			row.BaselineUID = types.UID(res.change.UID)
		}
		row.Baseline, row.Unrecorded = slices.Concat(res.baseline, res.split, res.copies, res.letting.baseline, res.letting.awaited), slices.Concat(res.unrecorded, res.letting.unrecorded)
		// The status may already contain all of this, from a plan whose request failed.
		isOther := before == nil || before.Ownership != row.Ownership || before.UID != row.UID || before.BaselineUID != row.BaselineUID
		if isOther || !isKnown(before.Baseline, row.Baseline) || !isSubset(row.Unrecorded, before.Unrecorded) {
			rows = append(rows, row)
		}
	}
	return rows
}

// isSubset reports whether all strings of some are in all.
func isSubset(some, all []string) bool {
	return sets.New(all...).HasAll(some...)
}

// isKnown reports whether before contains all baselines of now, with the same original values and at least the same
// digests of held values.
func isKnown(before, now []v1alpha1.BaselineField) bool {
	return !slices.ContainsFunc(now, func(b v1alpha1.BaselineField) bool {
		return !slices.ContainsFunc(before, func(was v1alpha1.BaselineField) bool {
			return was.Path == b.Path && was.From == b.From && record.Original(was).Equal(record.Original(b)) && isSubset(b.Held, was.Held)
		})
	})
}

// upsertInventory replaces the inventory entries of the same objects with rows, and appends the other rows. It
// changes inventory in place.
func upsertInventory(inventory, rows []v1alpha1.ResourceStatus) []v1alpha1.ResourceStatus {
	for _, row := range rows {
		id := manifest.IDFromReference(row.ResourceReference)
		k := slices.IndexFunc(inventory, func(r v1alpha1.ResourceStatus) bool { return manifest.IDFromReference(r.ResourceReference) == id })
		if k < 0 {
			row.Health, row.Reason, row.Message = health.Unknown, v1alpha1.ReasonRetrying, id.String()+" is about to be held"
			inventory = append(inventory, row)
			continue
		}
		inventory[k] = row
	}
	return inventory
}
