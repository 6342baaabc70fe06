package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
)

// holderStatus returns the inventory entry of an object in the status of another Application; nil if there is none, or
// if this Application does not trust the other one, which then has another namespace or UID.
func (p *Plan) holderStatus(name string, uid types.UID, id manifest.ID) *v1alpha1.ResourceStatus {
	other := p.in.Holders[name]
	if other == nil || other.UID != uid || !claim.IsInNamespaceOf(p.in.Application, name) {
		return nil
	}
	return statusByID(other.Status.Resources)[id]
}

// copyBaselines copies the baselines of the leaves that the resource waits for from the statuses of their holders.
// A holder that finds the copy leaves the value when it releases the leaf, so the object does not change twice. If
// the next holder has no baseline, the previous copy is kept.
func (p *Plan) copyBaselines(res *resource) {
	for _, holder := range res.waitsFor {
		status := p.holderStatus(holder.Application, holder.UID, res.object.ID)
		if status == nil {
			continue
		}
		if policy := claim.RecordedPolicy(p.in.Holders[holder.Application], status); !policy.Claims || !policy.Restores {
			continue
		}
		for _, b := range recordedBaseline(status, res.live) {
			if b.Holder = holder.Application; slices.Contains(res.claimed, claim.Claim{Path: b.Path, Holder: b.Holder}) {
				res.copies = append(res.copies, b)
			}
		}
	}
	for _, b := range recordedBaseline(p.statuses[res.object.ID], res.live) {
		isStill := func(c claim.Claim) bool { return c.Path == b.Path && c.Holder != b.Holder }
		isNew := func(c v1alpha1.BaselineField) bool { return c.Path == b.Path }
		if b.Holder != "" && slices.ContainsFunc(res.claimed, isStill) && !slices.ContainsFunc(res.copies, isNew) {
			res.copies = append(res.copies, b)
		}
	}
}

// waitsFor reports whether a field is one that the Application waits for, or waited for when it was last desired, and
// that another Application holds.
func (p *Plan) waitsFor(r *fieldReleaser, path string, all claim.Holders) bool {
	if slices.ContainsFunc(r.claimed, func(c claim.Claim) bool { return c.Path == path }) {
		return true
	}
	res := &resource{resourceInput: resourceInput{object: manifest.Object{ID: r.id}, kind: r.kind, policy: r.policy}, liveState: liveState{live: r.live}}
	return p.recordedClaims(res, all, p.statuses[r.id]).holderOf(path) != ""
}

// isCopied reports whether all Applications that wait for a field have copied its baseline and can hold the field.
// The patch that releases the field tests the annotation that lists them. So it fails if one of them stops waiting.
func (p *Plan) isCopied(r *fieldReleaser, b v1alpha1.BaselineField, all claim.Holders) bool {
	own, _ := all.Get(r.app)
	if !r.policy.Claims || !slices.Contains(own.Leaves, b.Path) || !isAsHeld(r.kind, r.live, b) {
		return false
	}
	isCopy := func(c v1alpha1.BaselineField) bool {
		return c.Path == b.Path && c.Holder == claim.HolderName(r.app) && baselineValue(c).Equal(baselineValue(b)) && isAsHeld(r.kind, r.live, c)
	}
	copies := 0
	for name, other := range p.in.Holders {
		entry, ok := all.Entry(name)
		if !ok || !slices.ContainsFunc(entry.PendingClaims, func(leaf string) bool { return claim.Overlap(leaf, b.Path) }) {
			continue
		}
		copied := recordedBaseline(p.holderStatus(name, types.UID(entry.UID), r.id), r.live)
		if !slices.ContainsFunc(copied, isCopy) || other.DeletionTimestamp != nil || other.Spec.Suspend || other.Spec.Mode == v1alpha1.ModeObserve {
			return false
		}
		copies++
	}
	return copies > 0
}

// isAsHeld reports whether the live value of a field is one that its holder wrote, or the original value.
func isAsHeld(kind *kinds.Node, live map[string]any, b v1alpha1.BaselineField) bool {
	at, _ := delta.Locate(kind, live, b.Path)
	if !at.Value.Set {
		return b.Value == nil || holdsAbsent(b)
	}
	return slices.Contains(b.Held, digest(at.Value.Any)) || at.Value.Equal(baselineValue(b))
}
