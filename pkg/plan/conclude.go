package plan

import (
	"fmt"
	"math"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/record"
)

// Summarize returns the status after the changes of a plan were executed. outcomes contains an Outcome for each
// attempted change. Without outcomes, the status only follows from the live objects. now is the time after the
// execution, and Input.Now that of the decision.
//
// The status only records what was done in the cluster. A resource whose change was not made keeps its
// record, so that the fields that are still to be removed are not lost. Summarize is deterministic.
func (p *Plan) Summarize(outcomes map[manifest.ID]Outcome, now time.Time) Result {
	return p.conclude(&summarizer{now: metav1.NewTime(now.UTC().Truncate(time.Second)), at: now, outcomes: outcomes})
}

// PreviewStatus returns the status after all changes of the plan succeed.
func (p *Plan) PreviewStatus() v1alpha1.ApplicationStatus {
	return p.conclude(&summarizer{preview: true}).Status
}

// conclude fills the result of a summarizer. Only the copy of the plan and the clone of its memory change. The parts
// depend on each other in this order: conditions need the problems, the event needs the conditions and the changes.
func (p *Plan) conclude(c *summarizer) Result {
	own := *p
	own.in.Memory = p.in.Memory.clone()
	for _, outcome := range c.outcomes {
		own.in.Memory = own.in.Memory.with(outcome.Rejected)
	}
	// The warnings of resources are added again, because Replan may have changed them.
	own.Warnings = slices.Clone(p.given)
	c.plan, c.newForms, c.pendingDrift = &own, map[Leaf]delta.Value{}, map[Leaf]PendingDrift{}
	c.result.Status = *p.in.Application.Status.DeepCopy()
	c.result.Status.ObservedGeneration = p.in.Application.Generation
	c.result.Status.ReconcileRequest = p.in.Application.Annotations[v1alpha1.AnnotationReconcile]
	if p.Invalid == nil {
		c.status()
		c.source()
		c.reconciled()
	}
	if p.retiring && len(c.problems) == 0 {
		c.warnings = append(c.warnings, own.Warnings...) // no status will have them
	}
	conditionWriter{c}.completed()
	conditionWriter{c}.conditions()
	eventWriter{c}.event()
	historyWriter{c}.history()
	c.result.Memory = *own.in.Memory
	// Conflicting fields apply to this execution only: the next change may be accepted without removing them.
	c.result.Memory.conflicts = nil
	return c.result
}

// status writes the resources and their records to the status, and collects what the conditions report. Everything
// that it does not reset keeps its previous value.
func (c *summarizer) status() {
	s := &c.result.Status
	// These parts are made again from the resources.
	s.Resources, s.Accepted, s.Contested, s.Reported, s.Services = nil, nil, nil, nil, nil
	s.MangledObserverSchema, s.LastAppliedManifest, s.LastObservedManifest = nil, nil, nil
	c.drifted = map[Leaf]bool{}
	before := record.ByID(c.plan.in.Application.Status.Resources)
	for _, res := range c.plan.resources {
		c.resource(c.mutableCopy(res), before[res.object.ID])
	}
	// It counts desired resources only, so it precedes the prune candidates.
	c.selected()
	for _, old := range c.plan.pruned {
		// The decision that was executed, if the object was decided again.
		if again := c.outcomes[old.id].Change.pruned; again != nil {
			old = again
		}
		c.pruned(old)
	}
	for _, old := range c.plan.gone {
		// The object is gone, but a step after its deletion has failed, and is tried again.
		if outcome := c.outcomes[old.id]; outcome.Problem != nil {
			c.keepInInventory(old, nil, outcome.Problem)
		}
	}
	c.deletions()
	c.unrestored = append(c.unrestored, c.plan.unrestored...)
	// After all records that must be in the status, because these are only added while they fit.
	statusWriter{c}.remember()
	c.hooks()
	c.plan.in.Memory.PendingDrift = c.pendingDrift
	// Before the contests are written to the status.
	if app := c.plan.in.Application; app.Generation != app.Status.ObservedGeneration {
		c.plan.in.Memory.resetInSync(c.drifted)
	}
	c.plan.in.Memory.accepts(c.drifted)
	c.result.RetryAfter = c.plan.in.Memory.expireContests(c.drifted, c.plan.in.Now, c.now.Time, c.plan.in.ContestPolicy)
	for _, res := range c.plan.resources {
		statusWriter{c}.contested(res)
	}
	for _, p := range c.problems {
		// The earliest time counts: a reconcile before it is due finds the others still deferred.
		if p.RetryAfter > 0 && (c.result.RetryAfter == 0 || p.RetryAfter < c.result.RetryAfter) {
			c.result.RetryAfter = p.RetryAfter
		}
	}
	s.Summary = fmt.Sprintf("%d/%d", c.ready(), len(c.plan.resources))
}

