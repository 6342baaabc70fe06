package plan

import (
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
)

// Reject defers a whole change that the API server has rejected. Until the next attempt, the controller holds
// the last-applied state. Reject returns false if there is none that can be held. Like RecordRejection, it changes
// neither the plan nor its memory.
func (p *Plan) Reject(c Change, problem *Problem) (RejectedLeaf, bool) {
	res := c.resource
	if res == nil || !res.hasLast(p.in.Memory.RejectedChanges[c.ID] != nil) {
		return RejectedLeaf{}, false
	}
	rejection := RejectedChange{of: res.intent()}
	// The backoff continues only for the same change.
	if before := p.in.Memory.RejectedChanges[c.ID]; before != nil && before.of == rejection.of {
		rejection = *before
	}
	rejection.again(problem, p.in.Now)
	return RejectedLeaf{Leaf: Leaf{ID: c.ID}, Problem: rejection.problem(p.in.Now), rejection: &rejection}, true
}

// keepLast makes the last-applied state the desired state of a resource while its rejected change is deferred.
// It has no effect if the backoff has ended, if the spec has changed since, or if the object has another owner.
// Source: docs/semantics.md, "What the API server refuses".
func (p decider) keepLast(res *resource, live map[string]any) {
	r := p.in.Memory.RejectedChanges[res.object.ID]
	if !r.holds(p.in.Now) || r.of != res.intent() || !res.hasLast(true) || !claim.IsOwned(p.in.Application, res.object.ID, p.statuses[res.object.ID], live) {
		return
	}
	last := res.previous
	res.rejected, res.aside = r, res.fresh()
	// The record of a Secret has masked values, which must never be written.
	res.object.Content = visibleOf(res.object.ID, last.Desired)
	res.written = res.object.Content
	entry := last.Entry.Copy()
	entry.ID = res.rendered.ID // a record may omit the namespace
	entry.Align()
	res.rendered = entry
}

// hasLast reports whether the controller can hold the last-applied state: the object has it, it has the same
// API version, and its lists lack no values of Secrets. A default schema is recorded with the write. A schema
// of the user may be recorded before the write, unless its change is already deferred.
func (res *resourceInput) hasLast(waits bool) bool {
	r := res.previous
	if r == nil || r.Status == nil || !waits && r.Entry != nil && !r.Entry.Default && r.Status.Reason != "" {
		return false
	}
	return !manifest.HasManifests(res.object.ID.GroupKind()) && r.Entry != nil && !r.Created && res.policy.Creates && r.Entry.APIVersion == res.object.APIVersion && r.Status.UID != ""
}

// intent returns the digest of the manifest and the schema of a resource.
func (res *resourceInput) intent() string {
	return intent.Digest([]any{res.object.Content, res.rendered.Raw()})
}

// rejected returns the Problem of a resource whose change is rejected and deferred, or nil.
func (p decider) rejected(res *resource, compared delta.Comparison) *Problem {
	if res.rejected == nil {
		return nil
	}
	problem := res.rejected.problem(p.in.Now)
	problem.Message += "; the change is not written, and the values that were accepted last remain held"
	if manifest.IsSecret(res.object.ID.GroupKind()) {
		problem.Message += ", except for the values of the Secret, which are not stored"
	}
	if drift := p.refusal(res.object.ID, compared); drift != nil {
		problem.Message += "; drift is not corrected either: " + drift.Message
	}
	return problem
}
