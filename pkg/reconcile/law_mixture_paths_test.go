package reconcile_test

import (
	"fmt"
	"slices"
	"strings"

	"holdfast.dev/holdfast/pkg/observer"
)

// pathText formats a path as in a status.
func pathText(path []string) string {
	return "spec." + strings.ReplaceAll(strings.Join(path, "."), ".[", "[")
}

// stepTo returns the path element of an element of a list with keys: [name=a], or [name=a,#2] for the
// second one with that key.
func stepTo(elements []any, i int) string {
	key, nth := keyOf(elements[i]), 1
	for _, e := range elements[:i] {
		if keyOf(e) == key {
			nth++
		}
	}
	if nth == 1 {
		return "[name=" + key + "]"
	}
	return fmt.Sprintf("[name=%s,#%d]", key, nth)
}

func isStepToElement(step string) bool { return strings.HasPrefix(step, "[") }

// indexOf returns the index of a path element in a list, or -1.
func indexOf(elements []any, step string) int {
	for i := range elements {
		if stepTo(elements, i) == step {
			return i
		}
	}
	return -1
}

// valueAt returns the value at a path, or nil.
func valueAt(value any, path []string) any {
	for _, step := range path {
		if !isStepToElement(step) {
			value = mapOf(value)[step]
			continue
		}
		i := indexOf(listOf(value), step)
		if i < 0 {
			return nil
		}
		value = listOf(value)[i]
	}
	return value
}

// withValue returns a copy of a value with a new value at a path. Nil removes it.
func withValue(value any, path []string, to any) any {
	if len(path) == 0 {
		return observer.Copy(to)
	}
	if !isStepToElement(path[0]) {
		m := mapOf(value)
		if m[path[0]] = withValue(m[path[0]], path[1:], to); m[path[0]] == nil {
			delete(m, path[0])
		}
		return m
	}
	elements := slices.Clone(listOf(value))
	i := indexOf(elements, path[0])
	if i < 0 {
		return append(elements, withValue(nil, path[1:], to))
	}
	if elements[i] = withValue(elements[i], path[1:], to); elements[i] == nil {
		return slices.Delete(elements, i, i+1)
	}
	return elements
}

// mapOf returns a copy of a map, or an empty map for any other value.
func mapOf(v any) map[string]any {
	copied := map[string]any{}
	if m, is := v.(map[string]any); is {
		for name, child := range m {
			copied[name] = child
		}
	}
	return copied
}

// keyOf returns the key of an element of a list with keys, or of a set.
func keyOf(element any) string {
	if m, is := element.(map[string]any); is {
		return fmt.Sprint(m["name"])
	}
	return fmt.Sprint(element)
}

// find returns the first element with the key of another one, or nil.
func find(elements []any, element any) any {
	for _, e := range elements {
		if keyOf(e) == keyOf(element) {
			return e
		}
	}
	return nil
}

// at returns the part at a path.
func (p *part) at(path []string) *part {
	for _, step := range path {
		if isStepToElement(step) {
			p = p.element()
		} else {
			p = p.part(step)
		}
	}
	return p
}