// ready returns the number of desired resources that are in sync and healthy.
func (c *summarizer) ready() int {
	n := 0
	for _, r := range c.result.Status.Resources {
		if isReady(r) {
			n++
		}
	}
	return n
}

// mutableCopy returns a copy of a resource as it was last decided, which the summarizer may change. The
// copy shares what its pointers refer to: see responded.
func (c *summarizer) mutableCopy(res *resource) *resource {
	if again := c.outcomes[res.object.ID].Change.resource; again != nil {
		res = again
	}
	own := *res
	c.plan.Warnings = append(c.plan.Warnings, own.warnings...)
	return &own
}

// resource adds one desired resource to the status. res is a mutable copy, and before its previous inventory entry,
// or nil. The calls are in the order of their dependencies.
func (c *summarizer) resource(res *resource, before *v1alpha1.ResourceStatus) {
	// Both before observe, which may replace the record of the resource.
	drifted, known := c.plan.drifted(res), res.previous
	// First the response, because everything below describes the object after the change.
	o := responseReader{c}.observe(res, before)
	responseReader{c}.rejected(res, o)
	if o.wrote {
		responseReader{c}.corrected(res, before, drifted)
	}
	if !(statusWriter{c}).isStillOnRecord(res, o) { // otherwise, each reconcile learns the same values again
		historyWriter{c}.learned(res, known, o)
	}
	statusWriter{c}.record(res, o)
	statusWriter{c}.inventory(res, before, o)
	historyWriter{c}.added(res, before, o)
	if before == nil && wasHeldBefore(res) {
		c.lost = append(c.lost, res.object.ID.String())
	}
	if o.live != nil {
		c.recordHookResults(res, o.live)
	}
	statusWriter{c}.accepted(res, o.compared)
	responseReader{c}.kept(res, o)
	statusWriter{c}.reported(res, o.compared)
	c.observed(res, before)
	for _, d := range o.compared.Differences {
		c.drifted[Leaf{res.object.ID, d.Path}] = true
	}
	// The missing object is drift of the leaf with the empty path.
	if o.live == nil && !res.done {
		c.drifted[res.leaf()] = true
	}
	historyWriter{c}.recordPendingDrift(res, before, o)
	// Users count the fields that they hold, without the tracking metadata.
	c.held += max(o.compared.Held-len(comparer{&c.plan.facts}.marks(res)), 0)
}

// recordHookResults adds the results of the hooks for a live object to the status.
func (c *summarizer) recordHookResults(res *resource, live map[string]any) {
	s := res.seen
	if s == nil || s.Observed == nil { // an earlier hook failed, or no hook ran
		s = &hooks.ObjectEvent{Entry: res.entry, Type: res.kind, Desired: res.desired, Live: live}
		_ = observe(s) // it never fails
	}
	status := &c.result.Status
	status.LastObservedManifest = append(status.LastObservedManifest, manifest.EncodeRaw(s.Observed))
	c.result.Observed = append(c.result.Observed, res.object.ID)
	if s.Address != "" {
		name := res.object.ID.Name
		if namespace := res.object.ID.Namespace; namespace != c.plan.in.Application.Namespace {
			name = namespace + "/" + name
		}
		put(&status.Services, name, s.Address)
	}
	c.tokens = append(c.tokens, s.Tokens...)
}

// hooks writes the state of the hooks to the status.
func (c *summarizer) hooks() {
	app, state := c.plan.in.Application, v1alpha1.HooksStatus{}
	if app.Status.Hooks != nil {
		state = *app.Status.Hooks
	}
	c.result.Status.Hooks, state.Listeners = nil, nil // a listener of the controller adds them
	if len(hooks.Purposes(app)) == 0 {
		return
	}
	state.Tokens = hooks.KeepTokens(state.Tokens, c.tokens)
	if len(state.Tokens) > 0 || state.Shutdown != nil {
		c.result.Status.Hooks = &state
	}
}

// source writes the digest of the source that was translated into manifests, and the results of the
// translation.
func (c *summarizer) source() {
	s, source := &c.result.Status, c.plan.in.Source
	if !intent.IsTranslated(c.plan.in.Application) || source == nil || c.plan.retiring {
		s.SourceDigest, s.ManifestDigest, s.Outputs = "", "", nil
		return
	}
	if source.Restored {
		return // the status keeps the values from which the source was restored
	}
	s.SourceDigest, s.ManifestDigest, s.Outputs = source.Digest, source.ManifestDigest(), nil
	if len(source.Outputs) > 0 {
		outputs := manifest.EncodeRaw(source.Outputs)
		s.Outputs = &outputs
	}
}

// reconciled runs the hooks of ApplicationPostReconcile, which may change the status. An error becomes a problem of
// the Application. A preview runs no hooks.
func (c *summarizer) reconciled() {
	if c.plan.retiring || c.preview {
		return
	}
	event := &hooks.ReconcileEvent{Application: c.plan.in.Application, Status: &c.result.Status}
	if err := c.plan.hooks.ApplicationPostReconcile.Run(event); err != nil {
		c.problems = append(c.problems, resourceProblem{Problem: HookProblem(err)})
	}
}

