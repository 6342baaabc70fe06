package mysql

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// values is a map in a manifest, and list is a list.
type (
	values = map[string]any
	list   = []any
)

// integerAt returns the integer at a path of an object, or 0. The path must lead through maps. A number with a fraction
// counts as 0.
func integerAt(object values, path ...string) int64 {
	count, _, _ := unstructured.NestedInt64(object, path...)
	return count
}
