package plan

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
)

// Reject holds back a whole change that the API server has refused: the desired state on
// record stays in force for a while. It is false if there is none.
func (p *Plan) Reject(c Change, problem *Problem) (RejectedLeaf, bool) {
	res := c.resource
	if res == nil || !res.hasLast(p.in.Memory.RejectedChanges[c.ID] != nil) {
		return RejectedLeaf{}, false
	}
	rejection := RejectedChange{of: res.intent()}
	if before := p.in.Memory.RejectedChanges[c.ID]; before != nil && before.of == rejection.of {
		rejection = *before
	}
	rejection.again(problem, p.in.Now)
	return RejectedLeaf{Leaf: Leaf{ID: c.ID}, Problem: rejection.problem(p.in.Now), rejection: &rejection}, true
}

// keepLast has a resource be decided by the desired state on record, as long as the API server
// refuses the change of it.
// Source: docs/semantics.md, "What the API server refuses".
func (p *Plan) keepLast(res *resource, live map[string]any) {
	r := p.in.Memory.RejectedChanges[res.object.ID]
	if !r.holds(p.in.Now) || r.of != res.intent() || !res.hasLast(true) || !isOwned(p.in.Application, res.object.ID, p.statuses[res.object.ID], live) {
		return
	}
	last := res.previous
	res.rejected, res.aside = r, res.fresh()
	res.object.Content = visibleOf(res.object.ID, last.desired)
	res.written = res.object.Content
	entry := last.entry.Copy()
	entry.ID = res.rendered.ID // a record may leave the namespace out
	entry.Align()
	res.rendered = entry
}

// hasLast reports whether a desired state is on record that can stay in force: the object has
// it, it is read in the same version, and no values of Secrets are missing in a list of it. A
// default entry goes on record with the write; one of the user's may be there before, unless
// its change waits already.
func (res *resource) hasLast(waits bool) bool {
	r := res.previous
	if r == nil || r.status == nil || !waits && r.entry != nil && !r.entry.Default && r.status.Reason != "" {
		return false
	}
	return !manifest.HasManifests(res.object.ID.GroupKind()) && r.entry != nil && !r.created && res.policy.creates && r.entry.APIVersion == res.object.APIVersion && r.status.UID != ""
}

// intent identifies what is desired of a resource: its manifest and its entry.
func (res *resource) intent() string {
	raw, err := json.Marshal([]any{res.object.Content, res.rendered.Raw()})
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256(raw))
}

// rejected is the Problem of a change that waits, or nil.
func (p *Plan) rejected(res *resource, compared delta.Comparison) *Problem {
	if res.rejected == nil {
		return nil
	}
	problem := res.rejected.problem(p.in.Now)
	problem.Message += "; nothing of the change is written, and what was accepted last stays held"
	if manifest.IsSecret(res.object.ID.GroupKind()) {
		problem.Message += ", except for the values of the Secret, which are not stored"
	}
	if drift := p.refusal(res.object.ID, compared); drift != nil {
		problem.Message += "; nor is drift corrected: " + drift.Message
	}
	return problem
}

// rejected forgets a refused change that is made now, or is not wanted any more. Once drift
// from the desired state on record is corrected, it is tried again at once: the drift may have
// been why it was refused.
func (c *summarizer) rejected(res *resource, o resourceResult) {
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
