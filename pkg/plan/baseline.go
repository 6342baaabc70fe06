package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// maxBaselineBytes is how long the records of what fields were before may be, of one Application.
const maxBaselineBytes = 64 * 1024

// baselineBytesPerSelectedObject is how much longer they may be for each object that spec.select means.
const baselineBytesPerSelectedObject = 512

// recordedBaseline is what is on record of a live object from before us.
func recordedBaseline(status *v1alpha1.ResourceStatus, live map[string]any) []v1alpha1.BaselineField {
	if !isBaselineOf(status, live) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(status.Baseline), func(b v1alpha1.BaselineField) bool {
		return !isLeaf(b.Path) || b.From != "" && (!isLeaf(b.From) || !observer.IsUnder(b.Path, b.From))
	})
}

// unrecordedPaths are the fields of a live object that were written first when there was no room
// to record what they were.
func unrecordedPaths(status *v1alpha1.ResourceStatus, live map[string]any) []string {
	if !isBaselineOf(status, live) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(status.Unrecorded), func(path string) bool { return !isLeaf(path) })
}

// baselinePaths are the fields of a live object that were held, or are about to be: something is
// on record of them, or there was no room.
func baselinePaths(status *v1alpha1.ResourceStatus, live map[string]any) []string {
	paths := slices.Clone(unrecordedPaths(status, live))
	for _, b := range recordedBaseline(status, live) {
		paths = append(paths, b.Path)
	}
	return paths
}

// isBaselineOf reports whether what is on record is about this object, and not about another one
// of its name.
func isBaselineOf(status *v1alpha1.ResourceStatus, live map[string]any) bool {
	return status != nil && string(cmp.Or(status.BaselineUID, status.UID)) == text(live, "metadata", "uid")
}

// recordBaselines puts together what the held fields of an object were before us: what is on
// record, and what this change is about to overwrite for the first time. Of a shared object:
//
//	the field   on record   it was held, as the status says   then
//	in place    yes                                           kept
//	drifted     yes         yes, or as the holders say        kept: our first write is long done
//	drifted     yes         no                                anew: our write never came to it
//	drifted     -           no                                new: it is held from now on
//	drifted     -           yes                               nothing, or else the value that was held: see hadHeld
//	in place    -                                             nothing is overwritten
//
// It does so under spec.onRelease Leave, too: that may change. Of an owned one see remembers
// and isFirstWrite.
func (p *Plan) recordBaselines(res *resource) {
	before := p.statuses[res.object.ID]
	for _, b := range recordedBaseline(before, res.live) {
		if p.keepsBaseline(res, b.Path) {
			res.baseline = append(res.baseline, res.withHeldDigests(b))
		}
	}
	for _, path := range unrecordedPaths(before, res.live) {
		if p.keepsBaseline(res, path) {
			res.unrecorded = append(res.unrecorded, path)
		}
	}
	created := p.createdByHolders(res)
	p.recordSharedParents(res, created)
	for _, d := range res.compared.Differences {
		if d.HeldBack || !res.matchesLocation(d) {
			continue
		}
		for _, b := range res.originalFields(d, p.in) {
			b.From = topmost(b, created)
			isSet := d.Rule != nil || res.isInManifest(b.Path)
			if isSet && !res.hasBaseline(b.Path) && needsBaseline(res, b) && p.hadHeld(res, &b) {
				res.baseline = append(res.baseline, res.withHeldDigests(res.withCreatedParent(p.in.Application, b, d)))
			}
		}
	}
	slices.SortFunc(res.baseline, func(a, b v1alpha1.BaselineField) int { return strings.Compare(a.Path, b.Path) })
}

// keepsBaseline reports whether what is on record of a path, or that there was no room for it, stays so.
func (p *Plan) keepsBaseline(res *resource, path string) bool {
	switch {
	case !res.holdsIn(path):
		return false
	case !res.policy.claims:
		return !res.isFirstAdoption() || p.wasShared(res) && !res.writes(path)
	case !res.writes(path):
		return true
	}
	mine, isHolder := holdersOf(res.live).get(p.in.Application)
	return p.wasHeld(res, path) || isHolder && (mine.Leaves == nil || slices.ContainsFunc(mine.Leaves, func(leaf string) bool { return observer.IsUnder(leaf, path) }))
}

// hasBaseline reports whether it is on record what a path was, or that there was no room for it.
func (res *resource) hasBaseline(path string) bool {
	return slices.ContainsFunc(res.unrecorded, func(known string) bool { return observer.IsUnder(path, known) }) ||
		slices.ContainsFunc(res.baseline, func(b v1alpha1.BaselineField) bool { return observer.IsUnder(path, b.Path) })
}

