package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/observer"
)

// maxBaseline is how long the records of what fields were before may be, of one Application.
const maxBaseline = 64 * 1024

// moreBaseline is how much longer they may be for each object that spec.select means.
const moreBaseline = 512

// restores reports whether fields of shared objects, or of owned ones, get back what they had
// when they are held no longer.
func restores(app *v1alpha1.Application, shared bool) bool {
	if shared {
		return app.Spec.OnRelease != v1alpha1.ReleaseLeave
	}
	return app.Spec.OnRelease == v1alpha1.ReleaseRestore
}

// baselineOf is what a live object was before us, as far as that is known: what is on record,
// and what others have handed on to us.
func baselineOf(app *v1alpha1.Application, status *v1alpha1.ResourceStatus, live map[string]any) []v1alpha1.BaselineField {
	return withHanded(recordOf(status, live), handedTo(app, live))
}

// recordOf is what is on record of a live object from before us.
func recordOf(status *v1alpha1.ResourceStatus, live map[string]any) []v1alpha1.BaselineField {
	if !isBefore(status, live) {
		return nil
	}
	return status.Baseline
}

// unrecordedOf are the fields of a live object that were written first when there was no room
// to record what they were.
func unrecordedOf(status *v1alpha1.ResourceStatus, live map[string]any) []string {
	if !isBefore(status, live) {
		return nil
	}
	return status.Unrecorded
}

// recordedOf are the fields of a live object that were held, or are about to be: something is
// on record of them, or there was no room.
func recordedOf(app *v1alpha1.Application, status *v1alpha1.ResourceStatus, live map[string]any) []string {
	paths := slices.Clone(unrecordedOf(status, live))
	for _, b := range baselineOf(app, status, live) {
		paths = append(paths, b.Path)
	}
	return paths
}

// isBefore reports whether what is on record is about this object, and not about another one
// of its name.
func isBefore(status *v1alpha1.ResourceStatus, live map[string]any) bool {
	return status != nil && string(cmp.Or(status.BaselineUID, status.UID)) == text(live, "metadata", "uid")
}

// rememberBefore puts together what the held fields of an object were before us: what is on
// record, and what this change is about to overwrite for the first time. Of a shared object:
//
//	the field   on record   the holders name us   then
//	in place    yes                               kept
//	drifted     yes         with it               kept: our first write is long done
//	drifted     yes         or not                anew: our write never came to it, or the object was put back
//	drifted     no                                new: it was in place, and is not ours
//	in place    no                                nothing is overwritten
//
// It does so under spec.onRelease Leave, too: that may change. Of an owned one see remembers
// and isFirst.
func (p *Plan) rememberBefore(res *resource) {
	before := p.statuses[res.object.ID]
	for _, b := range handedTo(p.in.Application, res.live) {
		res.handed = append(res.handed, b.Path)
	}
	for _, b := range baselineOf(p.in.Application, before, res.live) {
		if p.stands(res, b.Path) {
			res.baseline = append(res.baseline, res.withHeld(b))
		}
	}
	for _, path := range unrecordedOf(before, res.live) {
		if p.stands(res, path) {
			res.unrecorded = append(res.unrecorded, path)
		}
	}
	for _, d := range res.compared.Differences {
		if d.HeldBack || !res.isAt(d) {
			continue
		}
		for _, b := range res.before(d, p.in) {
			if isSet := d.Rule != nil || res.isWritten(b.Path); isSet && !res.isCovered(b.Path) && res.isToRemember(b) {
				res.baseline = append(res.baseline, res.withHeld(res.asMade(p.in.Application, b, d)))
			}
		}
	}
	slices.SortFunc(res.baseline, func(a, b v1alpha1.BaselineField) int { return strings.Compare(a.Path, b.Path) })
}

// stands reports whether what is on record of a path, or that there was no room for it, stays so.
func (p *Plan) stands(res *resource, path string) bool {
	switch {
	case !res.holdsIn(path):
		return false
	case !res.shared:
		return !res.takesOver() || p.wasShared(res) && !res.writes(path)
	case !res.writes(path):
		return true
	}
	mine, isHolder := holdersOf(res.live).of(p.in.Application)
	return isHolder && (mine.Leaves == nil || slices.ContainsFunc(mine.Leaves, func(leaf string) bool { return observer.Under(leaf, path) }))
}

// isCovered reports whether it is on record what a path was, or that there was no room for it.
func (res *resource) isCovered(path string) bool {
	return slices.ContainsFunc(res.unrecorded, func(known string) bool { return observer.Under(path, known) }) ||
		slices.ContainsFunc(res.baseline, func(b v1alpha1.BaselineField) bool { return observer.Under(path, b.Path) })
}

// isToRemember reports whether a field goes on record: it is written for the first time, is no
// Secret's, and would not just be removed.
func (res *resource) isToRemember(b v1alpha1.BaselineField) bool {
	isPruned := res.prunes() && b.Value == nil
	return !isPruned && res.isFirst(b.Path) && !secretPath(res.object.ID, b.Path)
}

