package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"slices"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// holdsAbsent reports whether a field is held as absent: its rule requires it, or the API server drops the
// value, which is a zero value.
func holdsAbsent(b v1alpha1.BaselineField) bool {
	for _, zero := range []any{false, int64(0), "", map[string]any{}, []any{}, nil} {
		if slices.Contains(b.Held, digest(zero)) {
			return true
		}
	}
	return slices.Contains(b.Held, absentDigest)
}

// absentDigest is the entry in the digests of a field for its absence.
const absentDigest = "absent"

// withHeldDigests adds to a baseline the digests of the values that its field may have while it is held.
// These are the values known before, because the live object may be old; the live value, if it is in sync;
// and the desired value. Within a rule any client may set the value, so only the value that this
// Application writes counts.
func (res *resource) withHeldDigests(b v1alpha1.BaselineField) v1alpha1.BaselineField {
	held := slices.Clone(b.Held)
	add := func(d string) {
		held = append(slices.DeleteFunc(held, func(known string) bool { return known == d }), d)
	}
	live, _ := delta.Locate(res.kind, res.live, b.Path)
	desired, _ := delta.Locate(res.kind, res.desired, b.Path)
	rule := res.compared.Rules[b.Path]
	if rule == nil && live.Value.Set && !res.hasDriftAt(b.Path) && !slices.Contains(held, digest(live.Value.Any)) {
		add(digest(live.Value.Any))
	}
	switch {
	case rule != nil && rule.Mode == observer.ModeAbsent:
		add(absentDigest)
	case rule != nil && rule.Mode == "":
		for _, d := range res.compared.Differences {
			if d.Path == b.Path && d.Desired.Set {
				add(digest(d.Desired.Any))
			}
		}
	case desired.Value.Set:
		add(digest(desired.Value.Any))
	}
	b.Held = held[max(0, len(held)-maxHeldDigests):]
	return b
}

// maxHeldDigests limits the digests of a field. The response to a write leaves two.
const maxHeldDigests = 4

// hasDriftAt reports whether anything at, above or below a path has drifted.
func (res *comparisons) hasDriftAt(path string) bool {
	return slices.ContainsFunc(res.drift, func(d delta.Difference) bool { return claim.Overlap(d.Path, path) })
}

// recordAcceptedDigests sets, in the baselines of the fields that were just written, the digests of the
// values that the API server stored.
func (res *resource) recordAcceptedDigests(live map[string]any, after delta.Comparison) {
	baseline := slices.Clone(res.baseline)
	for i, b := range baseline {
		drifted := slices.ContainsFunc(after.Differences, func(d delta.Difference) bool { return claim.Overlap(d.Path, b.Path) })
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

// digest returns a short hash of a value, which identifies the held value.
func digest(v any) string {
	sum := sha256.Sum256(manifest.EncodeJSON(canonical(v)))
	return hex.EncodeToString(sum[:8])
}

// canonical returns a value with one representation for equal numbers.
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
