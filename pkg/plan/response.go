package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// observe puts together what the plan knew and what came of its change.
func (c *summarizer) observe(res *resource, before *v1alpha1.ResourceStatus) resourceResult {
	o := resourceResult{live: res.live, compared: res.compared, problem: res.problem}
	outcome, attempted := c.outcomes[res.object.ID]
	switch {
	case !attempted:
		o.problem = c.waitProblem(res)
	case outcome.Gone:
		o.live, o.problem = nil, outcome.Problem
		c.result.Again = c.result.Again || outcome.Problem == nil
	default:
		o.problem, o.action = outcome.Problem, outcome.Action
		if outcome.WithoutLearned {
			res.desired = res.entry.Desired(res.kind, res.object.Content, nil)
		}
		if c.isOurs(res, outcome, before) {
			o.live = outcome.Object
			o.wrote = outcome.Problem == nil && outcome.Action != Unchanged
			o.compared = c.responded(res, outcome, &o)
		}
	}
	if res.policy.adopts() && !o.wrote && !c.preview || !res.policy.writes {
		// It is another owner's still: nothing of it goes on record.
		o.live, o.compared.Held = nil, 0
		res.computeDesired(false)
	}
	if !res.policy.writes {
		o.compared = delta.Comparison{Differences: o.compared.Differences, Watched: o.compared.Watched}
	}
	if o.problem == nil || o.problem.compared {
		o.problem = cmp.Or(res.claimProblem(), c.plan.rejected(res, o.compared), c.plan.leftOverProblem(res.object.ID, o.compared),
			res.newElementProblem(o.live, o.compared))
	}
	return o
}

// waitProblem is why a resource is not yet as it should be although nothing failed.
func (c *summarizer) waitProblem(res *resource) *Problem {
	if res.problem != nil || c.preview || c.plan.IsNoOp() || !res.change.Writes() {
		return res.problem
	}
	verb := map[Action]string{Create: "created", Update: "corrected"}[res.change.Action]
	if res.policy.claims && res.policy.begins {
		verb = "held"
	}
	return &Problem{Reason: v1alpha1.ReasonWaiting, Message: res.object.ID.String() + " is still to be " + verb}
}

// isOurs reports whether the object of an outcome may be taken for the resource.
// What answers our own write is; what was found in its place is checked, since
// an object that gets into the inventory will be deleted one day.
func (c *summarizer) isOurs(res *resource, outcome Outcome, before *v1alpha1.ResourceStatus) bool {
	if outcome.Object == nil {
		return false
	}
	if outcome.Problem == nil && outcome.Action != Unchanged || res.policy.claims {
		return true
	}
	return isOwned(c.plan.in.Application, res.object.ID, before, outcome.Object)
}

// responded takes in an API server's response: what it lengthened, what it
// accepted in another form, and what is to be learned from it.
// It returns the comparison with the response.
func (c *summarizer) responded(res *resource, outcome Outcome, o *resourceResult) delta.Comparison {
	live, point := outcome.Object, &c.plan.hooks.ResourceObserved
	res.entry, res.desired, res.accepted = res.entry.Copy(), observer.CopyMap(res.desired), maps.Clone(res.accepted)
	if o.wrote {
		point = &c.plan.hooks.ResourcePostUpdate
		if outcome.Action == Create {
			point = &c.plan.hooks.ResourcePostCreate
		}
		if !res.leftExtra() {
			res.entry.RaiseSurplus(res.kind, res.desired, live)
		}
		res.keepServerKeys(c.plan.in.Application, live)
		res.keepRefused(c.plan.in.Application, live)
	}
	var problem *Problem
	if res.seen, problem = c.plan.see(point, res, live); problem != nil {
		o.problem = problem
	}
	if o.wrote {
		c.accept(res, live, outcome.Action)
	}
	after := c.plan.compare(res, live)
	if o.wrote && len(res.baseline) > 0 {
		res.recordAcceptedDigests(live, after)
	}
	c.result.Again = c.result.Again || outcome.Problem == nil && after.Correctable()
	return after
}