// isNewlyAdopted reports whether an object is about to be adopted, or was, and what is on record
// is of the one before.
func (res *resource) isNewlyAdopted(status *v1alpha1.ResourceStatus) bool {
	return res.takesOver() || res.adopted && status != nil && string(status.UID) != res.change.UID
}

// remembers reports whether it goes on record what fields of an owned object were before they
// were held.
func (p *Plan) remembers(res *resource) bool { return !res.shared && restores(p.in.Application, false) }

// prunes reports whether what leaves the manifest of an object is removed: we have made it, and
// nothing was there before.
func (res *resource) prunes() bool { return !res.shared && !res.adopted && res.entry.Default }

// takesOver reports whether an object is about to be adopted that was never ours: all of it was
// there before.
func (res *resource) takesOver() bool { return res.adopting && !res.returns }

// wasShared reports whether fields of an object were held before it is owned.
func (p *Plan) wasShared(res *resource) bool {
	status := p.statuses[res.object.ID]
	return status != nil && status.Ownership == v1alpha1.OwnershipShare
}

// isFirst reports whether a leaf is about to be written for the first time, if it differs: it is
// that of an object which is shared or taken over, or it was not held by what is on record.
func (res *resource) isFirst(path string) bool {
	if res.shared || res.takesOver() {
		return true
	}
	held, known := res.heldBefore()
	return known && !slices.ContainsFunc(held, func(leaf string) bool { return sameWayDown(leaf, path) })
}

// isAt reports whether the path of a difference leads to it, and to nothing else: a position
// may lead to another element, in a list whose others have keys.
func (res *resource) isAt(d delta.Difference) bool {
	at, ok := delta.Locate(res.kind, res.live, d.Path)
	return !ok || !at.Value.Set || d.Observed.Set && at.Path.Pointer() == d.LivePath().Pointer()
}

// heldBefore are the leaves that were held by what is on record, if anything is.
func (res *resource) heldBefore() (leaves []string, known bool) {
	r := res.previous
	if r == nil || r.entry == nil {
		return nil, false
	}
	return slices.Concat(r.entry.Leaves(res.kind, r.desired), r.entry.Empty(res.kind, r.desired)), true
}

// holdsIn reports whether a leaf at or below a path is held.
func (res *resource) holdsIn(path string) bool {
	return slices.ContainsFunc(res.allHeld(), func(leaf string) bool { return observer.Under(leaf, path) })
}

// allHeld are the paths of all that is held.
func (res *resource) allHeld() []string { return slices.Concat(res.leaves, res.empty) }

// writes reports whether the change is about something at, above or below a path.
func (res *resource) writes(path string) bool {
	return slices.ContainsFunc(res.compared.Differences, func(d delta.Difference) bool { return !d.HeldBack && sameWayDown(d.Path, path) })
}

// isWritten reports whether the manifest itself sets something at a path: what was learned is
// what was there.
func (res *resource) isWritten(path string) bool {
	at, ok := delta.Locate(res.kind, res.object.Content, path)
	return ok && at.Value.Set
}

// before are the fields that a difference is about, as they are now: the one that has another
// value, or those that are not there.
func (res *resource) before(d delta.Difference, in Input) (fields []v1alpha1.BaselineField) {
	b := v1alpha1.BaselineField{Path: d.Path, Time: metav1.NewTime(in.Now.UTC()).Rfc3339Copy()}
	switch {
	case (d.Reason == delta.Changed || d.Reason == delta.Unwanted) && res.holdsIn(d.Path):
		value := encode(d.Observed.Any)
		b.Value = &value
		b.Manager = writerOf(in.Application, res.live, d.LivePath())
		if d.Reason == delta.Unwanted {
			b.From = res.emptied(d)
		}
		return []v1alpha1.BaselineField{b}
	case d.Reason == delta.Missing:
		for _, leaf := range res.allHeld() {
			if observer.Under(leaf, d.Path) {
				if b.Path, b.From = leaf, ""; leaf != d.Path {
					b.From = d.Path
				}
				fields = append(fields, b)
			}
		}
	}
	return fields
}

// asMade is a baseline of a field that lies in a place that we have made: what is in there,
// and nobody else wrote, was not there before us.
func (res *resource) asMade(app *v1alpha1.Application, b v1alpha1.BaselineField, d delta.Difference) v1alpha1.BaselineField {
	if foreign := foreignTo(app, res.live); b.Value == nil || foreign != nil && foreign(d.LivePath()) {
		return b
	}
	for _, other := range res.baseline {
		if root := other.From; other.Value == nil && root != "" && !isMetadataMap(root) && observer.Under(b.Path, root) {
			b.Value, b.Manager, b.From = nil, "", root
		}
	}
	return b
}

