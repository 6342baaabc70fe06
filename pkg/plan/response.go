package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/health"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/writer"
)

// observe combines the planned state of a resource with the outcome of its change. It changes the resource, which is
// a mutable copy: its schema, desired state and accepted forms follow the response:
//
//	outcome                                live object     compared with
//	none, or an object of another owner    as planned      as planned
//	the object is gone                     none            as planned
//	a response, or the object as read      that object     that object
func (c responseReader) observe(res *resource, before *v1alpha1.ResourceStatus) resourceResult {
	o := resourceResult{live: res.live, compared: res.compared, problem: res.problem}
	outcome, attempted := c.outcomes[res.object.ID]
	switch {
	case !attempted:
		o.problem = c.waitProblem(res)
	case outcome.Gone:
		o.live, o.problem = nil, outcome.Problem
		// The object was deleted while the plan was executed, and is created by the next one.
		c.result.Again = c.result.Again || outcome.Problem == nil
	default:
		o.problem, o.action = outcome.Problem, outcome.Action
		if outcome.WithoutLearned {
			// The values that the API server rejected are forgotten, and learned again from the response.
			res.desired = res.entry.Desired(res.kind, res.object.Content, nil)
		}
		// An object of another owner must not be learned from.
		if c.isOurs(res, outcome, before) {
			o.live = outcome.Object
			o.wrote = outcome.Problem == nil && outcome.Action != Unchanged
			o.compared = c.responded(res, outcome, &o)
		}
	}
	if res.policy.Adopts() && !o.wrote && !c.preview || !res.policy.Writes {
		// Another owner still owns the object, so the status records nothing of it.
		o.live, o.compared.Held = nil, 0
		res.computeDesired(false)
	}
	if !res.policy.Writes {
		o.compared = delta.Comparison{Differences: o.compared.Differences, Reported: o.compared.Reported}
	}
	// A Problem of the planned comparison may be solved in the response. A Problem of the request remains.
	if o.problem == nil || o.problem.FromComparison {
		o.problem = cmp.Or(res.claimProblem(), decider{&c.plan.facts}.rejected(res, o.compared), decider{&c.plan.facts}.leftOverProblem(res.object.ID, o.compared),
			res.newElementProblem(o.live, o.compared))
	}
	return o
}

// waitProblem returns the Problem of a resource whose change was not attempted: its own Problem, or that the
// change is still pending, for example because the tokens of an earlier stage could not be recorded. It returns nil
// if the resource needs no write.
func (c responseReader) waitProblem(res *resource) *Problem {
	if res.problem != nil || c.preview || c.plan.IsNoOp() || !res.change.Writes() {
		return res.problem
	}
	verb := map[Action]string{Create: "created", Update: "corrected"}[res.change.Action]
	if res.policy.Claims && res.policy.Begins {
		verb = "held"
	}
	return &Problem{Reason: v1alpha1.ReasonWaiting, Message: res.object.ID.String() + " is not yet " + verb}
}

// isOurs reports whether the object of an outcome belongs to the resource. The response to the controller's
// write does. An object that was found instead is checked, because objects in the inventory can be deleted
// later.
func (c responseReader) isOurs(res *resource, outcome Outcome, before *v1alpha1.ResourceStatus) bool {
	if outcome.Object == nil {
		return false
	}
	if outcome.Problem == nil && outcome.Action != Unchanged || res.policy.Claims {
		return true
	}
	return claim.IsOwned(c.plan.in.Application, res.object.ID, before, outcome.Object)
}

// responded processes a response of the API server: lists that the API server lengthened, accepted forms, and
// values to learn. It returns the comparison with the response. If that shows drift that can be corrected, the
// result requests another reconcile. o.wrote is false for an object that was read: then only values are learned.
func (c responseReader) responded(res *resource, outcome Outcome, o *resourceResult) delta.Comparison {
	live, point := outcome.Object, &c.plan.hooks.ResourceObserved
	// The originals belong to the plan.
	res.entry, res.desired, res.accepted = res.entry.Copy(), observer.CopyMap(res.desired), maps.Clone(res.accepted)
	if o.wrote {
		point = &c.plan.hooks.ResourcePostUpdate
		if outcome.Action == Create {
			point = &c.plan.hooks.ResourcePostCreate
		}
		// The API server did not add elements whose removal is deferred.
		isLeft := func(d delta.Difference) bool { return d.Reason == delta.Extra && d.HeldBack }
		if !slices.ContainsFunc(res.change.Fields, isLeft) {
			res.entry.RaiseSurplus(res.kind, res.desired, live)
		}
		res.keepServerKeys(c.plan.in.Application, live)
		res.keepRefused(c.plan.in.Application, live)
	}
	var problem *Problem
	if res.seen, problem = (decider{&c.plan.facts}).see(point, res, live); problem != nil {
		o.problem = problem
	}
	if o.wrote {
		// Before the comparison below, in which the accepted forms are in sync.
		c.accept(res, live, outcome.Action)
	}
	after := comparer{&c.plan.facts}.compare(res, live)
	if o.wrote && len(res.baseline) > 0 {
		res.recordAcceptedDigests(live, after)
	}
	c.result.Again = c.result.Again || outcome.Problem == nil && after.Correctable()
	return after
}

