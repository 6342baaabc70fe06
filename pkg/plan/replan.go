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
// The plan does not change: the caller stores the new change in the Outcome of the resource. For an object that
// is not in the plan, Replan returns an unchanged one.
func (p *Plan) Replan(id manifest.ID, live map[string]any, refused ...RejectedLeaf) Change {
	// A shallow copy: only the memory differs, and deciders have the facts of the copy.
	now := *p
	now.in.Memory = p.in.Memory.with(refused)
	for _, res := range p.resources {
		if res.object.ID != id {
			continue
		}
		// The first decision may have raised list maximums, learned values, or kept the last-applied state.
		again := res.fresh()
		decider{&now.facts}.decide(again, live)
		again.dropBaselines(res.unrecorded)
		again.recordFirst(res, p.statuses[id])
		return again.change
	}
	for _, old := range p.pruned {
		if old.id == id {
			// limitDeletions is not repeated: whether deletions are confirmed was decided for the whole plan.
			old = &pruneCandidate{id: old.id, status: old.status, previous: old.previous, policy: old.policy}
			(&pruner{facts: &now.facts}).decideCandidate(old, live)
			return old.change
		}
	}
	return Change{Action: Unchanged, ID: id}
}

// recordFirst defers the change of an object if it needs baselines that the status did not record before
// this plan was executed. Baselines are recorded before the first write, because a crash after it would lose the
// original values. planned is the resource as the plan has it.
func (res *resource) recordFirst(planned *resource, status *v1alpha1.ResourceStatus) {
	known := record.Baseline(status, res.live)
	// The write-ahead status contains the planned baselines, but they only apply to the object with that UID.
	if planned.change.UID == res.change.UID {
		known = slices.Concat(known, planned.baseline, planned.letting.baseline)
	}
	if !res.change.Writes() || isKnown(known, res.baseline) {
		return
	}
	// The next plan records the baselines of this object, and then changes it.
	res.change.Action, res.change.Guards, res.change.Patch = Unchanged, nil, nil
	res.problem = &Problem{Reason: v1alpha1.ReasonRetrying, Message: res.object.ID.String() + " has changed before it was held"}
	res.change.Problem = res.problem
}
