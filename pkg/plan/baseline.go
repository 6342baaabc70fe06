package plan

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/record"
)

// maxBaselineBytes limits the size of all baselines of one Application.
const maxBaselineBytes = 64 * 1024

// baselineBytesPerSelectedObject is added to the limit for each object that spec.select matches. The inventory of
// these objects can be in slices.
const baselineBytesPerSelectedObject = 512

// recordBaselines collects the baselines of the held fields of an object: the recorded ones, and those of the fields
// that have another value, or none, in the original object. See originalObject. It does so under spec.onRelease
// Leave, too, because that may change.
func (p baselinePass) recordBaselines(res *resource) {
	// First the recorded baselines, so that hasBaseline finds them below.
	before, held := p.statuses[res.object.ID], sets.New(res.heldPaths()...)
	for _, b := range record.Baseline(before, res.live) {
		// Fields below a map or list that did not exist get their own baselines, because other clients can add fields.
		isSplit := b.Value == nil && !held.Has(b.Path) && !res.restoresFirst
		switch {
		case !p.keepsBaseline(res, b):
		case isSplit:
			res.split = append(res.split, b)
		default:
			res.baseline = append(res.baseline, res.withHeldDigests(b))
		}
	}
	for _, path := range record.Unrecorded(before, res.live) {
		if p.keepsBaseline(res, v1alpha1.BaselineField{Path: path}) {
			res.unrecorded = append(res.unrecorded, path)
		}
	}
	p.copyBaselines(res)
	isSame := len(res.drift)+len(res.split) == 0 && res.previous != nil && observer.Equal(res.previous.Desired, res.desired)
	// Without a record of a created object, this Application may have written any of its values.
	if (res.policy.Existed || res.hasRecord()) && (!isSame || len(claim.OtherHolders(p.in.Application, res.live)) > 0) {
		original := sync.OnceValue(func() original { return p.originalObject(res) })
		for _, path := range res.heldPaths() {
			p.recordOriginal(res, path, original)
		}
	}
	slices.SortFunc(res.baseline, func(a, b v1alpha1.BaselineField) int { return strings.Compare(a.Path, b.Path) })
}

// recordOriginal records the original value of a held field, unless it is on record or is not needed. A learned value is
// the live value, so that there is nothing to restore.
func (p baselinePass) recordOriginal(res *resource, path string, original func() original) {
	written, waits := res.writeTo(path)
	isSet := res.isInManifest(path) || written != nil && written.Rule != nil
	if waits || !isSet || res.hasBaseline(path) || secretPath(res.object.ID, path) {
		return
	}
	b, value := original().field(path)
	if res.hasBaseline(b.Path) || !res.needsBaseline(path, b.Path, value, written != nil) {
		return
	}
	b.Time, b.Value = metav1.NewTime(p.in.Now.UTC()).Rfc3339Copy(), record.EncodeValue(value)
	if written != nil && written.Reason == delta.Unwanted {
		b.From = res.emptied(*written)
	}
	if at, _ := delta.Locate(res.kind, res.live, b.Path); value.Set && value.Equal(at.Value) {
		// The writer is for users only. Nothing is decided by it.
		author, _ := p.in.writersOf(res.object.ID, res.live)().OfValue(at.Path)
		b.Manager = author.Manager
	}
	res.baseline = append(res.baseline, res.withHeldDigests(b))
}

// needsBaseline reports whether the original value of a held field has to be recorded. at is the path of that value:
// path, or a parent of another type.
//
//	the field                                            recorded
//	is written now                                       yes
//	is in sync, but an Application set the live value    yes
//	is absent, because the API server omits its value    yes: it may be written later, with its parent map
//	has the desired value originally                     no. For an empty map or list, any map or list is that
//	was held before in an object of the Application      no: the Application wrote the first value, too
//	did not exist, and is removed with its manifest      no
func (res *resource) needsBaseline(path, at string, original delta.Value, isWritten bool) bool {
	live, _ := delta.Locate(res.kind, res.live, path)
	desired, _ := delta.Locate(res.kind, res.desired, path)
	isSameType := slices.Contains(res.empty, path) && reflect.TypeOf(original.Any) == reflect.TypeOf(desired.Value.Any)
	switch {
	case !isWritten && live.Value.Set && original.Equal(live.Value):
		return false
	case at == path && (isSameType || original.Equal(desired.Value)):
		return false
	case !res.policy.Existed && res.previouslyHeld(at):
		return false
	}
	return original.Set || !res.prunes()
}

// writeTo returns the difference by which the patch writes a held field, or nil. waits is true if a later patch may
// write it, or if the path leads to another element than the difference.
func (res *resource) writeTo(path string) (written *delta.Difference, waits bool) {
	for i, d := range res.drift {
		if claim.Overlap(d.Path, path) {
			if d.HeldBack || res.writesLater() || !res.matchesLocation(d) {
				return nil, true
			}
			return &res.drift[i], false
		}
	}
	return nil, false
}

// writesLater reports whether only the next patch writes desired values. The record of the held fields does not change
// before.
func (res *resource) writesLater() bool { return res.restoresFirst && res.hasRecord() }