// keepRefused reduces the previous record to the values that the manifest dropped and whose removal is
// deferred. All other dropped values are removed now.
func (res *resource) keepRefused(app *v1alpha1.Application, live map[string]any) {
	kept := res.compared.Kept(res.stored())
	switch {
	case !res.entry.Default, res.restoresFirst:
		return // the record still shows which fields were held
	case kept == nil && res.compared.NeedsManagedFields && writer.ForeignTo(app, live) != nil:
		return // the response has managedFields, so the next comparison may find more to remove
	case kept == nil && res.previous != nil && res.entry.HasRules():
		// A pushed field is compared with the value that was written last.
		kept = res.compared.Unmade(res.stored(), false)
	// Everything that the manifest dropped is removed, so the previous record has no further use.
	case kept == nil:
		res.previous = nil
		return
	}
	previous := *res.previous
	previous.Desired = kept
	previous.Entry = res.entry.ForManifest(manifest.Object{ID: res.object.ID, APIVersion: res.object.APIVersion, Content: kept}).Typed(res.kind)
	if before := res.previous.Entry; before != nil {
		previous.Entry.KeepSurplus(res.kind, kept, before, res.previous.Desired)
	}
	res.previous = &previous
}

// accept records the accepted forms of the written values. It also records removals that the API server undid,
// and marks lists as contested that another client extends at each write.
func (c responseReader) accept(res *resource, live map[string]any, action Action) {
	known := maps.Clone(res.accepted)
	// The forms of earlier writes do not apply to this one, because a policy or the API server may have changed.
	maps.DeleteFunc(res.accepted, func(path string, _ delta.Form) bool { return res.change.wrote(path, action) })
	after := comparer{&c.plan.facts}.compare(res, live)
	forms := delta.Accept(after, func(d delta.Difference) bool { return res.change.wroteValue(d, action) })
	maps.DeleteFunc(forms, losesTracking)
	// Sorted, because the order of the warnings must not change.
	for _, path := range sortedPaths(forms) {
		put(&res.accepted, path, forms[path])
		// A known form is not reported again: the history then has the value that the other client wrote.
		if was := known[path]; !was.Desired.Equal(forms[path].Desired) || !was.Accepted.Equal(forms[path].Accepted) {
			c.newForms[Leaf{res.object.ID, path}] = forms[path].Accepted
		}
		if forms[path].Dropped() {
			c.warnings = append(c.warnings, fmt.Sprintf("%s: the API server dropped %s: check its spelling", res.object.ID, path))
		}
	}
	c.endRemovals(res, live)
	for _, d := range after.Differences {
		// The API server sets an absent field again. Without a backoff, each reconcile would remove it.
		if d.Reason == delta.Unwanted && !d.HeldBack && action == Update && res.change.wrote(d.Path, action) {
			problem := intent.Problemf(v1alpha1.ReasonRejected,
				"%s: %s cannot be absent, because the API server sets it again: hold a value of it, or remove the rule from the observer schema", res.object.ID, d.Path)
			c.plan.in.Memory = c.plan.in.Memory.with([]RejectedLeaf{c.plan.RecordRejection(Leaf{res.object.ID, d.Path}, problem)})
		}
		if d.Reason == delta.Extra && !d.HeldBack && res.change.wrote(d.Path, action) {
			// A client between the controller and the API server, such as a webhook, adds it to every write.
			leaf := Leaf{res.object.ID, d.Path}
			if c.plan.in.Memory.markContested(leaf, d, c.now.Time, c.plan.in.ContestPolicy) {
				eventWriter(c).warnContested(leaf)
				historyWriter(c).addHistory(res, v1alpha1.OutcomeContested, drift{Difference: d})
			}
		}
	}
}

