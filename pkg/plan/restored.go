package plan

import (
	"fmt"
	"slices"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/record"
)

// unmask replaces the masked values of Secrets in a restored translation, and in the manifests of its
// Applications, by the live values. The status masks them. A Secret without live values cannot be applied
// until the source is available. unmask replaces the source of the plan, and does not change the caller's.
func (f *facts) unmask() {
	if !f.restored() {
		return
	}
	// A copy, because the caller keeps its source.
	app, source := f.in.Application, *f.in.Source
	statuses := record.ByID(app.Status.Resources)
	source.Objects = slices.Clone(source.Objects)
	f.in.Source = &source
	for i, content := range source.Objects {
		id, ok := manifest.Identify(content, app.Namespace, f.in.Kinds)
		if !ok || !manifest.IsSecret(id.GroupKind()) && !manifest.HasManifests(id.GroupKind()) {
			continue
		}
		live := f.in.Live[id]
		if live != nil && !claim.IsOwned(app, id, statuses[id], live) {
			// Values of an object with another owner must not become desired values.
			live = nil
		}
		whole, known := unmasked(content, live)
		source.Objects[i] = whole.(map[string]any)
		if !known {
			f.unknown = append(f.unknown, id)
		}
	}
}

// sourceProblem returns the Problem of an object with unknown Secret values, or nil if the values are known. Such an
// object is neither created nor corrected.
func (p decider) sourceProblem(id manifest.ID) *Problem {
	if !slices.Contains(p.unknown, id) {
		return nil
	}
	return &Problem{Reason: v1alpha1.ReasonFetchFailed, Message: fmt.Sprintf("%s has values that are not known until the source is available again", id)}
}

// unmasked returns a value with its masked parts replaced by those of the live value. known is false if the
// live value lacks one of them. It copies maps and lists. List elements must have the same position, kind and name.
func unmasked(value, live any) (whole any, known bool) {
	switch value := value.(type) {
	case map[string]any:
		from, _ := live.(map[string]any)
		filled := make(map[string]any, len(value))
		known = true
		for name, child := range value {
			part, has := unmasked(child, from[name])
			filled[name], known = part, known && has
		}
		return filled, known
	case []any:
		from, _ := live.([]any)
		filled := make([]any, len(value))
		known = true
		for i, child := range value {
			var there any
			// Only lists of manifests and of selections have masked values, and their order can change.
			if i < len(from) && sameName(child, from[i]) {
				there = from[i]
			}
			part, has := unmasked(child, there)
			filled[i], known = part, known && has
		}
		return filled, known
	case string:
		if value == manifest.Masked && live == nil {
			return "", false
		}
		if value == manifest.Masked {
			return live, true
		}
	}
	return value, true
}

// sameName reports whether two manifests have the same kind and name, or two items of spec.select match the same
// objects. It is true for two values that are neither.
func sameName(a, b any) bool {
	x, _ := a.(map[string]any)
	y, _ := b.(map[string]any)
	for _, field := range []string{"kind", "namespaces", "names", "selector"} {
		if !observer.Equal(x[field], y[field]) {
			return false
		}
	}
	return manifest.NestedString(x, "metadata", "name") == manifest.NestedString(y, "metadata", "name")
}
