package mysql

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// values is a map in a manifest, and list is a list.
type (
	values = map[string]any
	list   = []any
)

// stringMap converts a map to one of strings, as used for labels.
func stringMap(v values) map[string]string {
	texts := make(map[string]string, len(v))
	for key, value := range v {
		texts[key], _ = value.(string)
	}
	return texts
}

// integerAt returns the integer at a path of an object, or 0. The path must lead through maps. A number with a fraction
// counts as 0.
func integerAt(object values, path ...string) int64 {
	count, _, _ := unstructured.NestedInt64(object, path...)
	return count
}