// needsBaseline reports whether a field goes on record: it is written for the first time, is no
// Secret's, and would not just be removed.
func needsBaseline(res *resource, b v1alpha1.BaselineField) bool {
	isPruned := res.prunes() && b.Value == nil
	return !isPruned && res.isFirstWrite(b.Path) && !secretPath(res.object.ID, b.Path)
}

// wasHeld reports whether the status says that a field of this shared object was held. Only it
// is to be trusted: any client may write the marks of the object.
func (p *Plan) wasHeld(res *resource, path string) bool {
	status := p.statuses[res.object.ID]
	if status == nil || !p.wasShared(res) || status.UID == "" || string(status.UID) != text(res.live, "metadata", "uid") {
		return false
	}
	same := func(other string) bool { return pathsOverlap(other, path) }
	held, _ := res.previousLeaves()
	return slices.ContainsFunc(held, same) && !slices.ContainsFunc(status.Waits, same)
}

// hadHeld reports whether a field of which nothing is on record goes on record now. One that was
// in place when it was first held had the value that we held then: it stays so as long as that
// is desired, and goes on record with the next value. Drift is nothing from before.
func (p *Plan) hadHeld(res *resource, b *v1alpha1.BaselineField) bool {
	if !res.policy.claims || !p.wasHeld(res, b.Path) {
		return true
	}
	before, _ := delta.Locate(res.kind, res.previous.desired, b.Path)
	desired, _ := delta.Locate(res.kind, res.desired, b.Path)
	live, _ := delta.Locate(res.kind, res.live, b.Path)
	switch {
	case before.Value.Equal(desired.Value):
		return false
	case !before.Value.Set, before.Value.Equal(live.Value), !live.Value.Set && observer.Empty(before.Value.Any):
		return true // it has not drifted meanwhile
	}
	value := encode(before.Value.Any)
	b.Value, b.Manager = &value, ""
	return true
}

// isNewlyAdopted reports whether an object is about to be adopted, or was, and what is on record
// is of the one before.
func (res *resource) isNewlyAdopted(status *v1alpha1.ResourceStatus) bool {
	return res.isFirstAdoption() || res.policy.existed && status != nil && string(status.UID) != res.change.UID
}

// recordsBaselines reports whether the status records the original values of held fields.
func (p *Plan) recordsBaselines(res *resource) bool {
	return res.policy.claims || res.policy.restores || len(recordedBaseline(p.statuses[res.object.ID], res.live)) > 0
}

// HasRecord reports whether it is on record what fields of an object were before they were held.
func (p *Plan) HasRecord(id manifest.ID) bool {
	return p.statuses[id] != nil && len(p.statuses[id].Baseline) > 0
}

// prunes reports whether what leaves the manifest of an object is removed: we have made it, and
// nothing was there before.
func (res *resource) prunes() bool { return !res.policy.existed && res.entry.Default }

// isFirstAdoption reports whether an object is about to be adopted that was never ours: all of it was
// there before.
func (res *resource) isFirstAdoption() bool { return res.policy.adopts() && !res.policy.reclaimed }

// wasShared reports whether fields of an object were held before it is owned.
func (p *Plan) wasShared(res *resource) bool {
	status := p.statuses[res.object.ID]
	return status != nil && status.Ownership == v1alpha1.OwnershipShare
}

// isFirstWrite reports whether a leaf is about to be written for the first time, if it differs: it is
// that of an object which is shared or taken over, or it was not held by what is on record.
func (res *resource) isFirstWrite(path string) bool {
	if res.policy.claims || res.isFirstAdoption() {
		return true
	}
	held, known := res.previousLeaves()
	return known && !slices.ContainsFunc(held, func(leaf string) bool { return pathsOverlap(leaf, path) })
}

// matchesLocation reports whether the path of a difference leads to it, and to nothing else: a position
// may lead to another element, in a list whose others have keys.
func (res *resource) matchesLocation(d delta.Difference) bool {
	at, ok := delta.Locate(res.kind, res.live, d.Path)
	return !ok || !at.Value.Set || d.Live.Set && at.Path.Pointer() == d.LivePath().Pointer()
}

// previousLeaves are the leaves that were held by what is on record, if anything is.
func (res *resource) previousLeaves() (leaves []string, known bool) {
	r := res.previous
	if r == nil || r.entry == nil {
		return nil, false
	}
	return slices.Concat(r.entry.Leaves(res.kind, r.desired), r.entry.Empty(res.kind, r.desired)), true
}

// holdsIn reports whether a leaf at or below a path is held.
func (res *resource) holdsIn(path string) bool {
	return slices.ContainsFunc(res.heldPaths(), func(leaf string) bool { return observer.IsUnder(leaf, path) })
}

