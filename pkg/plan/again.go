package plan

import (
	"slices"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/record"
)

// Replan decides one resource again, given the live object that was found while the plan was executed: a
// create met an object of that name, or a guard failed because another client was faster. live is nil if
// there is no object. refused are the leaves that the API server has rejected since: see
// Plan.RecordRejection and Plan.Reject.
//
// The plan does not change: the caller stores the new change in the Outcome of the resource.
func (p *Plan) Replan(id manifest.ID, live map[string]any, refused ...RejectedLeaf) Change {
	now := *p
	now.in.Memory = p.in.Memory.with(refused)
	for _, res := range p.resources {
		if res.object.ID != id {
			continue
		}
		again := res.fresh()
		decider{&now.facts}.decide(again, live)
		again.dropBaselines(res.unrecorded)
		again.recordFirst(res, p.statuses[id])
		return again.change
	}
	for _, old := range p.pruned {
		if old.id == id {
			old = &pruneCandidate{id: old.id, status: old.status, previous: old.previous, policy: old.policy}
			(&pruner{facts: &now.facts}).decideCandidate(old, live)
			return old.change
		}
	}
	return Change{Action: Unchanged, ID: id}
}

// recordFirst defers the change of an object if it needs baselines that the status did not record before
// this plan was executed, because baselines are recorded before the first write.
func (res *resource) recordFirst(planned *resource, status *v1alpha1.ResourceStatus) {
	known := record.Baseline(status, res.live)
	if planned.change.UID == res.change.UID {
		known = slices.Concat(known, planned.baseline, planned.letting.baseline)
	}
	if !res.change.Writes() || isKnown(known, res.baseline) {
		return
	}
	res.change.Action, res.change.Guards, res.change.Patch = Unchanged, nil, nil
	res.problem = &Problem{Reason: v1alpha1.ReasonRetrying, Message: res.object.ID.String() + " has changed before it was held"}
	res.change.Problem = res.problem
}
