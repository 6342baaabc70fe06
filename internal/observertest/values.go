package observertest

import (
	"fmt"
	"sort"

	"pgregory.net/rapid"

	"holdfast.dev/holdfast/pkg/observer"
)

const maxDepth = 3

var fieldNames = []string{"v1", "v2", "m1", "m/2", "l1", "l2", "k1", "k2", "s1"}

// Spec draws the spec of a manifest.
func Spec(t *rapid.T) map[string]any { return fields(t, 0) }

func fields(t *rapid.T, depth int) map[string]any {
	m := map[string]any{}
	for _, name := range fieldNames {
		if depth >= maxDepth && name[0] != 'v' {
			continue
		}
		if rapid.IntRange(0, 2).Draw(t, "has "+name) == 0 {
			m[name] = value(t, name, depth)
		}
	}
	return m
}

func value(t *rapid.T, name string, depth int) any {
	switch name[0] {
	case 'm':
		return fields(t, depth+1)
	case 'l':
		return list(t, func(int) any { return anything(t, depth+1) })
	case 'k':
		return list(t, func(i int) any { return keyed(t, fmt.Sprintf("n%d", i), depth+1) })
	case 's':
		return list(t, func(i int) any { return fmt.Sprintf("e%d", i) })
	default:
		return scalar(t)
	}
}

func list(t *rapid.T, element func(i int) any) []any {
	l := []any{}
	for i := range rapid.IntRange(0, 3).Draw(t, "length") {
		l = append(l, element(i))
	}
	return l
}

func keyed(t *rapid.T, name string, depth int) map[string]any {
	m := fields(t, depth)
	m["name"] = name
	return m
}

func anything(t *rapid.T, depth int) any {
	if depth < maxDepth && rapid.Bool().Draw(t, "map") {
		return fields(t, depth)
	}
	return scalar(t)
}

func scalar(t *rapid.T) any {
	return rapid.SampledFrom([]any{"a", "b", "", int64(0), int64(1), int64(2), 1.5, true, false}).Draw(t, "scalar")
}

// Mutate draws a live version of a spec: with values changed, removed and added, elements added, removed,
// renamed, duplicated and reordered, and types changed.
func Mutate(t *rapid.T, spec map[string]any) map[string]any {
	return mutateMap(t, observer.CopyMap(spec), 0)
}

func mutateMap(t *rapid.T, m map[string]any, depth int) map[string]any {
	for _, name := range sorted(m) {
		if name == "name" {
			continue // the key of the element
		}
		switch rapid.IntRange(0, 9).Draw(t, "mutation") {
		case 0:
			delete(m, name)
		case 1:
			m[name] = rapid.SampledFrom([]any{"x", int64(7), nil, map[string]any{"v1": "x"}, []any{"x"}}).Draw(t, "other type")
		case 2, 3:
			m[name] = value(t, name, depth)
		default:
			m[name] = mutateValue(t, name, m[name], depth)
		}
	}
	for _, name := range fieldNames {
		if _, has := m[name]; !has && rapid.IntRange(0, 7).Draw(t, "foreign "+name) == 0 && (depth < maxDepth || name[0] == 'v') {
			m[name] = value(t, name, depth)
		}
	}
	return m
}

func mutateValue(t *rapid.T, name string, v any, depth int) any {
	switch v := v.(type) {
	case map[string]any:
		return mutateMap(t, v, depth+1)
	case []any:
		return mutateList(t, name, v, depth)
	default:
		return v
	}
}

func mutateList(t *rapid.T, name string, l []any, depth int) []any {
	out := []any{}
	for _, element := range l {
		switch rapid.IntRange(0, 9).Draw(t, "element") {
		case 0, 1:
			continue
		case 2: // another client has changed its key, or has added a copy
			out = append(out, rekeyed(t, name, mutateValue(t, name, element, depth)))
			if rapid.Bool().Draw(t, "twice") {
				out = append(out, mutateValue(t, name, element, depth))
			}
		default:
			out = append(out, mutateValue(t, name, element, depth))
		}
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "more") {
		out = append(out, foreign(t, name, i, depth))
	}
	if len(out) > 1 && rapid.Bool().Draw(t, "reorder") {
		out = rapid.Permutation(out).Draw(t, "order")
	}
	return out
}

// rekeyed returns an element of a list-map, possibly with another key.
func rekeyed(t *rapid.T, list string, element any) any {
	if m, ok := element.(map[string]any); ok && list[0] == 'k' && rapid.Bool().Draw(t, "other key") {
		m["name"] = rapid.SampledFrom([]string{"y0", "n1"}).Draw(t, "key")
	}
	return element
}

func foreign(t *rapid.T, name string, i, depth int) any {
	switch name[0] {
	case 'k':
		return keyed(t, fmt.Sprintf("x%d", i), depth+1)
	case 's':
		return fmt.Sprintf("x%d", i)
	default:
		return anything(t, depth+1)
	}
}

// Shuffle draws the same spec with its list-maps and sets in another order.
func Shuffle(t *rapid.T, spec map[string]any) map[string]any {
	return shuffleValue(t, "m", observer.CopyMap(spec)).(map[string]any)
}

func shuffleValue(t *rapid.T, name string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, child := range sorted(v) {
			v[child] = shuffleValue(t, child, v[child])
		}
	case []any:
		for i := range v {
			v[i] = shuffleValue(t, "m", v[i])
		}
		if len(v) > 1 && (name[0] == 'k' || name[0] == 's') {
			return rapid.Permutation(v).Draw(t, "order of "+name)
		}
	}
	return v
}

func sorted(m map[string]any) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
