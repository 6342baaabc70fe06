package plan

import (
	"cmp"
	"slices"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// sharedDecision is what is done to a shared object. It has no word for making or ending one:
// whatever is decided here patches an object that is there, or leaves it alone.
type sharedDecision struct {
	uid, resourceVersion string
	compared             delta.Comparison
	readFirst            bool
	blocked              bool
}

// change is a holding as part of a plan.
func (h sharedDecision) change(id manifest.ID, apiVersion string) Change {
	c := Change{
		Action: Unchanged, Shared: true, ID: id, APIVersion: apiVersion, UID: h.uid, ResourceVersion: h.resourceVersion, Fields: h.compared.Differences,
	}
	if h.compared.Correctable() && !h.blocked {
		c.Action, c.ReadFirst = Update, h.readFirst
		c.Guards, c.Patch = h.compared.Patch(h.uid, h.resourceVersion)
	}
	return c
}

// decideShared decides about a shared object, given the live one.
func (p *Plan) decideShared(res *resource, live map[string]any) {
	id := res.object.ID
	res.entry = res.rendered.Copy()
	var previous map[string]any
	if res.previous != nil {
		previous = res.previous.desired
	}
	res.desired = res.entry.Desired(res.kind, res.object.Content, visibleOf(id, previous))
	var h sharedDecision
	blocked := p.in.Blocked[id]
	switch {
	case live == nil:
		res.problem = cmp.Or(p.sourceProblem(id), blocked, absentProblem(id))
	case text(live, "metadata", "deletionTimestamp") != "":
		res.live, res.problem = live, p.terminatingProblem(id, live)
		res.problem.RetryAfter = 0 // it is watched by its name
	default:
		res.live = live
		h = p.decideSharedLive(res, blocked)
	}
	res.change = h.change(id, res.object.APIVersion)
	res.change.resource, res.change.Problem = res, res.problem
}

// absentProblem is the Problem of a shared object that is not there.
func absentProblem(id manifest.ID) *Problem {
	return problemf(v1alpha1.ReasonWaiting, "%s does not exist; it is shared, and not created", id)
}

// decideSharedLive decides what is written on a shared object that is there.
func (p *Plan) decideSharedLive(res *resource, blocked *Problem) sharedDecision {
	id, live, app := res.object.ID, res.live, p.in.Application
	h := sharedDecision{uid: text(live, "metadata", "uid"), resourceVersion: text(live, "metadata", "resourceVersion"), blocked: true}
	if res.seen, res.problem = p.see(&p.hooks.ResourceObserved, res, live); res.problem != nil {
		return h
	}
	res.judged = true
	res.deferredTo = firstUnnamed(p.in.Precedence[id], live)
	res.excludeClaimed(app, res.entry.Leaves(res.kind, res.desired), baselinePaths(p.statuses[id], live))
	res.firstHold = !holds(app, live) && !slices.ContainsFunc(res.leaves, func(path string) bool { return p.wasHeld(res, path) })
	res.compared = p.compare(res, live)
	res.drift = res.compared.Differences
	p.warnOfNewElements(res)
	r := fieldReleaser{shared: true, removesTracking: res.holdsNothing(), entry: res.entry, id: id, kind: res.kind, live: live, held: res.leaves, unrecordedLeaves: unrecordedPaths(p.statuses[id], live)}
	res.letting = p.releaseFields(r, recordedBaseline(p.statuses[id], live))
	if (delta.Comparison{Differences: res.letting.restored}).Correctable() {
		res.compared.Differences = nil // the others are for the next patch
	}
	p.recordBaselines(res)
	for _, left := range res.letting.baseline {
		res.keepParentBaseline(left, res.entry.Released(left.Path) == observer.ReleasedLeave)
	}
	former := formerMarks(app, live)
	res.compared.Differences = slices.Concat(res.letting.restored, res.letting.metadata, res.compared.Differences, former)
	for _, w := range res.compared.Warnings {
		if w = id.String() + ": " + w; !slices.Contains(res.warnings, w) {
			res.warnings = append(res.warnings, w)
		}
	}
	for _, stays := range res.letting.kept {
		res.warnings = append(res.warnings, stays.String())
	}
	if restores(app, true) && slices.ContainsFunc(res.leaves, func(leaf string) bool { return secretPath(id, leaf) }) {
		res.warnings = append(res.warnings, id.String()+": values of Secrets are never recorded, so they stay as they are when they are let go")
	}
	p.compareOnly(res, live)
	res.problem = cmp.Or(blocked, res.claimProblem(), p.leftOverProblem(id, res.compared), res.newElementProblem(live, res.compared))
	h.blocked, h.compared = blocked != nil, res.compared
	h.readFirst = res.letting.needsManagedFields && foreignTo(app, live) == nil || p.needsContender(res)
	return h
}

// holdsNothing reports whether nothing of a shared object is to be held: all of it is free.
func (res *resource) holdsNothing() bool { return len(res.leaves)+len(res.claimed) == 0 }

// keepParentBaseline hands on, of a leaf that is let go, the topmost place that we made for it, to what
// is still held in there: it goes with the last of them. A leaf that is left as it is keeps
// the place that it is in.
func (res *resource) keepParentBaseline(left v1alpha1.BaselineField, stays bool) {
	root := left.From
	for i, b := range res.baseline {
		if stays && b.Value == nil && b.From != "" && observer.IsUnder(left.Path, b.From) {
			res.baseline[i].From = ""
		}
	}
	if stays {
		return
	}
	if left.Value != nil || root == "" {
		return
	}
	for i, b := range res.baseline {
		if b.Value == nil && b.Path != root && observer.IsUnder(b.Path, root) && len(cmp.Or(b.From, b.Path)) > len(root) {
			res.baseline[i].From = root
		}
	}
}
