package plan

import (
	"cmp"
	"fmt"
	"slices"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/writer"
)

// decide decides the change of one desired resource, given its live object; nil if there is none. The result is in
// res.change. The resource must be fresh: a second decision of it would start from the raised list maximums.
func (p decider) decide(res *resource, live map[string]any) {
	id := res.object.ID
	// Before anything else, because this replaces the manifest and the schema.
	if p.in.Memory.RejectedChanges[id] != nil && live != nil {
		p.keepLast(res, live)
	}
	res.policy, res.problem = p.withLive(claim.DesiredPolicy(p.in.Application, res.object.Ownership), id, live)
	res.change = Change{Action: Unchanged, Shared: res.policy.Claims, ID: id, APIVersion: res.object.APIVersion, resource: res}
	// The record of a create applies only to an object of the Application, not to one that it is about to adopt.
	res.computeDesired(res.policy.Claims || live != nil && res.policy.Writes && (!res.policy.Adopts() || res.policy.Reclaimed))
	res.problem = cmp.Or(res.problem, p.sourceProblem(id))
	switch {
	case live == nil:
		p.decideAbsent(res)
	case res.problem != nil:
	// A patch could succeed, but the object disappears with it.
	case manifest.NestedString(live, "metadata", "deletionTimestamp") != "":
		res.live = live
		res.problem = p.terminatingProblem(res.policy, id, live)
	default:
		res.live = live
		p.decideLive(res)
	}
	comparer(p).compareOnly(res, live)
	res.change.Problem = res.problem
}

// decideAbsent decides the change of a resource whose object does not exist. The order of the cases is the order of
// precedence of the reasons not to create it.
func (p decider) decideAbsent(res *resource) {
	id := res.object.ID
	res.problem = cmp.Or(p.in.Blocked[id], res.problem)
	switch {
	case res.problem != nil:
	case !res.policy.Creates:
		res.problem = intent.Problemf(v1alpha1.ReasonWaiting, "%s does not exist; it is shared, so it is not created", id)
	case p.isDone(res):
		res.done, res.change.Done = true, true
	case p.awaitsObject(manifest.Stage(id.GroupKind())):
		res.problem = intent.Problemf(v1alpha1.ReasonWaiting, "%s is created when %s is current", id, p.awaited)
	case p.in.Memory.HeldBack(res.leaf(), p.in.Now):
		res.problem = p.recreationProblem(res)
	default:
		p.create(res)
	}
}

// decideLive decides the change of a resource whose object exists.
func (p decider) decideLive(res *resource) {
	id, live := res.object.ID, res.live
	res.change.UID = manifest.NestedString(live, "metadata", "uid")
	res.change.ResourceVersion = manifest.NestedString(live, "metadata", "resourceVersion")
	if res.seen, res.problem = p.see(&p.hooks.ResourceObserved, res, live); res.problem != nil {
		return
	}
	p.findServerElements(res)
	res.judged = true
	p.correct(res)
	// The object is compared nevertheless, so that drift is reported and the records remain.
	if blocked := p.in.Blocked[id]; blocked != nil {
		res.problem = blocked
		res.change.Action, res.change.Guards, res.change.Patch, res.change.ReadFirst = Unchanged, nil, nil, false
	}
}

// findServerElements finds the elements and keys of the live object that are kept although the manifest
// does not have them: those that the API server added, and, when the object is adopted or fields of it are
// released, all.
func (p decider) findServerElements(res *resource) {
	status := p.statuses[res.object.ID]
	switch {
	case !res.policy.Removes:
	case res.isNewlyAdopted(status):
		res.entry.FindSurplus(res.kind, res.desired, res.live)
	// The live object counts as the response to a create whose response was lost.
	case p.unrecorded(status), res.previous == nil && !res.policy.Adopts() && p.in.Application.UID != "":
		res.recordServerElements(res.live)
	case p.releasesFields(res):
		res.entry.FindSurplus(res.kind, res.desired, res.live)
	}
}

// recordServerElements records the elements that the API server added to the lists of an object when this
// Application created it. It compares the live object with the state that was sent, if that is known. Keys
// that were added to closed maps are not recorded, because a live object does not show who added them. The
// response to their removal does.
func (res *objectState) recordServerElements(live map[string]any) {
	r := res.previous
	res.unanswered = true
	if r == nil || !r.Created {
		res.entry.RaiseSurplus(res.kind, res.desired, live)
		return
	}
	// Elements beyond the state that was sent came from the API server. Those that only the new manifest lacks did not.
	before := r.Entry.Copy()
	before.FindSurplus(res.kind, r.Desired, live)
	res.entry.KeepSurplus(res.kind, res.desired, before, r.Desired)
}