// heldAbsent stands among the digests of a field for that it is not there.
const heldAbsent = "absent"

// withHeld is a baseline with what its field may be while it is held: what it was known to
// be, for what is live here may be old; what is live, where it is in place; and what is
// desired. Inside a rule a value is its writer's: there it is what we write that is held.
func (res *resource) withHeld(b v1alpha1.BaselineField) v1alpha1.BaselineField {
	held := slices.Clone(b.Held)
	add := func(d string) {
		held = append(slices.DeleteFunc(held, func(known string) bool { return known == d }), d)
	}
	live, _ := delta.Locate(res.kind, res.live, b.Path)
	desired, _ := delta.Locate(res.kind, res.desired, b.Path)
	rule := res.compared.Rules[b.Path]
	if rule == nil && live.Value.Set && !res.differs(b.Path) && !slices.Contains(held, digest(live.Value.Any)) {
		add(digest(live.Value.Any))
	}
	switch {
	case rule != nil && rule.Mode == observer.ModeAbsent:
		add(heldAbsent)
	case rule != nil && rule.Mode == "":
		for _, d := range res.compared.Differences {
			if d.Path == b.Path && d.Desired.Set {
				add(digest(d.Desired.Any))
			}
		}
	case desired.Value.Set:
		add(digest(desired.Value.Any))
	}
	b.Held = held[max(0, len(held)-mostHeld):]
	return b
}

// mostHeld is how many digests of a field are kept. An answer to a write of ours leaves two.
const mostHeld = 4

// differs reports whether anything at, above or below a path has drifted.
func (res *resource) differs(path string) bool {
	return slices.ContainsFunc(res.drift, func(d delta.Difference) bool { return sameWayDown(d.Path, path) })
}

// fitBaselines leaves out what there is no room for. It is held all the same, and not
// restored, and that is said for as long as it is held.
func (p *Plan) fitBaselines() {
	room := maxBaseline
	for _, res := range p.resources {
		if isSelected(res.object) {
			room += moreBaseline
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
		for _, b := range recordOf(p.statuses[res.object.ID], res.live) {
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

// leaveOut leaves out of the baselines of a resource what its plan had no room for.
func (res *resource) leaveOut(unrecorded []string) {
	res.baseline = slices.DeleteFunc(res.baseline, func(b v1alpha1.BaselineField) bool { return slices.Contains(unrecorded, b.Path) })
	for _, path := range unrecorded {
		if !slices.Contains(res.unrecorded, path) && res.holdsIn(path) {
			res.unrecorded = append(res.unrecorded, path)
		}
	}
}

// seenHeld has the baselines of fields that we have just written know what the API server
// made of them.
func (res *resource) seenHeld(live map[string]any, after delta.Comparison) {
	baseline := slices.Clone(res.baseline)
	for i, b := range baseline {
		drifted := slices.ContainsFunc(after.Differences, func(d delta.Difference) bool { return sameWayDown(d.Path, b.Path) })
		at, ok := delta.Locate(res.kind, live, b.Path)
		if drifted || !ok || !at.Value.Set || len(b.Held) == 0 {
			continue
		}
		last := b.Held[len(b.Held)-1]
		if baseline[i].Held = []string{last}; digest(at.Value.Any) != last {
			baseline[i].Held = []string{digest(at.Value.Any), last}
		}
	}
	res.baseline = baseline
}

// digest stands for a value: what we hold is known again by it.
func digest(v any) string {
	sum := sha256.Sum256(marshal(canonical(v)))
	return hex.EncodeToString(sum[:8])
}

// canonical is a value in which equal numbers are written alike.
func canonical(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for name, child := range v {
			m[name] = canonical(child)
		}
		return m
	case []any:
		l := make([]any, len(v))
		for i, child := range v {
			l[i] = canonical(child)
		}
		return l
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v)
		}
	}
	return v
}

// valueBefore is what a field was, which may be absent.
func valueBefore(b v1alpha1.BaselineField) delta.Value {
	if b.Value == nil {
		return delta.Value{}
	}
	value, ok := decodeValue(b.Value)
	return delta.Value{Set: ok, Any: value}
}

// warnOfLosses warns of what is about to be removed from objects that get back what they had.
// The plan says so; afterwards there is nothing to say.
func (p *Plan) warnOfLosses() {
	for _, res := range p.resources {
		if !restores(p.in.Application, res.shared) || !res.shared && !res.takesOver() && !res.adopted {
			continue
		}
		var lost []string
		for _, d := range res.compared.Differences {
			isRemoved := d.Reason == delta.Unwanted || d.Reason == delta.Extra
			if !d.HeldBack && isRemoved && !res.isCovered(d.Path) {
				lost = append(lost, d.Path)
			}
		}
		if len(lost) > 0 {
			p.Warnings = append(p.Warnings, fmt.Sprintf("%s: what a rule removes is not on record, and not restored: %s", res.object.ID, some(lost)))
		}
	}
}
