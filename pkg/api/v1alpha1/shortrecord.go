package v1alpha1

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Before v0.1.0, a packed record had short forms in place of schemas and observed states that follow from the desired
// state. They are read for one version.
//
//	in the place of    the record has                means
//	the schema         "as desired"                  every leaf is observed, every list has its length
//	                   ["as desired",3,8]            the same, but the maps or lists 3 and 8, counted from 0, are one leaf each
//	                   "as desired, open"            every leaf is observed, every list has its length as minimum
//	                   ["as desired, open",3,8]      the same, with leaves
//	the observed state "as desired"                  the desired state
//	                   "as desired, with lengths"    the same, with the number of its elements at the end of each list
const (
	shortForm    = "as desired"
	openLists    = "as desired, open"
	statesLength = "as desired, with lengths"
)

// expandedSchema returns the schema of a short form. It returns other input unchanged.
func expandedSchema(short, desired []byte) []byte {
	var form []any
	if bytes.HasPrefix(short, []byte(`["as`)) {
		_ = json.Unmarshal(short, &form)
	} else if bytes.HasPrefix(short, []byte(`"as`)) {
		form = []any{strings.Trim(string(short), `"`)}
	}
	if len(form) == 0 || form[0] != shortForm && form[0] != openLists {
		return short
	}
	leaves := map[int]bool{}
	for _, n := range form[1:] {
		position, _ := n.(float64)
		leaves[int(position)] = true
	}
	return (&recordExpander{leaves: leaves, open: form[0] == openLists}).expand(desired, short)
}

// expandedState returns the observed state of a short form. It returns other input unchanged.
func expandedState(short, desired []byte) []byte {
	switch string(short) {
	case `"` + shortForm + `"`:
		return bytes.Clone(desired)
	case `"` + statesLength + `"`:
		return (&recordExpander{}).expand(desired, short)
	}
	return short
}

// recordExpander derives a schema from a desired state, or an observed state if leaves is nil.
type recordExpander struct {
	leaves map[int]bool // the maps and lists that are one leaf, by their position
	open   bool         // lists have no maximum
	seen   int          // the number of maps and lists so far
}

// expand returns the derived JSON, or the short form if the desired state cannot be decoded.
func (e *recordExpander) expand(desired, short []byte) []byte {
	decoder := json.NewDecoder(bytes.NewReader(desired))
	decoder.UseNumber()
	var tree any
	if decoder.Decode(&tree) != nil {
		return short
	}
	raw, err := json.Marshal(e.value(tree, ""))
	if err != nil {
		return short
	}
	return raw
}

// value derives one value. Fields that identify the object are copied into its schema.
func (e *recordExpander) value(v any, path string) any {
	isSchema := e.leaves != nil
	switch v := v.(type) {
	case map[string]any:
		if e.seen++; isSchema && e.leaves[e.seen-1] {
			return "observed"
		}
		derived := make(map[string]any, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) { // the positions follow the order of the JSON
			derived[name] = e.value(v[name], below(path, "."+name))
		}
		return derived
	case []any:
		if e.seen++; isSchema && e.leaves[e.seen-1] {
			return "observed"
		}
		derived := make([]any, 0, len(v)+1)
		for _, element := range v {
			derived = append(derived, e.value(element, below(path, "[]")))
		}
		return append(derived, e.length(len(v)))
	}
	if !isSchema || path == ".apiVersion" || path == ".kind" || path == ".metadata.name" {
		return v
	}
	return "observed"
}

// below returns the path of a part of a value. A path is compared only with the short ones that identify an object. So a
// longer path is not extended: with a hostile record, the texts would take gigabytes.
func below(path, step string) string {
	if len(path) > len(".metadata.name") {
		return path
	}
	return path + step
}

// length returns the last element of a list with n elements.
func (e *recordExpander) length(n int) map[string]any {
	if e.leaves == nil {
		return map[string]any{"observer_schema_list_current_length": n}
	}
	most := n
	if e.open {
		most = 0
	}
	return map[string]any{"observer_schema_list_min_length": n, "observer_schema_list_max_length": most}
}
