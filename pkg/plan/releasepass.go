package plan

import (
	"cmp"
	"fmt"
	"slices"

	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/record"
)

// restoresRemovedFields reports whether the original values of fields that were removed from the manifest are
// restored, instead of removing the fields. This requires that the object existed before the Application, and that
// original values are recorded for it.
func (f *facts) restoresRemovedFields(res *resource) bool {
	return res.policy.Existed && f.recordsBaselines(res)
}

// releasesFields reports whether fields are released whose original values are restored.
func (f *facts) releasesFields(res *resource) bool {
	if !f.restoresRemovedFields(res) {
		return false
	}
	leaves, empty := res.previousLeaves()
	now := slices.Concat(res.entry.Leaves(res.kind, res.desired), res.entry.Empty(res.kind, res.desired))
	return slices.ContainsFunc(slices.Concat(leaves, empty), func(leaf string) bool { return !slices.Contains(now, leaf) })
}

// releasedPointers returns the JSON pointers of the released fields of an owned object. Only the release changes
// these fields: it restores their original values.
func (res *resource) releasedPointers(live map[string]any) []string {
	if !res.policy.Removes {
		return nil
	}
	var paths []string
	for _, b := range res.letting.baseline {
		paths = append(paths, b.Path)
	}
	return pointersTo(res.kind, live, paths)
}

// release decides whether the fields that have a baseline and are no longer held are restored, and returns the
// differences that restore them. If the release waits for the next patch, their baselines are kept. release also
// sets the held leaves and maps of an owned object, which the baselines depend on.
func (p releasePass) release(res *resource, waits bool) []delta.Difference {
	id, status := res.object.ID, p.statuses[res.object.ID]
	was, lost := record.Baseline(status, res.live), record.Unrecorded(status, res.live)
	if !p.recordsBaselines(res) && len(was)+len(lost) == 0 {
		return nil
	}
	if !res.policy.Claims {
		if !claim.IsHeldByOthers(p.in.Application, res.live) {
			res.leaves = res.entry.Leaves(res.kind, res.desired)
		}
		res.empty = res.entry.Empty(res.kind, res.desired)
	}
	if res.isFirstAdoption() && !p.recordedPolicy(res).Claims {
		return nil // there is nothing to release
	}
	letting := p.releaseFields(fieldReleaser{
		policy: res.policy, removesTracking: res.policy.Claims && res.holdsNothing(),
		entry: res.entry, id: id, kind: res.kind, live: res.live, held: res.heldPaths(), claimed: res.claimed, unrecordedLeaves: lost,
		fieldRelease: fieldRelease{waitsFor: res.waitsFor},
	}, was)
	if len(letting.awaited) > 0 {
		res.waitsFor, res.recheckAfter = letting.waitsFor, precedenceRecheckInterval
	}
	// The withdrawn fields of hooks are removed first, in a patch of their own.
	if waits {
		res.releasesNext, res.letting = letting.baseline, fieldRelease{awaited: letting.awaited, recheckAfter: letting.recheckAfter}
		return nil
	}
	res.letting = letting
	for _, stays := range letting.kept {
		res.warnings = append(res.warnings, stays.String())
	}
	return slices.Concat(letting.restored, letting.metadata)
}

// reportLeft reports the fields that the manifest drops and that stay, because they are not the Application's.
func (p releasePass) reportLeft(res *resource) {
	writers := p.in.writersOf(res.object.ID, res.live) // decodes managedFields once
	by := func(path *observer.Path) string {
		author, _ := writers().OfValue(path)
		return cmp.Or(quotedBy(author.Manager), " by another client")
	}
	for _, path := range res.compared.Left {
		stays := UnrestoredField{ID: res.object.ID, Path: path.String(), IsDropped: true, Why: "it was written" + by(path)}
		res.letting.kept = append(res.letting.kept, stays)
		res.warnings = append(res.warnings, stays.String())
	}
	for _, cut := range res.compared.Cut {
		left := make([]string, len(cut.Left))
		for i, path := range cut.Left {
			left[i] = path.String() + " was written" + by(path)
		}
		res.letting.cuts = append(res.letting.cuts, fmt.Sprintf("%s is removed only in part, because %s: to remove all of it, hold it with mode: absent", cut.Path, list(left)))
	}
}

// keepLeftParents removes the parents of a leaf that is left in the object from the baselines of the held leaves, so
// that they are not removed with the last of these leaves.
func (res *originals) keepLeftParents(left string) {
	for i, b := range res.baseline {
		if b.From != "" && observer.IsUnder(left, b.From) {
			res.baseline[i].From = ""
		}
	}
}
