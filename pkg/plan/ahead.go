package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
)

// WriteAheadStatus is the status to write before the plan is executed, or nil if there is no
// need: a request is about to write fields that are not on record. Should we die
// before the status says so, the next spec may not have them any more, and nobody
// would know that they are ours to remove. It is about what is on record; see
// Creating for what is not, but for names of which there are too many.
func (p *Plan) WriteAheadStatus() *v1alpha1.ApplicationStatus {
	ahead := map[manifest.ID]*record{}
	for _, res := range p.resources {
		if r := res.writeAheadRecord(); r != nil && !p.unrecorded(r.status) {
			ahead[res.object.ID] = r
		}
	}
	unnamed, shared := p.unnamed(), p.writeAheadInventory()
	if len(ahead) == 0 && len(unnamed) == 0 && len(shared) == 0 {
		return nil
	}
	app := p.in.Application
	status := app.Status.DeepCopy()
	status.Resources = upsertInventory(status.Resources, shared)
	for _, res := range unnamed {
		status.Resources = append(status.Resources, v1alpha1.ResourceStatus{
			ResourceReference: reference(res.object.ID, res.object.APIVersion), Health: healthNotFound,
			Reason: v1alpha1.ReasonRetrying, Message: res.object.ID.String() + " is about to be created",
		})
	}
	more := spareIn(status)
	for i, item := range status.LastAppliedManifest {
		content, err := decode(item)
		if err != nil {
			continue
		}
		id, ok := Identify(content, app.Namespace, p.in.Kinds)
		if r := ahead[id]; ok && r != nil && i < len(status.MangledObserverSchema) {
			more.put(i, r)
			for k := range status.Resources {
				if IDOf(status.Resources[k].ResourceReference) == id {
					status.Resources[k].Schema = v1alpha1.SchemaDefault
				}
			}
		}
	}
	return status
}

// writeAheadRecord is the record of a resource with the fields that it is about to get; nil if
// they are all on record, or none is ever removed.
func (res *resource) writeAheadRecord() *record {
	r := res.previous
	if !res.change.Writes() || !res.policy.mayRemove() || !res.entry.Default || r == nil || r.entry == nil {
		return nil
	}
	if !r.entry.Default { // the user's entry is given up: what is held from now on is ours to remove
		return &record{id: r.id, desired: res.stored(), entry: res.entry, status: r.status}
	}
	desired, more := mergeStates(res.kind, r.desired, res.stored())
	if !more {
		return nil
	}
	grown := *r
	grown.desired = desired.(map[string]any)
	grown.entry = res.entry.ForManifest(manifest.Object{ID: r.id, APIVersion: text(grown.desired, "apiVersion"), Content: grown.desired}).Typed(res.kind)
	grown.entry.KeepSurplus(res.kind, grown.desired, r.entry, r.desired)
	return &grown
}

// writeAheadInventory are the rows of the inventory that have to be written before the plan is
// executed: those of shared objects of which nothing is on record, and what fields were that
// are about to be written for the first time, or with another value. An object that is about
// to be adopted is not ours yet: its UID stands apart.
func (p *Plan) writeAheadInventory() (rows []v1alpha1.ResourceStatus) {
	for _, res := range p.resources {
		if !res.change.Writes() || !res.policy.claims && len(res.baseline)+len(res.unrecorded) == 0 {
			continue
		}
		row := v1alpha1.ResourceStatus{ResourceReference: reference(res.object.ID, res.object.APIVersion)}
		before := p.statuses[res.object.ID]
		if before != nil {
			row = *before
		}
		switch uid := types.UID(res.change.UID); {
		case res.policy.claims:
			row.Ownership, row.Origin = v1alpha1.OwnershipShare, ""
			if row.UID != uid { // it is not held before it is written
				row.BaselineUID = uid
			}
		case res.policy.adopts():
			row.BaselineUID = uid
		}
		row.Baseline, row.Unrecorded = slices.Concat(res.baseline, res.letting.baseline), slices.Concat(res.unrecorded, res.letting.unrecorded)
		isOther := before == nil || before.Ownership != row.Ownership || before.UID != row.UID || before.BaselineUID != row.BaselineUID
		if isOther || !isKnown(before.Baseline, row.Baseline) || !isSubset(row.Unrecorded, before.Unrecorded) {
			rows = append(rows, row)
		}
	}
	return rows
}

// isSubset reports whether all of some paths are among others.
func isSubset(some, all []string) bool {
	return !slices.ContainsFunc(some, func(path string) bool { return !slices.Contains(all, path) })
}

// isKnown reports whether all that is to be on record is there already.
func isKnown(before, now []v1alpha1.BaselineField) bool {
	return !slices.ContainsFunc(now, func(b v1alpha1.BaselineField) bool {
		return !slices.ContainsFunc(before, func(was v1alpha1.BaselineField) bool {
			return was.Path == b.Path && was.From == b.From && baselineValue(was).Equal(baselineValue(b)) &&
				!slices.ContainsFunc(b.Held, func(held string) bool { return !slices.Contains(was.Held, held) })
		})
	})
}

// upsertInventory is an inventory with rows in the place of those of the same objects, or at its
// end.
func upsertInventory(inventory, rows []v1alpha1.ResourceStatus) []v1alpha1.ResourceStatus {
	for _, row := range rows {
		id := IDOf(row.ResourceReference)
		k := slices.IndexFunc(inventory, func(r v1alpha1.ResourceStatus) bool { return IDOf(r.ResourceReference) == id })
		if k < 0 {
			row.Health, row.Reason, row.Message = healthUnknown, v1alpha1.ReasonRetrying, id.String()+" is about to be held"
			inventory = append(inventory, row)
			continue
		}
		inventory[k] = row
	}
	return inventory
}
