package plan

import (
	"slices"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
)

// Replan decides one resource again, given the live object that was found while
// the plan was being executed: a create met an object of that name, or a guard
// failed because another client was faster. live is nil if there is none. refused are
// the leaves of it that the API server has refused meanwhile: see Refuse.
//
// The plan stays as it was: the Outcome of the resource carries the change.
func (p *Plan) Replan(id manifest.ID, live map[string]any, refused ...RejectedLeaf) Change {
	now := *p
	now.in.Memory = p.in.Memory.with(refused)
	for _, res := range p.resources {
		if res.object.ID != id {
			continue
		}
		again := res.fresh()
		now.decide(again, live)
		again.dropBaselines(res.unrecorded)
		again.recordFirst(res, p.statuses[id])
		return again.change
	}
	for _, old := range p.pruned {
		if old.id == id {
			old = &pruneCandidate{id: old.id, status: old.status, previous: old.previous, policy: old.policy}
			now.decideCandidate(old, live)
			return old.change
		}
	}
	return Change{Action: Unchanged, ID: id}
}

// recordFirst has an object wait whose fields are not any more what was written down before
// this plan was executed: that comes first.
func (res *resource) recordFirst(planned *resource, status *v1alpha1.ResourceStatus) {
	known := recordedBaseline(status, res.live)
	if planned.change.UID == res.change.UID {
		known = slices.Concat(known, planned.baseline, planned.letting.baseline)
	}
	if !res.change.Writes() || isKnown(known, res.baseline) {
		return
	}
	res.change.Action, res.change.Guards, res.change.Patch = Unchanged, nil, nil
	res.problem = &Problem{Reason: v1alpha1.ReasonRetrying, Message: res.object.ID.String() + " has changed while it was about to be held"}
	res.change.Problem = res.problem
}