// heldPaths are the paths of all that is held.
func (res *resource) heldPaths() []string { return slices.Concat(res.leaves, res.empty) }

// writes reports whether the change is about something at, above or below a path.
func (res *resource) writes(path string) bool {
	return slices.ContainsFunc(res.compared.Differences, func(d delta.Difference) bool { return !d.HeldBack && pathsOverlap(d.Path, path) })
}

// isInManifest reports whether the manifest itself sets something at a path: what was learned is
// what was there.
func (res *resource) isInManifest(path string) bool {
	at, ok := delta.Locate(res.kind, res.object.Content, path)
	return ok && at.Value.Set
}

// originalFields are the fields that a difference is about, as they are now: the one that has another
// value, or those that are not there.
func (res *resource) originalFields(d delta.Difference, in Input) (fields []v1alpha1.BaselineField) {
	b := v1alpha1.BaselineField{Path: d.Path, Time: metav1.NewTime(in.Now.UTC()).Rfc3339Copy()}
	switch {
	case (d.Reason == delta.Changed || d.Reason == delta.Unwanted) && res.holdsIn(d.Path):
		value := encode(d.Live.Any)
		b.Value = &value
		writer, _ := in.authorsOf(res.object.ID, res.live).managerOfValue(d.LivePath())
		b.Manager = writer.Manager
		if d.Reason == delta.Unwanted {
			b.From = res.emptied(d)
		}
		return []v1alpha1.BaselineField{b}
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

// withCreatedParent is a baseline of a field that lies in a place that we have made: what is in there,
// and nobody else wrote, was not there before us.
func (res *resource) withCreatedParent(app *v1alpha1.Application, b v1alpha1.BaselineField, d delta.Difference) v1alpha1.BaselineField {
	if foreign := foreignTo(app, res.live); b.Value == nil || foreign != nil && foreign(d.LivePath()) {
		return b
	}
	for _, other := range res.baseline {
		if root := other.From; other.Value == nil && root != "" && !isMetadataMap(root) && observer.IsUnder(b.Path, root) {
			b.Value, b.Manager, b.From = nil, "", root
		}
	}
	return b
}

// limitBaselines leaves out what there is no room for. It is held all the same, and not
// restored, and that is said for as long as it is held.
func (p *Plan) limitBaselines() {
	room := maxBaselineBytes
	for _, res := range p.resources {
		if isSelected(res.object) {
			room += baselineBytesPerSelectedObject
		}
	}
	most := room
	for i := range p.in.Application.Status.Resources {
		for _, b := range p.in.Application.Status.Resources[i].Baseline {
			room -= len(encode(b).Raw)
		}
	}
	for _, res := range p.resources {
		known := map[string]bool{}
		for _, b := range recordedBaseline(p.statuses[res.object.ID], res.live) {
			known[b.Path] = true
		}
		res.baseline = slices.DeleteFunc(res.baseline, func(b v1alpha1.BaselineField) bool {
			length := len(encode(b).Raw)
			if known[b.Path] || length <= room {
				if !known[b.Path] {
					room -= length
				}
				return false
			}
			res.unrecorded = append(res.unrecorded, b.Path)
			return true
		})
		if len(res.unrecorded) > 0 {
			p.warn(fmt.Sprintf("%s: what %s was before does not fit into the %d KiB that there are for that: it is held, and not restored",
				res.object.ID, some(res.unrecorded), most/1024))
		}
	}
}

// dropBaselines leaves out of the baselines of a resource what its plan had no room for.
func (res *resource) dropBaselines(unrecorded []string) {
	res.baseline = slices.DeleteFunc(res.baseline, func(b v1alpha1.BaselineField) bool { return slices.Contains(unrecorded, b.Path) })
	for _, path := range unrecorded {
		if !slices.Contains(res.unrecorded, path) && res.holdsIn(path) {
			res.unrecorded = append(res.unrecorded, path)
		}
	}
}

// baselineValue is what a field was, which may be absent.
func baselineValue(b v1alpha1.BaselineField) delta.Value {
	if b.Value == nil {
		return delta.Value{}
	}
	value, ok := decodeValue(b.Value)
	return delta.Value{Set: ok, Any: value}
}

// warnUnrestorable warns of what is about to be removed from objects that get back what they had.
// The plan says so; afterwards there is nothing to say.
func (p *Plan) warnUnrestorable() {
	for _, res := range p.resources {
		if !res.policy.restores || !res.policy.existed {
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
			p.Warnings = append(p.Warnings, fmt.Sprintf("%s: what a rule removes is not on record, and not restored: %s", res.object.ID, some(lost)))
		}
	}
}
