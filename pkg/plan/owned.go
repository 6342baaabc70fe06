package plan

import (
	"slices"

	"holdfast.dev/holdfast/pkg/delta"
)

// restoresRemovedFields reports whether what leaves the manifest of an owned object gets back what it had,
// and is not removed for that: the object was there before us.
func (p *Plan) restoresRemovedFields(res *resource) bool {
	return p.recordsOwnedBaselines(res) && res.adopted
}

// releasesFields reports whether leaves of an object that gives back what it had are held no longer.
func (p *Plan) releasesFields(res *resource) bool {
	if !p.restoresRemovedFields(res) {
		return false
	}
	held, _ := res.previousLeaves()
	now := slices.Concat(res.entry.Leaves(res.kind, res.desired), res.entry.Empty(res.kind, res.desired))
	return slices.ContainsFunc(held, func(leaf string) bool { return !slices.Contains(now, leaf) })
}

// releasedPointers are the pointers of the leaves of an owned object that are let go: they get back
// what they had, and nothing else is done about them.
func (res *resource) releasedPointers(live map[string]any) (pointers []string) {
	if res.shared {
		return nil
	}
	for _, b := range res.letting.baseline {
		if at, ok := delta.Locate(res.kind, live, b.Path); ok {
			pointers = append(pointers, at.Path.Pointer())
		}
	}
	return pointers
}

// restoredFields is what the leaves of an owned object get back that are on record and held no
// longer. Where that has to wait for the next patch, it stays on record.
func (p *Plan) restoredFields(res *resource, waits bool) []delta.Difference {
	id, status := res.object.ID, p.statuses[res.object.ID]
	was, lost := recordedBaseline(status, res.live), unrecordedPaths(status, res.live)
	if !p.recordsOwnedBaselines(res) && len(was)+len(lost) == 0 {
		return nil
	}
	if !isHeldByOthers(p.in.Application, res.live) {
		res.leaves = res.entry.Leaves(res.kind, res.desired)
	}
	res.empty = res.entry.Empty(res.kind, res.desired)
	if res.isFirstAdoption() && !p.wasShared(res) {
		return nil // it is anew
	}
	letting := p.releaseFields(fieldReleaser{entry: res.entry, id: id, kind: res.kind, live: res.live, held: res.heldPaths(), unrecordedLeaves: lost}, was)
	if waits {
		res.releasesNext = letting.baseline
		return nil
	}
	res.letting = letting
	for _, stays := range letting.kept {
		res.warnings = append(res.warnings, stays.String())
	}
	return slices.Concat(letting.restored, letting.metadata)
}
