package plan

import (
	"fmt"
	"slices"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/record"
	"holdfast.dev/holdfast/pkg/writer"
)

// prune decides about the resources that are no longer desired, and sets the pruneSet of the plan. The deletion of an
// Application is not limited by spec.maxDeletions.
func (p *Plan) prune(desired map[manifest.ID]bool, records map[manifest.ID]*record.Record) {
	pruner := &pruner{facts: &p.facts}
	pruner.prune(desired, records)
	if !p.retiring {
		pruner.limitDeletions()
	}
	p.pruneSet = pruner.pruneSet
	for _, text := range pruner.warnings {
		p.warn(text)
	}
}

// prune decides the resources that are no longer desired: those in the inventory, and those with the tracking
// metadata of the Application.
func (p *pruner) prune(desired map[manifest.ID]bool, records map[manifest.ID]*record.Record) {
	seen := map[manifest.ID]bool{}
	for _, status := range p.in.Application.Status.Resources {
		id := manifest.IDFromReference(status.ResourceReference)
		if !desired[id] && !seen[id] {
			seen[id] = true
			p.pruneOne(id, status, records[id])
		}
	}
	others := map[manifest.ID]map[string]any{}
	for id, live := range p.in.Live {
		if !desired[id] && !seen[id] && p.in.Application.UID != "" && claim.IsTrackedBy(p.in.Application, id, live) {
			others[id] = live
		}
	}
	// Sorted, so that equal inputs give equal plans.
	for _, id := range manifest.SortedIDs(others) {
		live := others[id]
		// Any client can write tracking metadata. Only the annotation of the Application proves a create of its own.
		if !p.isNamed(id) {
			p.warnings = append(p.warnings, fmt.Sprintf("%s has the tracking metadata of this Application, but is not in its inventory: "+
				"it is not changed. Remove its label %s", id, v1alpha1.LabelApplicationUID))
			continue
		}
		p.pruneOne(id, v1alpha1.ResourceStatus{
			ResourceReference: reference(id, manifest.NestedString(live, "apiVersion")),
		}, records[id])
	}
}

// pruneOne decides about one resource and adds it to the set that fits the decision. r is its record, or nil.
func (p *pruner) pruneOne(id manifest.ID, status v1alpha1.ResourceStatus, r *record.Record) {
	old := &pruneCandidate{id: id, status: status, previous: r, policy: p.policyOnRecord(id, status)}
	p.decideCandidate(old, p.in.Live[id])
	if !p.retiring {
		for _, stays := range old.letting.kept {
			p.warnings = append(p.warnings, stays.String())
		}
	}
	if p.hasBegun(old) {
		p.deletions.begun = append(p.deletions.begun, old)
	}
	switch {
	case old.change.Writes() || old.change.Problem != nil:
		p.pruned = append(p.pruned, old)
	// It is no longer held, so nothing is left to do. The event lists the fields that keep their values.
	case old.policy.Claims:
		p.unrestored = append(p.unrestored, old.letting.kept...)
	case old.live == nil && status.UID != "":
		p.gone = append(p.gone, old)
	}
}

// Removed returns the resources in the inventory that are no longer desired and no longer exist. The steps after
// their deletion are still pending. An Outcome with a Problem keeps a resource in the inventory. Shared objects are
// not among them, because Holdfast does not delete those.
func (p *Plan) Removed() []manifest.ID {
	ids := make([]manifest.ID, len(p.gone))
	for i, old := range p.gone {
		ids[i] = old.id
	}
	return ids
}

// decideCandidate decides whether a resource that is no longer desired is deleted or released. Without a
// change and without a Problem it is removed from the inventory: it does not exist, does not belong to the
// Application, or has no tracking metadata.
func (p *pruner) decideCandidate(old *pruneCandidate, live map[string]any) {
	old.live = live
	old.change = Change{Action: Unchanged, ID: old.id, APIVersion: old.status.APIVersion, Prune: true, Shared: old.policy.Claims, pruned: old}
	blocked := p.in.Blocked[old.id]
	switch {
	case blocked != nil && blocked.Disposition() == v1alpha1.DispositionInstall:
		// the kind was removed, and its objects with it
	case blocked != nil && old.neverExisted(blocked):
	case blocked != nil:
		old.change.Problem = blocked
	case old.live == nil || !old.policy.Claims && !claim.IsOwned(p.in.Application, old.id, &old.status, old.live):
	// Before the check for a deletion in progress: releaseObject skips such an object.
	case old.policy.Claims || p.orphaned(old):
		p.releaseObject(old)
	case manifest.NestedString(old.live, "metadata", "deletionTimestamp") != "":
		old.change.Problem = p.terminatingProblem(old.policy, old.id, old.live)
	default:
		old.change.Action = Delete
		// Both become preconditions of the delete, so that a replaced or adopted object remains.
		old.change.UID = manifest.NestedString(old.live, "metadata", "uid")
		old.change.ResourceVersion = manifest.NestedString(old.live, "metadata", "resourceVersion")
	}
}

