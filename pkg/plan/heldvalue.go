package plan

import (
	"slices"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/record"
)

// withHeldDigests adds to a baseline the digests of the values that its field may have while it is held. When the
// field is released, its original value is restored only if the live value has one of these digests.
// These are the values known before, because the live object may be old; the live value, if it is in sync;
// and the desired value. Within a rule any client may set the value, so only the value that this
// Application writes counts. The value that it writes, if any, has the last digest. The oldest
// digests are dropped beyond record.MaxDigests.
func (res *resource) withHeldDigests(b v1alpha1.BaselineField) v1alpha1.BaselineField {
	held := slices.Clone(b.Held)
	// A digest that is known already becomes the last one.
	add := func(d string) {
		held = append(slices.DeleteFunc(held, func(known string) bool { return known == d }), d)
	}
	live, _ := delta.Locate(res.kind, res.live, b.Path)
	desired, _ := delta.Locate(res.kind, res.desired, b.Path)
	// Rules contains the rules of all compared leaves, so it is nil for a leaf without one.
	rule := res.compared.Rules[b.Path]
	if rule == nil && live.Value.Set && !res.hasDriftAt(b.Path) && !slices.Contains(held, record.Digest(live.Value.Any)) {
		add(record.Digest(live.Value.Any))
	}
	switch {
	case rule != nil && rule.Mode == observer.ModeAbsent:
		add(record.AbsentDigest)
	case desired.Value.Set && (rule == nil || rule.Mode != ""):
		add(record.Digest(desired.Value.Any))
	}
	// The difference has a bound, or the manifest's value without its empty maps.
	for _, d := range res.compared.Differences {
		if d.Path == b.Path && d.Desired.Set {
			add(record.Digest(d.Desired.Any))
		}
	}
	b.Held = held[max(0, len(held)-record.MaxDigests):]
	return b
}

// hasDriftAt reports whether anything at, above or below a path has drifted.
func (res *comparisons) hasDriftAt(path string) bool {
	return slices.ContainsFunc(res.drift, func(d delta.Difference) bool { return claim.Overlap(d.Path, path) })
}

// recordAcceptedDigests sets, in the baselines of the fields that were just written, the digests of the
// values that the API server stored. live is the response, and after its comparison. A field that has drifted in the
// response keeps its digests.
func (res *resource) recordAcceptedDigests(live map[string]any, after delta.Comparison) {
	// A clone, because the resource is a copy whose slices belong to the plan.
	baseline := slices.Clone(res.baseline)
	for i, b := range baseline {
		drifted := slices.ContainsFunc(after.Differences, func(d delta.Difference) bool { return claim.Overlap(d.Path, b.Path) })
		at, ok := delta.Locate(res.kind, live, b.Path)
		if drifted || !ok || !at.Value.Set || len(b.Held) == 0 {
			continue
		}
		last := b.Held[len(b.Held)-1]
		if baseline[i].Held = []string{last}; record.Digest(at.Value.Any) != last {
			baseline[i].Held = []string{record.Digest(at.Value.Any), last}
		}
	}
	res.baseline = baseline
}
