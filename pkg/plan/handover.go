package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/record"
)

// waitsFor reports whether the field of a copy is one that the Application waits for, or waited for when it was last
// desired, and that another Application holds. If only a status has the field, or a status could not be read,
// the copy becomes an awaited one: either the holder has released the field, and its status is not written yet, or another
// client has removed the holder's claim, which the holder then writes again. all lists the holders in the annotation of
// the object.
func (p releasePass) waitsFor(r *fieldReleaser, b v1alpha1.BaselineField, all claim.Holders) bool {
	if slices.ContainsFunc(r.claimed, func(c claim.Claim) bool { return c.Path == b.Path }) {
		return true
	}
	// Only the parts of a resource that the claims depend on: it may be no longer desired.
	res := &resource{objectState: objectState{resourceInput: resourceInput{object: manifest.Object{ID: r.id}, kind: r.kind, policy: r.policy}, liveState: liveState{live: r.live}}}
	recorded := p.recordedClaims(res, all, p.statuses[r.id])
	holder := recorded.holderOf(b.Path, false)
	other := p.in.Holders[holder]
	isStopped := other != nil && other.DeletionTimestamp == nil && (other.Spec.Suspend || other.Spec.Mode == v1alpha1.ModeObserve)
	if holder != "" && !isStopped {
		r.awaited, r.waitsFor, r.recheckAfter = append(r.awaited, b), recorded.addTo(r.waitsFor, holder), recorded.recheckAfter
	}
	return holder != ""
}

// awaitProblem returns the Problem of released fields that wait for the status of their former holder; nil if there
// are none.
func (r fieldRelease) awaitProblem(id manifest.ID) *Problem {
	if len(r.awaited) == 0 {
		return nil
	}
	problem := intent.Problemf(v1alpha1.ReasonWaiting, "%s: Application %s releases %s, and may have left it to this Application", id, r.awaited[0].Holder, r.awaited[0].Path)
	problem.RetryAfter, problem.FromComparison = r.recheckAfter, true
	return problem
}

// isCopied reports whether all Applications that wait for a field have copied its baseline and can hold the field.
// The patch that releases the field tests the annotation that lists them. So it fails if one of them stops waiting.
// Source: docs/semantics.md, "Several Applications share an object".
func (p releasePass) isCopied(r *fieldReleaser, b v1alpha1.BaselineField, all claim.Holders) bool {
	own, _ := all.Get(r.app)
	if !r.policy.Claims || !slices.Contains(own.Leaves, b.Path) || !record.IsAsHeld(r.kind, r.live, b) {
		return false
	}
	isCopy := func(c v1alpha1.BaselineField) bool {
		return c.Path == b.Path && c.Holder == claim.HolderName(r.app) && record.Original(c).Equal(record.Original(b)) && record.IsAsHeld(r.kind, r.live, c)
	}
	copies := 0
	for name, entry := range all {
		// Only other Applications with a pending claim can become the holder.
		if name == claim.HolderName(r.app) || !slices.ContainsFunc(entry.PendingClaims, func(leaf string) bool { return claim.Overlap(leaf, b.Path) }) {
			continue
		}
		other := p.in.Holders[name] // nil if it could not be read: then no copy is known
		copied := record.Baseline(p.holderStatus(name, types.UID(entry.UID), r.id), r.live)
		// One of them cannot restore the value later, so this Application restores it now.
		if !slices.ContainsFunc(copied, isCopy) || other.DeletionTimestamp != nil || other.Spec.Suspend || other.Spec.Mode == v1alpha1.ModeObserve {
			return false
		}
		copies++
	}
	// Without a waiting Application, the value must be restored here.
	return copies > 0
}