// MayExist reports whether a resource in the inventory may exist, according to its inventory entry: it had a
// live object, or was about to be held or adopted, or the response to its create may be lost.
func MayExist(status v1alpha1.ResourceStatus) bool {
	return status.UID != "" || status.BaselineUID != "" || v1alpha1.InfoForReason(status.Reason).Uncertain
}

// neverExisted reports whether a resource that cannot be processed cannot exist, because it could not be
// created, for a permanent reason.
func (old *pruneCandidate) neverExisted(blocked *Problem) bool {
	if old.live != nil || !blocked.Stalled() || blocked.Disposition() == v1alpha1.DispositionGiveUp {
		return false
	}
	return !MayExist(old.status)
}

// orderedChanges returns the changes in the order of execution: desired resources by stage, then the others in
// reverse order.
func orderedChanges(resources []*resource, pruned []*pruneCandidate) []Change {
	changes := make([]Change, 0, len(resources)+len(pruned))
	for _, res := range manifest.InOrder(resources, func(res *resource) manifest.ID { return res.object.ID }) {
		changes = append(changes, res.change)
	}
	for _, old := range slices.Backward(manifest.InOrder(pruned, func(old *pruneCandidate) manifest.ID { return old.id })) {
		changes = append(changes, old.change)
	}
	return changes
}

// orphaned reports whether an object that is no longer desired is orphaned. The client that deleted the
// Application has precedence, then the annotation in the manifest, then spec.deletionPolicy. An adopted object
// is orphaned unless spec.adoptedDeletionPolicy is Delete.
// Source: docs/semantics.md, "Who writes" and "Suspending and deleting".
func (p *pruner) orphaned(old *pruneCandidate) bool {
	if p.retiring && claim.IsCascadeOrphan(p.in.Application) {
		return true
	}
	policy := manifest.NestedString(old.live, "metadata", "annotations", v1alpha1.AnnotationDeletionPolicy)
	// The record has what the manifest set. The live annotation may be of another client.
	if old.previous != nil {
		policy = manifest.NestedString(old.previous.Desired, "metadata", "annotations", v1alpha1.AnnotationDeletionPolicy)
	}
	spec := p.in.Application.Spec
	switch {
	case policy != "":
	case p.retiring && spec.DeletionPolicy == v1alpha1.DeletionOrphan:
		return true
	case claim.WasAdopted(p.in.Application, &old.status, old.live):
		return spec.AdoptedDeletionPolicy != v1alpha1.DeletionDelete
	}
	return policy == string(v1alpha1.DeletionOrphan)
}

// releaseObject plans the removal of the tracking metadata, and the restoration of original values. It skips an
// object that is being deleted.
func (p *pruner) releaseObject(old *pruneCandidate) {
	app, live := p.in.Application, old.live
	if manifest.NestedString(live, "metadata", "deletionTimestamp") != "" {
		return
	}
	old.letting = releasePass{p.facts}.releaseFields(fieldReleaser{
		policy: old.policy, removesTracking: old.policy.Claims || claim.IsHeldByOthers(app, live),
		id: old.id, kind: p.in.Kinds.Type(old.change.GVK()), live: live, unrecordedLeaves: record.Unrecorded(&old.status, live),
	}, record.Baseline(&old.status, live))
	if old.change.Problem = old.letting.awaitProblem(old.id); old.change.Problem != nil {
		return
	}
	// A shared object only has the tracking metadata of an owner if it was owned before.
	tracking := claim.Removals(live, claim.TrackingKeys)
	if old.policy.Claims {
		tracking = formerTracking(app, old.policy, live)
	}
	fields := slices.Concat(old.letting.restored, tracking, old.letting.metadata)
	// Nothing of the Application is in the object, so it is removed from the inventory without a request.
	if len(fields) == 0 {
		return
	}
	old.change.Action, old.change.Fields = Update, fields
	old.change.ReadFirst = old.letting.needsManagedFields && writer.ForeignTo(app, live) == nil
	old.change.UID, old.change.ResourceVersion = manifest.NestedString(live, "metadata", "uid"), manifest.NestedString(live, "metadata", "resourceVersion")
	old.change.Guards, old.change.Patch = delta.Comparison{Differences: fields}.Patch(old.change.UID, old.change.ResourceVersion)
}

// isNamed reports whether the annotation holdfast.dev/creating names an object that is not in the inventory.
func (p *pruner) isNamed(id manifest.ID) bool {
	app := p.in.Application
	return record.ReadPendingCreates(app.Annotations[v1alpha1.AnnotationCreating]).Has(id)
}
