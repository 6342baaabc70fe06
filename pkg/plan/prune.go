package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
)

// prune finds what is on record, or carries our marks, and is not desired.
func (p *Plan) prune(inventory []v1alpha1.ResourceStatus, desired map[manifest.ID]bool, records map[manifest.ID]*record) {
	seen := map[manifest.ID]bool{}
	for _, status := range inventory {
		id := IDOf(status.ResourceReference)
		if !desired[id] && !seen[id] {
			seen[id] = true
			p.pruneOne(id, status, records[id])
		}
	}
	others := map[manifest.ID]map[string]any{}
	for id, live := range p.in.Live {
		if !desired[id] && !seen[id] && p.in.Application.UID != "" && IsTrackedBy(p.in.Application, id, live) {
			others[id] = live
		}
	}
	for _, id := range sortedIDs(others) {
		live := others[id]
		if !p.isNamed(id) {
			p.warn(fmt.Sprintf("%s carries the marks of this Application, and nothing on record says that it is its own: "+
				"it is left alone. Remove its label %s", id, v1alpha1.LabelApplicationUID))
			continue
		}
		p.pruneOne(id, v1alpha1.ResourceStatus{
			ResourceReference: reference(id, text(live, "apiVersion")),
		}, records[id])
	}
}

func (p *Plan) pruneOne(id manifest.ID, status v1alpha1.ResourceStatus, r *record) {
	old := &pruneCandidate{id: id, status: status, previous: r, policy: p.policyOnRecord(id, status)}
	p.decideCandidate(old, p.in.Live[id])
	if !p.retiring {
		for _, stays := range old.letting.kept {
			p.warn(stays.String())
		}
	}
	switch {
	case old.change.Writes() || old.change.Problem != nil:
		p.pruned = append(p.pruned, old)
	case old.policy.claims:
		p.unrestored = append(p.unrestored, old.letting.kept...)
	case old.live == nil && status.UID != "":
		p.gone = append(p.gone, old)
	}
}

// Gone are the resources on record that are no longer desired and have gone since:
// what comes after a deletion is still to be done. An Outcome with a Problem keeps
// one on record.
func (p *Plan) Gone() []manifest.ID {
	ids := make([]manifest.ID, len(p.gone))
	for i, old := range p.gone {
		ids[i] = old.id
	}
	return ids
}

// decideCandidate decides what becomes of a resource that is no longer desired. Without a
// change and without a problem it is forgotten: it is gone, or not ours, or left
// without our marks.
func (p *Plan) decideCandidate(old *pruneCandidate, live map[string]any) {
	old.live = live
	old.change = Change{Action: Unchanged, ID: old.id, APIVersion: old.status.APIVersion, Prune: true, Shared: old.policy.claims, pruned: old}
	blocked := p.in.Blocked[old.id]
	switch {
	case blocked != nil && blocked.Disposition() == v1alpha1.DispositionInstall:
		// the kind is gone, and its objects with it
	case blocked != nil && old.neverExisted(blocked):
	case blocked != nil:
		old.change.Problem = blocked
	case old.live == nil || !old.policy.claims && !isOwned(p.in.Application, old.id, &old.status, old.live):
	case old.policy.claims || p.orphaned(old):
		p.releaseObject(old)
	case text(old.live, "metadata", "deletionTimestamp") != "":
		old.change.Problem = p.terminatingProblem(old.policy, old.id, old.live)
	default:
		old.change.Action = Delete
		old.change.UID = text(old.live, "metadata", "uid")
		old.change.ResourceVersion = text(old.live, "metadata", "resourceVersion")
	}
}

// MayExist reports whether a resource on record may be in the cluster, as far as the
// record says: it has been seen there, or perhaps nobody has seen the answer to its create.
func MayExist(status v1alpha1.ResourceStatus) bool {
	return status.UID != "" || v1alpha1.InfoForReason(status.Reason).Uncertain
}