// endRemovals records the removals of released fields without effect, because the API server sets them again. Otherwise,
// each reconcile would remove them first, and write nothing else.
func (c responseReader) endRemovals(res *resource, live map[string]any) {
	for _, d := range res.change.Fields {
		isRemoval := d.Reason == delta.Restored && !d.HeldBack && !d.Desired.Set && !d.LivePath().IsElement()
		if isRemoval && valueIn(live, d.LivePath()).Equal(d.Live) {
			leaf, problem := Leaf{res.object.ID, d.Path}, intent.Problemf(v1alpha1.ReasonRejected, "the API server sets it again")
			c.plan.in.Memory, c.drifted[leaf] = c.plan.in.Memory.with([]RejectedLeaf{c.plan.RecordRejection(leaf, problem)}), true
		}
	}
}

// wroteValue reports whether the controller sent the desired value of a difference. If that value is a bound
// of a rule, it checks the value as well as the path, because another value may have been sent: a create sends the
// manifest's value, and a webhook may move that out of bounds.
func (c *Change) wroteValue(d delta.Difference, action Action) bool {
	if !d.Bound {
		return c.wrote(d.Path, action)
	}
	return slices.ContainsFunc(c.Fields, func(sent delta.Difference) bool {
		return !sent.HeldBack && sent.Path == d.Path && sent.Desired.Equal(d.Desired)
	})
}

// wrote reports whether the controller's request wrote the desired value of a path. A restored original value is not one.
func (c *Change) wrote(path string, action Action) bool {
	return action == Create || slices.ContainsFunc(c.Fields, func(d delta.Difference) bool {
		return !d.HeldBack && d.Reason != delta.Restored && observer.IsUnder(path, d.Path)
	})
}

// losesTracking reports whether a form drops or changes tracking metadata. Such a form is never accepted,
// because the Application could no longer recognize the object as its own. path may be that of all labels or
// annotations, if a leaf holds them.
func losesTracking(path string, form delta.Form) bool {
	for _, mark := range claim.TrackingKeys {
		if path == mark.Path() {
			return true
		}
		desired, _ := form.Desired.Any.(map[string]any)
		accepted, _ := form.Accepted.Any.(map[string]any)
		if path == "metadata."+mark.Field && desired[mark.Key] != accepted[mark.Key] {
			return true
		}
	}
	return false
}

// updated returns the action that an event shows for an update of a resource.
func (res *resourceInput) updated() Action {
	switch {
	case res.policy.Adopts():
		return adopt
	case res.policy.Begins:
		return hold
	}
	return Update
}

// corrects reports whether a change of a leaf counts toward a contest. Changes of released leaves, and of
// leaves that are held for the first time, do not count.
func (res *resourceInput) corrects(d delta.Difference) bool {
	takesOver := res.policy.Adopts() && claim.IsTrackingPath(d.Path) && d.Live.Set // from another Application
	return d.Reason != delta.Removed && d.Reason != delta.Restored && (!res.policy.Begins || takesOver)
}

// corrected records the corrections that were made, to detect contests. It adds corrected drift to the
// history. Creating a deleted object again counts as a correction, too. drifted lists the paths that another client
// changed: only these are in the history.
// Source: docs/semantics.md, "Fights".
func (c responseReader) corrected(res *resource, before *v1alpha1.ResourceStatus, drifted map[string]bool) {
	done := doneChange{action: res.updated(), id: res.object.ID}
	if res.change.Action == Create {
		done.action = Create
		c.created(res, before)
	}
	if res.policy.Adopts() {
		historyWriter(c).addHistory(res, v1alpha1.OutcomeAdopted, drift{})
	}
	by := c.plan.in.writersOf(res.object.ID, res.live)
	for _, d := range res.change.Fields {
		tells := !d.HeldBack && res.isReportable(d)
		if tells {
			done.paths, done.told = append(done.paths, d.Path), append(done.told, d.Path)
		}
		if d.HeldBack || !res.corrects(d) {
			continue
		}
		leaf, of := Leaf{res.object.ID, d.Path}, historyWriter(c).drift(res, d, by)
		if c.plan.in.Memory.recordCorrection(leaf, d, of.writer.Manager, c.now.Time, c.plan.in.ContestPolicy) {
			eventWriter(c).warnContested(leaf)
		}
		if tells && drifted[d.Path] {
			// The event describes drift with its values. For other fields, it contains only the path.
			done.told[len(done.told)-1] = describe(historyWriter(c).addHistory(res, historyWriter(c).correctionResult(leaf, &of), of))
		}
	}
	if len(done.paths) > 0 || done.action != Update {
		c.done = append(c.done, done)
	}
}