// keepRefused leaves of the record what the manifest has no longer and the API
// server has refused to remove. The rest is removed now.
func (res *resource) keepRefused(app *v1alpha1.Application, live map[string]any) {
	kept := res.compared.Kept(res.stored())
	switch {
	case !res.entry.Default:
		return // nothing is removed, but what was held before is known
	case kept == nil && res.compared.NeedsManagedFields && foreignTo(app, live) != nil:
		return // the response tells who wrote what: there may be more to remove
	case kept == nil:
		res.previous = nil
		return
	}
	previous := *res.previous
	previous.desired = kept
	previous.entry = res.entry.ForManifest(manifest.Object{ID: res.object.ID, APIVersion: res.object.APIVersion, Content: kept}).Typed(res.kind)
	if before := res.previous.entry; before != nil {
		previous.entry.KeepSurplus(res.kind, kept, before, res.previous.desired)
	}
	res.previous = &previous
}

// leftExtra reports whether the patch left elements in a list that is too long,
// because they are contested. The API server did not add those.
func (res *resource) leftExtra() bool {
	for _, d := range res.change.Fields {
		if d.Reason == delta.Extra && d.HeldBack {
			return true
		}
	}
	return false
}

// accept records what the API server made of our write.
func (c *summarizer) accept(res *resource, live map[string]any, action Action) {
	after := c.plan.compare(res, live)
	forms := delta.Accept(after, func(d delta.Difference) bool { return res.wroteValue(d, action) })
	maps.DeleteFunc(forms, losesTracking)
	for _, path := range sortedPaths(forms) {
		if res.accepted == nil {
			res.accepted = delta.Accepted{}
		}
		res.accepted[path] = forms[path]
		c.acceptedForms[Leaf{res.object.ID, path}] = forms[path].Accepted
		if forms[path].Dropped() {
			c.warnings = append(c.warnings, fmt.Sprintf("%s: the API server dropped %s: is it a typing error?", res.object.ID, path))
		}
	}
	for _, d := range after.Differences {
		if d.Reason == delta.Unwanted && !d.HeldBack && action == Update && res.wrote(d.Path, action) {
			c.plan.in.Memory = c.plan.in.Memory.with([]RejectedLeaf{c.plan.RecordRejection(Leaf{res.object.ID, d.Path}, filledIn(res.object.ID, d.Path))})
		}
		if d.Reason == delta.Extra && !d.HeldBack && res.wrote(d.Path, action) {
			// Another client on the way to the API server adds it to whatever we write.
			leaf := Leaf{res.object.ID, d.Path}
			if c.plan.in.Memory.markContested(leaf, d, c.now.Time, c.plan.in.ContestPolicy) {
				c.warnContested(leaf)
				c.addHistory(res, v1alpha1.OutcomeContested, drift{Difference: d})
			}
		}
	}
}

// filledIn is the Problem of a field that is to be absent, and is in the answer to its
// removal.
func filledIn(id manifest.ID, path string) *Problem {
	return problemf(v1alpha1.ReasonRejected,
		"%s: %s cannot be absent, because the API server fills it in again: hold a value of it, or take the rule out of the observer schema", id, path)
}

// wroteValue reports whether the desired value of a difference was part of what we sent. A
// bound of a rule is not what was sent because another value was desired.
func (res *resource) wroteValue(d delta.Difference, action Action) bool {
	if !d.Bound {
		return res.wrote(d.Path, action)
	}
	return slices.ContainsFunc(res.change.Fields, func(sent delta.Difference) bool {
		return !sent.HeldBack && sent.Path == d.Path && sent.Desired.Equal(d.Desired)
	})
}