// neverExisted reports whether nothing can be there of a resource that cannot be acted on: it
// could not be created, for a reason that is not only of that moment.
func (old *pruneCandidate) neverExisted(blocked *Problem) bool {
	if old.live != nil || !blocked.Stalled() || blocked.Disposition() == v1alpha1.DispositionGiveUp {
		return false
	}
	return !MayExist(old.status)
}

// order lists the changes as they are executed.
func (p *Plan) order() {
	p.Changes = make([]Change, 0, len(p.resources)+len(p.pruned))
	for _, res := range manifest.InOrder(p.resources, func(res *resource) manifest.ID { return res.object.ID }) {
		p.Changes = append(p.Changes, res.change)
	}
	for _, old := range reversed(p.pruned) {
		p.Changes = append(p.Changes, old.change)
	}
}

// reversed is the order in which resources are deleted. The inventory keeps its
// own, or it would be turned round with each status.
func reversed(resources []*pruneCandidate) []*pruneCandidate {
	ordered := slices.Clone(resources)
	slices.Reverse(ordered)
	slices.SortStableFunc(ordered, func(a, b *pruneCandidate) int {
		return manifest.Stage(b.id.GroupKind()) - manifest.Stage(a.id.GroupKind())
	})
	return ordered
}

func sortedIDs[V any](all map[manifest.ID]V) []manifest.ID {
	return slices.SortedFunc(maps.Keys(all), func(a, b manifest.ID) int {
		return strings.Compare(a.String(), b.String())
	})
}

// orphaned reports whether an object that is no longer desired stays: its manifest
// said so, or whoever deleted the Application did; or else spec.deletionPolicy does; or else
// it was there before us, and spec.adoptedDeletionPolicy does not say otherwise.
func (p *Plan) orphaned(old *pruneCandidate) bool {
	if p.retiring && isCascadeOrphan(p.in.Application) {
		return true
	}
	policy := text(old.live, "metadata", "annotations", v1alpha1.AnnotationDeletionPolicy)
	if old.previous != nil {
		policy = text(old.previous.desired, "metadata", "annotations", v1alpha1.AnnotationDeletionPolicy)
	}
	spec := p.in.Application.Spec
	switch {
	case policy != "":
	case p.retiring && spec.DeletionPolicy == v1alpha1.DeletionOrphan:
		return true
	case wasAdopted(p.in.Application, &old.status, old.live):
		return spec.AdoptedDeletionPolicy != v1alpha1.DeletionDelete
	}
	return policy == string(v1alpha1.DeletionOrphan)
}

// releaseObject plans the removal of the tracking metadata, and what released fields get back. An
// object that is being deleted is left to that.
func (p *Plan) releaseObject(old *pruneCandidate) {
	app, live := p.in.Application, old.live
	if text(live, "metadata", "deletionTimestamp") != "" {
		return
	}
	old.letting = p.releaseFields(fieldReleaser{
		policy: old.policy, removesTracking: old.policy.claims || isHeldByOthers(app, live),
		id: old.id, kind: p.in.Kinds.Type(gvkOf(old.id, old.status.APIVersion)), live: live, unrecordedLeaves: unrecordedPaths(&old.status, live),
	}, recordedBaseline(&old.status, live))
	tracking := removals(live, trackingKeys)
	if old.policy.claims {
		tracking = formerTracking(app, old.policy, live)
	}
	fields := slices.Concat(old.letting.restored, tracking, old.letting.metadata)
	if len(fields) == 0 {
		return
	}
	old.change.Action, old.change.Fields = Update, fields
	old.change.ReadFirst = old.letting.needsManagedFields && foreignTo(app, live) == nil
	old.change.UID, old.change.ResourceVersion = text(live, "metadata", "uid"), text(live, "metadata", "resourceVersion")
	old.change.Guards, old.change.Patch = delta.Comparison{Differences: fields}.Patch(old.change.UID, old.change.ResourceVersion)
}
