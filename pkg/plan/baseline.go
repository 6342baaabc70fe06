package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/record"
	"holdfast.dev/holdfast/pkg/writer"
)

// maxBaselineBytes limits the size of all baselines of one Application.
const maxBaselineBytes = 64 * 1024

// baselineBytesPerSelectedObject is added to the limit for each object that spec.select matches. The inventory of
// these objects can be in slices.
const baselineBytesPerSelectedObject = 512

// recordBaselines collects the baselines of the held fields of an object: the recorded ones, and those of
// the fields that this change overwrites for the first time. For a shared object:
//
//	the field   baseline    held, as the status reports       result
//	in sync     yes                                           kept
//	drifted     yes         yes, or as the holders report     kept: the first write was long ago
//	drifted     yes         no                                new: the first write was never made
//	drifted     -           no                                new: the field is held from now on
//	drifted     -           yes                               none, or the value that was held: see recordInSync
//	in sync     -                                             none: nothing is overwritten. See recordInSync
//
// It does so under spec.onRelease Leave, too, because that may change. For an owned object see
// recordsBaselines and isFirstWrite.
func (p baselinePass) recordBaselines(res *resource) {
	// First the recorded baselines, so that hasBaseline finds them below.
	before := p.statuses[res.object.ID]
	for _, b := range record.Baseline(before, res.live) {
		if p.keepsBaseline(res, b) {
			res.baseline = append(res.baseline, res.withHeldDigests(b))
		}
	}
	for _, path := range record.Unrecorded(before, res.live) {
		if p.keepsBaseline(res, v1alpha1.BaselineField{Path: path}) {
			res.unrecorded = append(res.unrecorded, path)
		}
	}
	p.copyBaselines(res)
	p.recordLent(res)
	created := p.createdByHolders(res)
	writers := p.in.writersOf(res.object.ID, res.live)
	foreign := writer.ForeignTo(p.in.Application, res.live)
	p.recordSharedParents(res, created)
	held := sync.OnceValue(func() sets.Set[string] { return p.heldValues(res) })
	for _, d := range res.compared.Differences {
		if d.HeldBack || !res.matchesLocation(d) {
			continue
		}
		for _, b := range res.originalFields(d, p.in.Now, writers) {
			b.From = topmost(b, created)
			// A learned value is the live value, so that there is nothing to restore.
			isSet := d.Rule != nil || res.isInManifest(b.Path)
			wasHeld := res.policy.Claims && held().Has(b.Path)
			if isSet && !wasHeld && !res.hasBaseline(b.Path) && p.needsBaseline(res, b) {
				res.baseline = append(res.baseline, res.withHeldDigests(res.withCreatedParent(b, d, foreign)))
			}
		}
	}
	p.recordInSync(res, held, writers)
	slices.SortFunc(res.baseline, func(a, b v1alpha1.BaselineField) int { return strings.Compare(a.Path, b.Path) })
}

// keepsBaseline reports whether the baseline of a path is kept, or the record that it exceeded the size
// limit. The copy of another Application's baseline is kept when this Application takes the field with the value
// that the other one left. See the table of recordBaselines.
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