// wrote reports whether a path was part of what we sent.
func (res *resource) wrote(path string, action Action) bool {
	if action == Create {
		return true
	}
	for _, d := range res.change.Fields {
		if !d.HeldBack && observer.IsUnder(path, d.Path) {
			return true
		}
	}
	return false
}

// losesTracking reports whether a form lacks one of our own marks, or changes it.
// Without them the object would not be known as ours: that is never accepted.
func losesTracking(path string, form delta.Form) bool {
	for _, mark := range trackingKeys {
		if path == mark.path() {
			return true
		}
		desired, _ := form.Desired.Any.(map[string]any)
		accepted, _ := form.Accepted.Any.(map[string]any)
		if path == "metadata."+mark.field && desired[mark.key] != accepted[mark.key] {
			return true
		}
	}
	return false
}

// adoptsFromOther reports whether a correction takes an object from another Application.
func adoptsFromOther(d delta.Difference) bool { return isTrackingPath(d.Path) && d.Live.Set }

// updated is what an update of a resource is in an event.
func (res *resource) updated() Action {
	switch {
	case res.policy.adopts():
		return adopt
	case res.policy.begins:
		return hold
	}
	return Update
}

// corrects reports whether a change of a leaf may be one of a fight: what is given up, or
// held for the first time, is none.
func (res *resource) corrects(d delta.Difference) bool {
	return d.Reason != delta.Removed && d.Reason != delta.Restored && (!res.policy.begins || res.policy.adopts() && adoptsFromOther(d))
}

// corrected remembers the corrections that were made, for fights and, of what has drifted,
// for the history. To create an object again that was there is one, too.
func (c *summarizer) corrected(res *resource, before *v1alpha1.ResourceStatus, drifted map[string]bool) {
	done := doneChange{action: res.updated(), id: res.object.ID}
	if res.change.Action == Create {
		done.action = Create
		c.created(res, before)
	}
	if res.policy.adopts() {
		c.addHistory(res, v1alpha1.OutcomeAdopted, drift{})
	}
	by := sync.OnceValue(func() *writerIndex { return c.plan.in.authorsOf(res.object.ID, res.live) })
	for _, d := range res.change.Fields {
		tells := !d.HeldBack && res.isReportable(d)
		if tells {
			done.paths, done.told = append(done.paths, d.Path), append(done.told, d.Path)
		}
		if d.HeldBack || !res.corrects(d) {
			continue
		}
		leaf, of := Leaf{res.object.ID, d.Path}, c.drift(res, d, by)
		if c.plan.in.Memory.recordCorrection(leaf, d, of.writer.Manager, c.now.Time, c.plan.in.ContestPolicy) {
			c.warnContested(leaf)
		}
		if tells && drifted[d.Path] {
			done.told[len(done.told)-1] = describe(c.addHistory(res, c.correctionResult(leaf, &of), of))
		}
	}
	if len(done.paths) > 0 || done.action != Update {
		c.done = append(c.done, done)
	}
}

// created remembers that an object was created, or created again.
func (c *summarizer) created(res *resource, before *v1alpha1.ResourceStatus) {
	if before == nil || before.UID == "" {
		c.addHistory(res, v1alpha1.OutcomeCreated, drift{})
		return
	}
	outcome := v1alpha1.OutcomeRestored
	if c.plan.in.Memory.recordCorrection(res.leaf(), delta.Difference{}, "", c.now.Time, c.plan.in.ContestPolicy) {
		c.warnContested(res.leaf())
	}
	if c.plan.in.Memory.Contests[res.leaf()].Contested() {
		outcome = v1alpha1.OutcomeContested
	}
	since := c.plan.in.ObservedWrites[res.object.ID].FirstSeen
	if standing, stood := c.plan.in.Memory.PendingDrift[res.leaf()]; stood {
		since = standing.Since
	}
	c.addHistory(res, outcome, drift{since: since, WriteOrigin: c.plan.deleter(res, before)})
}
