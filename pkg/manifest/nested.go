package manifest

import (
	"bytes"
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// NestedString returns a string in an object. It returns "" if the field is absent or not a string. object can be nil.
// Use it if an absent value and a wrong type need no distinction, as in objects from an API server.
func NestedString(object map[string]any, fields ...string) string {
	s, _, _ := unstructured.NestedString(object, fields...)
	return s
}

// NestedMap returns a map in an object. It does not copy it. It returns nil if the field is absent or not a map. object
// can be nil. Without fields, it returns the object.
func NestedMap(object map[string]any, fields ...string) map[string]any {
	for _, field := range fields {
		object, _ = object[field].(map[string]any)
	}
	return object
}

// EnsureMap returns a map in an object, such as its metadata. It replaces a field that is absent or not a map by a new
// map. object must not be nil, and must not be shared. A later change of the result changes the object.
func EnsureMap(object map[string]any, field string) map[string]any {
	m, _ := object[field].(map[string]any)
	if m == nil {
		m = map[string]any{}
		object[field] = m
	}
	return m
}

// NestedMaps returns the elements of a list that are maps. It does not copy them. It returns nil if the field is not a
// list. Indices of the result do not correspond to those of the list if it has other elements.
func NestedMaps(live map[string]any, path ...string) []map[string]any {
	list, _, _ := unstructured.NestedFieldNoCopy(live, path...)
	items, _ := list.([]any)
	var maps []map[string]any
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			maps = append(maps, m)
		}
	}
	return maps
}

// MapChildren returns a copy of a map or a list with the results of replace for its values. It returns other values
// unchanged. A recursive replace copies the whole value.
func MapChildren(value any, replace func(any) any) any {
	switch value := value.(type) {
	case map[string]any:
		m := make(map[string]any, len(value))
		for name, child := range value {
			m[name] = replace(child)
		}
		return m
	case []any:
		l := make([]any, len(value))
		for i, child := range value {
			l[i] = replace(child)
		}
		return l
	}
	return value
}

// EncodeJSON encodes JSON without escaping for HTML. Escaped <, > and & are hard to read in messages and in manifests
// with scripts.
func EncodeJSON(v any) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(v) // the values can always be encoded
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
