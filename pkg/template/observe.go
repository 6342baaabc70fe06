package template

import (
	"slices"
	"strings"

	"holdfast.dev/holdfast/pkg/observer"
)

// Observe returns an observer schema for a manifest. It holds the fields that the manifest sets and leaves
// other fields free:
//
//	in the manifest        in the schema
//	a scalar               observed
//	a map                  its keys; others are free
//	a list of maps         its elements; more are allowed
//	a list of scalars      exactly these
//
// free lists field paths to leave out, such as spec.accessModes. These fields are not held after the object
// is created. Keys with dots cannot be named.
func Observe(manifest map[string]any, free ...string) map[string]any {
	entry := observeMap(manifest, "", free)
	entry["apiVersion"], entry["kind"] = manifest["apiVersion"], manifest["kind"]
	source, _ := manifest["metadata"].(map[string]any)
	metadata := map[string]any{"name": source["name"]}
	if namespace := source["namespace"]; namespace != nil {
		metadata["namespace"] = namespace
	}
	for _, field := range []string{"labels", "annotations"} {
		if values, ok := source[field].(map[string]any); ok && !slices.Contains(free, "metadata."+field) {
			metadata[field] = observeMap(values, "metadata."+field, free)
		}
	}
	entry["metadata"] = metadata
	return entry
}

// observeMap returns the schema of a map at a path, without its free fields.
func observeMap(values map[string]any, path string, free []string) map[string]any {
	result := make(map[string]any, len(values))
	for name, value := range values {
		if below := strings.TrimPrefix(path+"."+name, "."); !slices.Contains(free, below) {
			result[name] = observe(value, below, free)
		}
	}
	return result
}

// observe returns the schema of any value at a path.
func observe(value any, path string, free []string) any {
	switch value := value.(type) {
	case map[string]any:
		return observeMap(value, path, free)
	case []any:
		return observeList(value, path, free)
	default:
		return observer.LeafText
	}
}

// observeList returns the schema of a list. Its elements have the path of the list, so that free also applies to
// their fields.
func observeList(list []any, path string, free []string) []any {
	// Other clients can add maps, such as containers, but not scalars, such as arguments.
	longest := len(list)
	result := make([]any, 0, len(list)+1)
	for _, element := range list {
		if _, isMap := element.(map[string]any); isMap {
			longest = 0 // no limit
		}
		result = append(result, observe(element, path, free))
	}
	return append(result, map[string]any{observer.KeyMinLength: len(list), observer.KeyMaxLength: longest})
}