// needsBaseline reports whether a field gets a baseline: it is written for the first time, is not part of a
// Secret, and would not simply be removed on release.
func (p baselinePass) needsBaseline(res *resource, b v1alpha1.BaselineField) bool {
	isPruned := res.prunes() && b.Value == nil
	return !isPruned && p.isFirstWrite(res, b.Path) && !secretPath(res.object.ID, b.Path)
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

// isFirstWrite reports whether a drifted leaf is about to be written for the first time: the object is
// shared or is being adopted, or the recorded schema did not hold the leaf. For a shared object, it is always true,
// because heldValues decides. If the response of an adoption was lost, the record is of an earlier object of the name.
func (p baselinePass) isFirstWrite(res *resource, path string) bool {
	status := p.statuses[res.object.ID]
	isLost := status != nil && status.BaselineUID != "" && string(status.BaselineUID) == res.change.UID && !record.Describes(status, res.live)
	if res.policy.Claims || res.isFirstAdoption() || isLost {
		return true
	}
	_, _, known := res.previousLeaves()
	return known && !res.previouslyHeld(path)
}

// previouslyHeld reports whether the record holds the path, or one above or below it: a leaf may have been split
// since then. A map or list that it holds as existing does not hold what is below.
func (res *resourceInput) previouslyHeld(path string) bool {
	leaves, empty, _ := res.previousLeaves()
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

// originalFields returns the fields that a difference covers, with their live values: the field that has
// another value, or the fields that do not exist.
func (res *resource) originalFields(d delta.Difference, now time.Time, writers func() *writer.Index) (fields []v1alpha1.BaselineField) {
	b := v1alpha1.BaselineField{Path: d.Path, Time: metav1.NewTime(now.UTC()).Rfc3339Copy()}
	switch {
	case (d.Reason == delta.Changed || d.Reason == delta.Unwanted) && res.holdsIn(d.Path):
		b.Value = record.EncodeValue(d.Live)
		// The writer is for users only. Nothing is decided by it.
		writer, _ := writers().OfValue(d.LivePath())
		b.Manager = writer.Manager
		if d.Reason == delta.Unwanted {
			b.From = res.emptied(d)
		}
		return []v1alpha1.BaselineField{b}
	// Each held leaf below the missing value gets a baseline without a value. From is the missing parent.
	case d.Reason == delta.Missing:
		for _, leaf := range res.heldPaths() {
			if observer.IsUnder(leaf, d.Path) {
				if b.Path, b.From = leaf, ""; leaf != d.Path {
					b.From = d.Path
				}
				fields = append(fields, b)
			}
		}
	}
	return fields
}

// withCreatedParent marks a field as absent in its baseline if it is inside a map or element that this
// Application created, and no other client wrote it: such a field did not exist before.
func (res *resource) withCreatedParent(b v1alpha1.BaselineField, d delta.Difference, foreign func(*observer.Path) bool) v1alpha1.BaselineField {
	// Without managedFields, the value counts as part of what this Application created.
	if b.Value == nil || foreign != nil && foreign(d.LivePath()) {
		return b
	}
	for _, other := range res.baseline {
		if root := other.From; other.Value == nil && root != "" && !claim.IsMetadataMap(root) && observer.IsUnder(b.Path, root) {
			b.Value, b.Manager, b.From = nil, "", root
		}
	}
	return b
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

// recordLent records the original values of fields that this Application begins to hold while others still wait for
// them. Their copies have the original value. The former holder wrote the live value.
func (p baselinePass) recordLent(res *resource) {
	if len(p.in.Holders) == 0 || !res.policy.Claims {
		return
	}
	others := claim.OtherHolders(p.in.Application, res.live)
	for _, name := range slices.Sorted(maps.Keys(others)) {
		for _, b := range record.Baseline(p.holderStatus(name, others[name], res.object.ID), res.live) {
			isLent := b.Holder != "" && slices.Contains(res.leaves, b.Path) && record.IsAsHeld(res.kind, res.live, b)
			if isLent && !res.hasBaseline(b.Path) && !p.wasHeld(res, b.Path) {
				b.Holder = ""
				res.baseline = append(res.baseline, res.withHeldDigests(b))
			}
		}
	}
}

// createdByHolders returns the topmost maps and list elements of the live object that other holders
// created for their fields. Only their statuses count, never the object.
func (p baselinePass) createdByHolders(res *resource) (roots []string) {
	if len(p.in.Holders) == 0 {
		return nil
	}
	// holderStatus trusts only Applications in the same namespace.
	for name, uid := range claim.OtherHolders(p.in.Application, res.live) {
		for _, b := range record.Baseline(p.holderStatus(name, uid, res.object.ID), res.live) {
			if b.Value == nil && b.From != "" && !claim.IsMetadataMap(b.From) {
				roots = append(roots, b.From)
			}
		}
	}
	return roots
}

// recordSharedParents records that a field which is in sync did not exist before: it lies in a map or
// element that another holder created. Without this, the last of the two to release its fields would leave the parent.
func (p baselinePass) recordSharedParents(res *resource, created []string) {
	for _, leaf := range res.leaves {
		b := v1alpha1.BaselineField{Path: leaf, Time: metav1.NewTime(p.in.Now.UTC()).Rfc3339Copy()}
		b.From = topmost(b, created)
		// Fields that this change writes get their baseline from the difference.
		if b.From == "" || res.hasBaseline(leaf) || res.writes(leaf) || p.wasHeld(res, leaf) {
			continue
		}
		res.baseline = append(res.baseline, res.withHeldDigests(b))
	}
}

// topmost returns the topmost of some parents around a field that did not exist before, or From, if that
// lies above them.
func topmost(b v1alpha1.BaselineField, parents []string) string {
	from := b.From
	for _, root := range parents {
		if b.Value == nil && observer.IsUnder(b.Path, root) && (from == "" || len(root) < len(from)) {
			from = root
		}
	}
	return from
}
