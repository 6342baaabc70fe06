package slice

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"holdfast.dev/holdfast/internal/compress"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
)

// SpecBytes is the size of an Application, as JSON, from which its manifests are split.
const SpecBytes = 1 << 20

// MinListBytes is the size from which a list is moved to slices.
const MinListBytes = 64 << 10

// SplitSpec moves the manifests and the observer schema of a spec, a JSON object, to slices, each if it is larger
// than the given number of bytes. Elements with values of Secrets are not moved; they follow the slices. The given
// spec is not changed.
func SplitSpec(namespace, application string, spec map[string]any, few int) (stored map[string]any, parts []v1alpha1.ApplicationSlice, err error) {
	stored = map[string]any{}
	for field, value := range spec {
		list, _ := value.([]any)
		if stored[field] = value; field != "manifest" && field != "observerSchema" {
			continue
		}
		inSlices := slices.DeleteFunc(slices.Clone(list), hasSecrets)
		left := slices.DeleteFunc(slices.Clone(list), func(item any) bool { return !hasSecrets(item) })
		raw, err := json.Marshal(inSlices)
		if err != nil {
			return nil, nil, fmt.Errorf("writing spec.%s: %w", field, err)
		}
		if len(inSlices) == 0 || len(raw) <= few {
			continue
		}
		more, names := split(namespace, application, compress.Encode(raw))
		named := make([]any, len(names))
		for i, name := range names {
			named[i] = name
		}
		stored[field] = append([]any{map[string]any{"slices": named}}, left...)
		parts = append(parts, more...)
	}
	return stored, parts, nil
}

// hasSecrets reports whether a manifest, or a nested one, contains values that are masked in output.
func hasSecrets(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		if value["kind"] == "Secret" && !reflect.DeepEqual(manifest.Redact(value), value) {
			return true
		}
		for _, child := range value {
			if hasSecrets(child) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(value, hasSecrets)
	}
	return false
}