// created records that an object was created, or created again.
func (c responseReader) created(res *resource, before *v1alpha1.ResourceStatus) {
	if before == nil || before.UID == "" {
		historyWriter(c).addHistory(res, v1alpha1.OutcomeCreated, drift{})
		return
	}
	outcome := v1alpha1.OutcomeRestored
	if c.plan.in.Memory.recordCorrection(res.leaf(), delta.Difference{}, "", c.now.Time, c.plan.in.ContestPolicy) {
		eventWriter(c).warnContested(res.leaf())
	}
	if c.plan.in.Memory.Contests[res.leaf()].Contested() {
		outcome = v1alpha1.OutcomeContested
	}
	historyWriter(c).addHistory(res, outcome, drift{since: historyWriter(c).missingSince(res), WriteOrigin: historyWriter(c).deleter(res, before)})
}

// kept adds the fields that the API server keeps although they were removed from the manifest to the
// status. An entry remains as long as the live value is the same and the field is not desired again.
func (c responseReader) kept(res *resource, o resourceResult) {
	id := res.object.ID
	// By path: those that the status has, and those of this response.
	values := map[string]any{}
	for _, a := range c.plan.in.Application.Status.Accepted {
		if value, ok := manifest.DecodeRawValue(&a.Desired); ok && a.Kept && manifest.IDFromReference(a.Resource) == id {
			values[a.Path] = value
		}
	}
	if o.wrote {
		for _, d := range res.change.Fields {
			if d.Reason == delta.Removed && isKept(d, o.live) && !secretPath(id, d.Path) {
				values[d.Path] = d.Live.Any
			}
		}
	}
	for _, text := range slices.Sorted(maps.Keys(values)) {
		path, err := observer.ParsePath(text)
		if err != nil {
			continue
		}
		live, is := observer.ValueAt(o.live, path)
		_, wanted := observer.ValueAt(res.desired, path)
		if !is || wanted || !observer.Equal(live, values[text]) {
			continue
		}
		c.result.Status.Accepted = append(c.result.Status.Accepted, v1alpha1.AcceptedField{
			Resource: reference(id, res.object.APIVersion), Path: text, Desired: manifest.EncodeRaw(values[text]), Kept: true,
		})
		c.plan.Warnings = append(c.plan.Warnings, fmt.Sprintf("%s: %s was removed from the manifest, but the API server keeps it", id, text))
	}
}

// rejected deletes a rejected change from the memory if it was made now or is no longer desired. If drift from
// the last-applied state was corrected, the change is tried again immediately, because the drift may have been
// the reason of the rejection.
func (c responseReader) rejected(res *resource, o resourceResult) {
	memory := c.plan.in.Memory
	r := memory.RejectedChanges[res.object.ID]
	switch {
	case r == nil:
	case res.rejected == nil && !c.preview:
		delete(memory.RejectedChanges, res.object.ID)
	case o.wrote:
		r.Until, c.result.Again = c.now.Time, true
	}
}

// run returns the JobRun of a resource for the inventory; nil if it is not a Job, or none ran yet. It contains the digest of
// the manifest with which the Job was created, so that another manifest runs it again.
func (res *objectState) run(before *v1alpha1.ResourceStatus, o resourceResult) *v1alpha1.JobRun {
	var known *v1alpha1.JobRun
	if before != nil {
		known = before.Job
	}
	if !res.policy.Creates || !isJob(res.object.ID) || o.live == nil && known == nil && !res.done {
		return nil
	}
	run := &v1alpha1.JobRun{Manifest: res.digest(), Finished: res.done || hasFinished(o.live)}
	isSame := known != nil && (o.live == nil || o.action != Create && string(before.UID) == manifest.NestedString(o.live, "metadata", "uid"))
	if isSame {
		run.Manifest = known.Manifest
	}
	return run
}

// healthOfDone returns the last health of a Job that is gone. The object in the deletion event has a
// deletionTimestamp, with which it would be terminating forever. ended is nil if this process has not seen the
// deletion: then a failure in the previous status remains, and any other Job counts as current.
func healthOfDone(app *v1alpha1.Application, before *v1alpha1.ResourceStatus, ended map[string]any) (string, *Problem) {
	if ended != nil {
		ended = observer.CopyMap(ended)
		unstructured.RemoveNestedField(ended, "metadata", "deletionTimestamp")
		return healthOf(app, ended)
	}
	if m := v1alpha1.InfoForReason(before.Reason); m.Health && !m.Progressing() {
		return before.Health, &Problem{Reason: before.Reason, Message: before.Message}
	}
	return health.Current, nil
}