// keepServerKeys keeps the keys that the API server added to closed maps in its response to a write. It
// skips keys that another client wrote, and keys whose removal is deferred. If the response has no managedFields,
// no key counts as written by another client.
func (res *resource) keepServerKeys(app *v1alpha1.Application, answer map[string]any) {
	foreign := writer.ForeignTo(app, answer)
	res.entry.KeepServerKeys(res.kind, res.desired, answer, func(path *observer.Path) bool {
		isHeldBack := slices.ContainsFunc(res.change.Fields, func(d delta.Difference) bool { return d.HeldBack && d.Path == path.String() })
		return !isHeldBack && (foreign == nil || !foreign(path))
	})
}

// computeDesired computes the desired state from the manifest and the record. A record from before the
// create only counts if the object exists.
func (res *objectState) computeDesired(exists bool) {
	var previous map[string]any
	res.entry = res.rendered.Raisable()
	if r := res.previous; r != nil && (exists || !r.Created) {
		previous = r.Desired
		// Server-added elements and keys are kept only for whole objects: lists of shared objects have no maximum.
		if res.policy.Creates {
			res.entry.KeepSurplus(res.kind, res.object.Content, r.Entry, previous)
			res.entry.KeepKeys(res.kind, res.object.Content, r.Entry, previous)
		}
	}
	res.desired = res.entry.Desired(res.kind, res.object.Content, visibleOf(res.object.ID, previous))
}

// create decides to create an object. The body has free fields and learned values, too. Fallback is set only if the
// body has learned values, because the API server may then accept the manifest without them.
func (p decider) create(res *resource) {
	marks := claim.Tracking(p.in.Application, res.object.ID)
	res.change.Action, res.change.Manifest = Create, observer.MarkedObject(res.desired, marks)
	if !intent.IsSameContent(res.desired, res.object.Content) && !observer.Equal(res.desired, res.object.Content) {
		res.change.Fallback = observer.MarkedObject(res.object.Content, marks)
	}
}

// correct decides what is written to the live object: first the original values of released fields, then
// the correction of drift. Its steps depend on each other:
//
//  1. claims: which fields the Application holds
//  2. removals of fields that hooks no longer add
//  3. the release of fields that are no longer held
//  4. the comparison, without the fields that 1 and 3 decide
//  5. baselines of the fields that the patch writes for the first time
//  6. the Problem, and the patch
func (p decider) correct(res *resource) {
	app, id := p.in.Application, res.object.ID
	p.assignFields(res)
	withdrawn := delta.Comparison{Differences: p.withdrawn(res)}
	released := delta.Comparison{Differences: releasePass(p).release(res, withdrawn.Correctable())}
	res.compared = comparer(p).compare(res, res.live)
	releasePass(p).reportLeft(res)
	res.drift = res.compared.Differences
	overlaps := func(d delta.Difference) bool { return res.hasDriftAt(d.Path) }
	if withdrawn.Correctable() || released.Correctable() && (!res.prunes() || slices.ContainsFunc(released.Differences, overlaps)) {
		// The patch only removes and restores. If a leaf changes its type, the old fields are restored before the new
		// ones are written.
		res.compared.Differences, res.restoresFirst = nil, true // the next patch corrects the others
	}
	// Baselines depend on the differences that remain, so they are recorded after the release.
	if p.recordsBaselines(res) {
		baselinePass(p).recordBaselines(res)
		for _, left := range res.letting.baseline {
			if res.entry.Released(left.Path) == observer.ReleasedLeave {
				res.keepLeftParents(left.Path)
			}
		}
	}
	res.baseline = append(res.baseline, res.releasesNext...)
	res.compared.Differences = slices.Concat(released.Differences, res.compared.Differences, withdrawn.Differences, formerTracking(app, res.policy, res.live))
	res.warnOfComparison()
	res.change.Fields = res.compared.Differences
	res.problem = cmp.Or(res.claimProblem(), p.rejected(res, res.compared), p.leftOverProblem(id, res.compared), res.newElementProblem(res.live, res.compared))
	p.decidePatch(res)
}

