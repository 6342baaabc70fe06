package observer

import (
	"maps"

	"holdfast.dev/holdfast/pkg/manifest"
)

// DroppedNulls returns the paths of the leaves that a client dropped. sent is the schema that the user
// wrote, from the annotation of a client-side apply. stored is the schema that the API server has. kubectl
// apply drops every null inside a map.
//
// It returns nil if the two differ in more than nulls. The annotation then belongs to an older version of the
// Application. sent has {replicas: null} and stored has {}: the result is [0].spec.replicas. Without it, the field
// would silently be free.
func DroppedNulls(sent, stored []any) []string {
	if !Equal(withoutNulls(sent), withoutNulls(stored)) {
		return nil
	}
	var lost []string
	findLost(nil, sent, stored, &lost)
	return lost
}

// findLost appends the paths of the nulls in sent that stored lacks. kubectl keeps nulls in lists, so only fields of
// maps can be lost.
func findLost(path *Path, sent, stored any, lost *[]string) {
	switch s := sent.(type) {
	case map[string]any:
		m, _ := stored.(map[string]any)
		for _, name := range sortedKeys(s) {
			v, arrived := m[name]
			if s[name] == nil && !arrived {
				*lost = append(*lost, path.Field(name).String())
				continue
			}
			findLost(path.Field(name), s[name], v, lost)
		}
	case []any:
		l, _ := stored.([]any)
		for i := range s {
			findLost(path.Element(positionLabel(i), -1), s[i], elementAt(l, i), lost)
		}
	}
}

// withoutNulls returns a copy without the null fields of maps, at any depth. Nulls in lists are kept.
func withoutNulls(v any) any {
	v = manifest.MapChildren(v, withoutNulls)
	if m, isMap := v.(map[string]any); isMap {
		maps.DeleteFunc(m, func(_ string, child any) bool { return child == nil })
	}
	return v
}

// ReplaceNulls returns a copy of a schema in which LeafText replaces every null leaf, because many clients drop nulls.
// Fields that identify the resource, and control dictionaries, are unchanged. Files of other tools have null leaves.
// The commands call it before they send or validate a file.
func ReplaceNulls(entry map[string]any) map[string]any {
	replaced := maps.Clone(entry)
	for name, value := range entry {
		if name == "apiVersion" || name == "kind" {
			continue
		}
		replaced[name] = replaceNulls(value)
		// A name that is null must remain invalid, and not become the name "observed".
		if metadata, ok := replaced[name].(map[string]any); ok && name == "metadata" {
			if given, has := entry[name].(map[string]any)["name"]; has {
				metadata["name"] = given
			}
		}
	}
	return replaced
}

// replaceNulls returns a copy of a value in a schema with LeafText for each null. It returns control dictionaries
// unchanged, because null is not a leaf in them.
func replaceNulls(v any) any {
	if v == nil {
		return LeafText
	}
	if m, isMap := v.(map[string]any); isMap && hasControlKey(m) {
		return v
	}
	return manifest.MapChildren(v, replaceNulls)
}