// keepsBaseline reports whether the baseline of a path is kept, or the record that it exceeded the size
// limit. The copy of another Application's baseline is kept when this Application takes the field with the value
// that the other one left.
func (p baselinePass) keepsBaseline(res *resource, b v1alpha1.BaselineField) bool {
	path := b.Path
	switch {
	case !res.holdsIn(path):
		return false
	case !res.policy.Claims:
		// Another Application may have adopted the object in between.
		isSame := record.Describes(p.statuses[res.object.ID], res.live) && !p.recordedPolicy(res).Claims
		return !res.isFirstAdoption() || isSame || p.recordedPolicy(res).Claims && !res.writes(path)
	case !res.writes(path) && b.Holder == "", b.Holder != "" && record.IsAsHeld(res.kind, res.live, b):
		return true
	}
	// The first write was made if the status or the annotation has the claim. A forged claim only keeps a baseline.
	isNamed := func(leaf string) bool { return observer.IsUnder(leaf, path) }
	return p.wasHeld(res, path) || res.own.UID != "" && (res.own.Leaves == nil || slices.ContainsFunc(res.own.Leaves, isNamed))
}

// hasBaseline reports whether a path has a baseline, or is recorded as one whose baseline exceeded the size
// limit.
func (res *originals) hasBaseline(path string) bool {
	return slices.ContainsFunc(res.unrecorded, func(known string) bool { return observer.IsUnder(path, known) }) ||
		slices.ContainsFunc(res.baseline, func(b v1alpha1.BaselineField) bool { return observer.IsUnder(path, b.Path) })
}

// wasHeld reports whether a field of this shared object was held according to the status. Only the status
// is trusted, because any client may write the tracking metadata of the object.
func (f *facts) wasHeld(res *resource, path string) bool {
	status := f.statuses[res.object.ID]
	if !f.recordedPolicy(res).Claims || !record.Describes(status, res.live) {
		return false
	}
	return res.previouslyHeld(path) && !slices.ContainsFunc(status.Waits, func(other string) bool { return claim.Overlap(other, path) })
}

// isNewlyAdopted reports whether an object is about to be adopted, or was adopted while the status
// describes an earlier object.
func (res *resource) isNewlyAdopted(status *v1alpha1.ResourceStatus) bool {
	return res.isFirstAdoption() || res.policy.Existed && status != nil && string(status.UID) != res.change.UID
}

// recordsBaselines reports whether the status records the original values of held fields: always for a shared
// object, for others while spec.onRelease is Restore, and as long as a recorded value remains.
func (f *facts) recordsBaselines(res *resource) bool {
	return res.policy.Claims || res.policy.Restores || len(record.Baseline(f.statuses[res.object.ID], res.live)) > 0
}

// HasRecord reports whether the status has baselines of an object.
func (p *Plan) HasRecord(id manifest.ID) bool {
	return p.statuses[id] != nil && len(p.statuses[id].Baseline) > 0
}

// prunes reports whether a field that is removed from the manifest is removed from the object: the
// Application created the object, so there are no original values.
func (res *objectState) prunes() bool { return !res.policy.Existed && res.entry.Default }

// isFirstAdoption reports whether an object is about to be adopted that never belonged to this Application,
// so that all its values are original.
func (res *resourceInput) isFirstAdoption() bool { return res.policy.Adopts() && !res.policy.Reclaimed }

// recordedPolicy returns the policy for the object of a resource, according to the inventory.
func (f *facts) recordedPolicy(res *resource) claim.Policy {
	return claim.RecordedPolicy(f.in.Application, f.statuses[res.object.ID])
}

// previouslyHeld reports whether the record holds the path, or one above or below it: a leaf may have been split
// since then. A map or list that it holds as existing does not hold what is below.
func (res *resourceInput) previouslyHeld(path string) bool {
	leaves, empty := res.previousLeaves()
	return slices.ContainsFunc(leaves, func(leaf string) bool { return claim.Overlap(leaf, path) }) ||
		slices.ContainsFunc(empty, func(at string) bool { return observer.IsUnder(at, path) })
}

// matchesLocation reports whether the path of a difference leads to the same location in the live object.
// In a list where only some elements have keys, an index may lead to another element. A baseline with such a path
// would later be restored in that element.
func (res *objectState) matchesLocation(d delta.Difference) bool {
	at, ok := delta.Locate(res.kind, res.live, d.Path)
	return !ok || !at.Value.Set || d.Live.Set && at.Path.Pointer() == d.LivePath().Pointer()
}

// holdsIn reports whether a leaf at or below a path is held. leaves must be set: see assignFields and release.
func (res *originals) holdsIn(path string) bool {
	return slices.ContainsFunc(res.heldPaths(), func(leaf string) bool { return observer.IsUnder(leaf, path) })
}

// heldPaths returns the held leaves, and the maps and lists of which only the existence is held.
func (res *originals) heldPaths() []string { return slices.Concat(res.leaves, res.empty) }

// writes reports whether the change corrects anything at, above or below a path.
func (res *comparisons) writes(path string) bool {
	return slices.ContainsFunc(res.compared.Differences, func(d delta.Difference) bool { return !d.HeldBack && claim.Overlap(d.Path, path) })
}