// decidePatch decides which patch corrects the differences of a resource, and whether it is sent now. It is not sent
// without tracking metadata that it must write first, without a correctable difference, and without the statuses of
// all holders.
func (p decider) decidePatch(res *resource) {
	app, id := p.in.Application, res.object.ID
	// Watches drop managedFields, so a removal that depends on writers needs a read of the object.
	unsure := res.compared.NeedsManagedFields || res.letting.needsManagedFields && writer.ForeignTo(app, res.live) == nil
	res.change.ReadFirst = unsure && res.policy.Removes
	// Adopting is writing the tracking metadata. Without it, nothing else may be written.
	if res.policy.Adopts() {
		if waits, problem := p.deferTracking(res); waits {
			res.problem = cmp.Or(res.problem, problem)
			return
		}
	}
	if !res.compared.Correctable() {
		return
	}
	// The status of a new holder decides about its claims, and it was not gathered yet.
	if holder := p.unknownHolder(res.live); holder != "" && res.policy.Claims {
		res.problem = &Problem{Reason: v1alpha1.ReasonRetrying, Message: fmt.Sprintf("%s: Application %s now holds fields of it", id, holder)}
		return
	}
	res.change.Action = Update
	res.change.Guards, res.change.Patch = res.compared.Patch(res.change.UID, res.change.ResourceVersion)
	// A claim can be written next to those of others, but an owned object must still be owned.
	if !res.policy.Claims {
		res.change.Guards = append(res.change.Guards, p.ownership(res)...)
	}
	res.change.ReadFirst = unsure || p.needsContender(res)
}

// warnOfComparison adds the warnings of the comparison to those of the resource.
func (res *resource) warnOfComparison() {
	for _, w := range res.compared.Warnings {
		res.warn(w)
	}
	if res.policy.Claims && res.policy.Restores && slices.ContainsFunc(res.leaves, func(leaf string) bool { return secretPath(res.object.ID, leaf) }) {
		res.warn("values of Secrets are never recorded, so they are kept when they are released")
	}
}

// assignFields decides which fields the Application holds, because another Application may have claimed
// some of them.
func (p decider) assignFields(res *resource) {
	app, id := p.in.Application, res.object.ID
	switch {
	case res.policy.Claims:
		// An Application that the object names has decided about its fields already.
		res.deferredTo = claim.FirstUnnamed(p.in.Precedence[id], res.live)
		claimPass(p).excludeClaimed(res, res.entry.Leaves(res.kind, res.desired), nil)
		// The annotation may be lost, so the status decides, too, whether this is the first write.
		res.policy.Begins = !res.own.Holds() && !slices.ContainsFunc(res.leaves, func(path string) bool { return p.wasHeld(res, path) })
	// An owned object that others share. Without this case, leaves is not set, and no field counts as claimed.
	case claim.IsHeldByOthers(app, res.live), p.statuses[id] != nil && len(p.statuses[id].WaitsFor) > 0:
		claimPass(p).excludeClaimed(res, res.entry.Leaves(res.kind, res.desired), res.entry.Empty(res.kind, res.desired))
	}
}

// warn adds a warning about the resource, once.
func (res *resource) warn(text string) {
	if text = res.object.ID.String() + ": " + text; !slices.Contains(res.warnings, text) {
		res.warnings = append(res.warnings, text)
	}
}

// needsContender reports whether the object has to be read to find the writer of a leaf that is contested,
// or will be with its next correction.
func (p decider) needsContender(res *resource) bool {
	if _, known := p.in.ObservedWrites[res.object.ID]; known || writer.ForeignTo(p.in.Application, res.live) != nil {
		return false
	}
	return slices.ContainsFunc(res.compared.Differences, func(d delta.Difference) bool {
		return !d.HeldBack && p.in.Memory.nearlyContested(Leaf{res.object.ID, d.Path}, p.in.ContestPolicy)
	})
}

// leftOverProblem returns the Problem of drift that the comparison leaves uncorrected, or nil. A rejection has
// precedence over a short list, and that over a value outside of its rule.
func (p decider) leftOverProblem(id manifest.ID, compared delta.Comparison) *Problem {
	return cmp.Or(p.refusal(id, compared),
		comparisonProblem(v1alpha1.ReasonListTooShort, id, compared.TooShort, ""),
		comparisonProblem(v1alpha1.ReasonOutsideRule, id, compared.Outside, "; the manifest has no allowed value to write"))
}

// comparisonProblem returns the Problem of the messages of a comparison, or nil if there are none. suffix completes the
// message.
func comparisonProblem(reason string, id manifest.ID, messages []string, suffix string) *Problem {
	if len(messages) == 0 {
		return nil
	}
	problem := intent.Problemf(reason, "%s: %s%s", id, intent.FirstTexts(messages, "; "), suffix)
	problem.FromComparison = true
	return problem
}
