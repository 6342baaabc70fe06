package mysql

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// values is a map of a manifest, and list a list of one.
type (
	values = map[string]any
	list   = []any
)

// textOf is a map of texts as labels have it.
func textOf(v values) map[string]string {
	texts := make(map[string]string, len(v))
	for key, value := range v {
		texts[key], _ = value.(string)
	}
	return texts
}

// textAt is a text in an object, "" if there is none.
func textAt(object values, path ...string) string {
	text, _, _ := unstructured.NestedString(object, path...)
	return text
}

// countAt is a number in an object, 0 if there is none.
func countAt(object values, path ...string) int64 {
	count, _, _ := unstructured.NestedInt64(object, path...)
	return count
}
