package record

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// Baseline returns the valid baselines in the status, if they belong to this live object. It returns a copy. A
// baseline is invalid if its path is not normalized, or is not below the parent that it names.
func Baseline(status *v1alpha1.ResourceStatus, live map[string]any) []v1alpha1.BaselineField {
	if !isBaselineOf(status, live) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(status.Baseline), func(b v1alpha1.BaselineField) bool {
		// From must be a parent, because it is removed with the last of its fields.
		return !claim.IsLeaf(b.Path) || b.From != "" && (!claim.IsLeaf(b.From) || !observer.IsUnder(b.Path, b.From))
	})
}

// Unrecorded returns the fields of a live object whose baseline exceeded the size limit when they were
// first written.
func Unrecorded(status *v1alpha1.ResourceStatus, live map[string]any) []string {
	if !isBaselineOf(status, live) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(status.Unrecorded), func(path string) bool { return !claim.IsLeaf(path) })
}

// BaselinePaths returns the fields of a live object that were held, or are about to be: those with a
// baseline, and those whose baseline exceeded the size limit. Copies of the baselines of other Applications do not
// count.
func BaselinePaths(status *v1alpha1.ResourceStatus, live map[string]any) []string {
	paths := slices.Clone(Unrecorded(status, live))
	for _, b := range Baseline(status, live) {
		if b.Holder == "" {
			paths = append(paths, b.Path)
		}
	}
	return paths
}

// isBaselineOf reports whether the baselines in the status belong to this object, and not to another one of
// the same name. BaselineUID is set while the Application does not own or hold the object yet.
func isBaselineOf(status *v1alpha1.ResourceStatus, live map[string]any) bool {
	return status != nil && string(cmp.Or(status.BaselineUID, status.UID)) == manifest.NestedString(live, "metadata", "uid")
}

// Original returns the original value of a field. It is not set if the field did not exist, or if the recorded value
// cannot be decoded.
func Original(b v1alpha1.BaselineField) delta.Value { return decodeValue(b.Value) }

// decodeValue decodes a value in the status. It is not set for nil, or if it cannot be decoded.
func decodeValue(raw *runtime.RawExtension) delta.Value {
	if raw == nil {
		return delta.Value{}
	}
	value, ok := manifest.DecodeRawValue(raw)
	return delta.Value{Set: ok, Any: value}
}

// EncodeValue encodes a value for the status. It returns nil for an absent value.
func EncodeValue(v delta.Value) *runtime.RawExtension {
	if !v.Set {
		return nil
	}
	raw := manifest.EncodeRaw(v.Any)
	return &raw
}

// Describes reports whether an inventory entry is about a live object, and not about another one of the same
// name. Unlike isBaselineOf, it is false until the Application owns or holds the object.
func Describes(status *v1alpha1.ResourceStatus, live map[string]any) bool {
	return status != nil && status.UID != "" && string(status.UID) == manifest.NestedString(live, "metadata", "uid")
}
