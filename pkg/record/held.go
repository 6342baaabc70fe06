package record

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"slices"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
)

// HoldsAbsent reports whether a field is held as absent: its rule requires it, or the held value is a zero value,
// which the API server may omit.
func HoldsAbsent(b v1alpha1.BaselineField) bool {
	isHeld := func(zero any) bool { return slices.Contains(b.Held, Digest(zero)) }
	return slices.Contains(b.Held, AbsentDigest) || slices.ContainsFunc([]any{false, int64(0), "", map[string]any{}, []any{}, nil}, isHeld)
}

// AbsentDigest is the entry in the digests of a field for its absence. No digest of a value equals it.
const AbsentDigest = "absent"

// MaxDigests limits the digests of a field. The response to a write leaves two: the stored and the written value.
const MaxDigests = 4

// Digest returns a short hash of a value, which identifies the held value. Equal values have the same digest, also if
// one was decoded as int64 and the other as float64.
func Digest(v any) string {
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
		// Beyond that, a float64 does not identify one integer.
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v)
		}
	}
	return v
}

// IsAsHeld reports whether the live value of a field is one that its holder wrote, or the original value. An absent
// field is as held if it was absent at first, or is held as absent.
func IsAsHeld(kind *kinds.Node, live map[string]any, b v1alpha1.BaselineField) bool {
	// A field whose parent is missing is absent, too.
	at, _ := delta.Locate(kind, live, b.Path)
	if !at.Value.Set {
		return b.Value == nil || HoldsAbsent(b)
	}
	return slices.Contains(b.Held, Digest(at.Value.Any)) || at.Value.Equal(Original(b))
}
