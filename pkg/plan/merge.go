package plan

import (
	"fmt"
	"maps"
	"strings"

	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/observer"
)

// mergeStates returns the state before, with the fields and elements that only the state after has. It
// reports whether there are any. It does not change its arguments, but the result shares values with them.
func mergeStates(t *kinds.Node, before, after any) (union any, more bool) {
	switch is := after.(type) {
	case map[string]any:
		if was, ok := before.(map[string]any); ok {
			return mergeFields(t, was, is)
		}
		return after, true
	case []any:
		was, ok := before.([]any)
		switch {
		case !ok, len(was) == 0 && len(is) > 0:
			return after, true
		case new(observer.List).ByIdentity(t):
			return mergeElements(t, was, is)
		}
	}
	return before, false // one value: only the value that was certainly written counts
}

// mergeFields merges two maps: see mergeStates. For example, {a: 1, b: 1} and {b: 2, c: 2} give {a: 1, b: 1, c: 2}.
func mergeFields(t *kinds.Node, before, after map[string]any) (map[string]any, bool) {
	union, more := maps.Clone(before), false
	for name, is := range after {
		was, had := before[name]
		if !had {
			union[name], more = is, true
			continue
		}
		var added bool
		union[name], added = mergeStates(t.Field(name), was, is)
		more = more || added
	}
	return union, more
}

// mergeElements returns the elements in the order of after, and then those that only before has. It matches elements
// by their keys or values, as the type of the list requires.
func mergeElements(t *kinds.Node, before, after []any) ([]any, bool) {
	union, more := make([]any, 0, len(after)), false
	kept := make([]bool, len(before))
	for i, k := range new(observer.List).Identities(t, after, before) {
		if k < 0 {
			union, more = append(union, after[i]), true
			continue
		}
		element, added := mergeStates(t.Elem(), before[k], after[i])
		union, more, kept[k] = append(union, element), more || added, true
	}
	for k, element := range before {
		if !kept[k] {
			union = append(union, element)
		}
	}
	return union, more
}

// sortable returns a path as a string that sorts the elements of a list by their index.
func sortable(path *observer.Path) string {
	var b strings.Builder
	for _, step := range path.Chain() {
		if step.IsElement() {
			fmt.Fprintf(&b, "/%09d", step.Index())
			continue
		}
		b.WriteString("/" + step.Name())
	}
	return b.String()
}