// isGoneOrReleased reports whether an object is gone or no longer belongs to the Application, or, in a
// preview, will be when all changes are done. Such an object leaves the inventory without a history entry.
func (c *summarizer) isGoneOrReleased(old *pruneCandidate, outcome Outcome) bool {
	if old.change.Problem != nil {
		return false
	}
	left := old.change.Action == Unchanged && outcome.Problem == nil && !outcome.Gone
	return left || (c.preview && old.change.Writes() && !c.plan.IsNoOp())
}

// pruned keeps a prune candidate in the inventory until it is gone. It also records for event and history that the
// object was deleted or released:
//
//	change and outcome                            inventory                  event, history
//	no change, no Problem                         removed
//	update without a Problem                      removed                    released
//	delete, and the object is gone                removed                    deleted
//	... but a step after the deletion failed      kept, with the Problem     deleted
//	delete, and the object still exists           kept, as terminating       deleted
//	any other Problem, or not attempted           kept, with the reason
func (c *summarizer) pruned(old *pruneCandidate) {
	outcome, attempted := c.outcomes[old.id]
	if c.isGoneOrReleased(old, outcome) {
		return
	}
	// An update of a prune candidate is its release.
	if attempted && outcome.Action == Update && outcome.Problem == nil {
		c.unrestored = append(c.unrestored, old.letting.kept...)
		c.done = append(c.done, doneChange{action: release, id: old.id}) // the tracking metadata was removed
		historyWriter{c}.recordRelease(old, v1alpha1.OutcomeReleased)
		return
	}
	if outcome.Gone {
		c.done = append(c.done, doneChange{action: Delete, id: old.id})
		historyWriter{c}.recordRelease(old, v1alpha1.OutcomeDeleted)
		if outcome.Problem != nil {
			c.keepInInventory(old, nil, outcome.Problem)
		}
		return
	}
	problem := old.change.Problem
	live := old.live
	if attempted {
		if outcome.Object != nil {
			live = outcome.Object
		}
		problem = outcome.Problem
		if problem == nil {
			// The delete was accepted, and the object waits for its finalizers.
			problem = c.plan.terminatingProblem(old.policy, old.id, live)
			c.done = append(c.done, doneChange{action: Delete, id: old.id})
			historyWriter{c}.recordRelease(old, v1alpha1.OutcomeDeleted)
		}
	} else if problem == nil {
		// Its stage was not reached, or the plan is not executed.
		problem = &Problem{Reason: v1alpha1.ReasonDeleting, Message: old.id.String() + " will be deleted when all other resources are in sync"}
		switch {
		case c.plan.IsObserveOnly():
			problem.Message = old.previewText()
		case c.plan.Suspended():
			problem.Reason = v1alpha1.ReasonSuspended
			problem.Message = old.suspendedText()
		case old.policy.Claims:
			problem.Message = old.id.String() + " will be released"
		case c.plan.retiring:
			problem.Message = old.id.String() + " will be deleted when the objects of later stages are deleted"
		}
	}
	c.keepInInventory(old, live, problem)
}

// keepInInventory keeps a resource that is no longer desired in the inventory. As long as its deletion has
// not begun, it also keeps the record: if the resource becomes desired again, fields that were dropped
// since then are removed.
func (c *summarizer) keepInInventory(old *pruneCandidate, live map[string]any, problem *Problem) {
	status := old.status
	if r := old.previous; r != nil && r.Entry != nil && manifest.NestedString(live, "metadata", "deletionTimestamp") == "" {
		// MaxInt appends the record, because the object has no position among the desired resources.
		c.extra = append(c.extra, extra{math.MaxInt, r})
		if r.Created { // the annotation only has states with default schemas
			status.Schema = v1alpha1.SchemaDefault
		}
	}
	status.Reason, status.Message, status.Remedy = v1alpha1.ReasonDeleting, problem.Message, problem.Remedy.OrNil()
	if v1alpha1.InfoForReason(problem.Reason).Pruned {
		status.Reason = problem.Reason
	}
	status.Health, _ = healthOf(c.plan.in.Application, live)
	// An object that only the annotation named gets its UID and origin now. Without its origin, an adopted object would
	// be deleted once its tracking metadata is gone.
	if claim.IsTrackedBy(c.plan.in.Application, old.id, live) {
		status.UID = types.UID(manifest.NestedString(live, "metadata", "uid"))
		if !old.policy.Claims && claim.WasAdopted(c.plan.in.Application, &old.status, live) {
			status.Origin = v1alpha1.OriginAdopted
		}
	}
	if !c.plan.in.isUnselected(problem) {
		c.problems = append(c.problems, resourceProblem{old.id, problem})
	}
	c.result.Status.Resources = append(c.result.Status.Resources, status)
}