// isInManifest reports whether the manifest itself sets something at a path. A learned value is the live
// value, so it does not count.
func (res *resourceInput) isInManifest(path string) bool {
	at, ok := delta.Locate(res.kind, res.object.Content, path)
	return ok && at.Value.Set
}

// limitBaselines drops baselines that exceed the size limit. The fields are held, but cannot be restored. A
// warning lists them while they are held.
func (p *Plan) limitBaselines() {
	// The resources share one limit, and the first ones in the manifests take precedence.
	room := maxBaselineBytes
	for _, res := range p.resources {
		if intent.IsSelected(res.object) {
			room += baselineBytesPerSelectedObject
		}
	}
	most := room
	// Recorded baselines count, but are never dropped: only new ones must fit.
	for i := range p.in.Application.Status.Resources {
		for _, b := range p.in.Application.Status.Resources[i].Baseline {
			room -= len(manifest.EncodeRaw(b).Raw)
		}
	}
	for _, res := range p.resources {
		known := map[string]bool{}
		for _, b := range record.Baseline(p.statuses[res.object.ID], res.live) {
			known[b.Path] = true
		}
		isTooLarge := func(b v1alpha1.BaselineField) bool {
			if known[b.Path] {
				return false
			}
			length := len(manifest.EncodeRaw(b).Raw)
			if length > room {
				return true
			}
			room -= length
			return false
		}
		res.copies = slices.DeleteFunc(res.copies, isTooLarge) // its holder then restores the field
		res.baseline = slices.DeleteFunc(res.baseline, func(b v1alpha1.BaselineField) bool {
			if !isTooLarge(b) {
				return false
			}
			res.unrecorded = append(res.unrecorded, b.Path)
			return true
		})
		if len(res.unrecorded) > 0 {
			p.warn(fmt.Sprintf("%s: the original value of %s exceeds the limit of %d KiB: it is held, but cannot be restored",
				res.object.ID, intent.FirstNames(res.unrecorded), most/1024))
		}
	}
}

// dropBaselines drops the baselines of a resource that exceeded the size limit in its plan. Replan decides one
// resource, so it cannot measure the baselines of all again.
func (res *originals) dropBaselines(unrecorded []string) {
	res.baseline = slices.DeleteFunc(res.baseline, func(b v1alpha1.BaselineField) bool { return slices.Contains(unrecorded, b.Path) })
	for _, path := range unrecorded {
		if !slices.Contains(res.unrecorded, path) && res.holdsIn(path) {
			res.unrecorded = append(res.unrecorded, path)
		}
	}
}

// unrestorableWarnings returns warnings about fields that rules are about to remove and that cannot be restored, in
// objects whose fields are restored on release. Only the plan with the removal has this warning.
func unrestorableWarnings(resources []*resource) (warnings []string) {
	for _, res := range resources {
		if !res.policy.Restores || !res.policy.Existed {
			continue
		}
		var lost []string
		for _, d := range res.compared.Differences {
			isRemoved := d.Reason == delta.Unwanted || d.Reason == delta.Extra
			if !d.HeldBack && isRemoved && !res.hasBaseline(d.Path) {
				lost = append(lost, d.Path)
			}
		}
		if len(lost) > 0 {
			warnings = append(warnings, fmt.Sprintf("%s: fields that a rule removes have no recorded original value, and are not restored: %s", res.object.ID, intent.FirstNames(lost)))
		}
	}
	return warnings
}

// copyBaselines copies the baselines of the leaves that the resource waits for from the statuses of their holders.
// A holder that finds the copy leaves the value when it releases the leaf, so the object does not change twice. If
// the next holder has no baseline, the previous copy is kept.
func (p baselinePass) copyBaselines(res *resource) {
	var known []string
	for _, holder := range res.waitsFor {
		status := p.holderStatus(holder.Application, holder.UID, res.object.ID)
		if status == nil {
			continue
		}
		known = append(known, holder.Application)
		// An owner's baseline is restored by the owner, and with Leave there is nothing to restore.
		if policy := claim.RecordedPolicy(p.in.Holders[holder.Application], status); !policy.Claims || !policy.Restores {
			continue
		}
		for _, b := range record.Baseline(status, res.live) {
			// Holder marks the copy. Summarize removes the mark when this Application holds the field.
			if b.Holder = holder.Application; slices.Contains(res.claimed, claim.Claim{Path: b.Path, Holder: b.Holder}) {
				res.copies = append(res.copies, b)
			}
		}
	}
	for _, b := range record.Baseline(p.statuses[res.object.ID], res.live) {
		// A holder whose status cannot be read now may have seen the copy, and may release the field.
		isStill := func(c claim.Claim) bool {
			return c.Path == b.Path && (c.Holder != b.Holder || !slices.Contains(known, c.Holder))
		}
		isNew := func(c v1alpha1.BaselineField) bool { return c.Path == b.Path }
		if b.Holder != "" && slices.ContainsFunc(res.claimed, isStill) && !slices.ContainsFunc(res.copies, isNew) {
			res.copies = append(res.copies, b)
		}
	}
}
