package reconcile_test

import (
	"slices"
	"strings"

	"holdfast.dev/holdfast/pkg/observer"
)

// A place is a held field that has drifted.
type place struct {
	path    []string // names; [name=a] for an element of a list with keys
	was, is any
}

func (p place) String() string {
	return pathText(p.path) + " should be " + jsonOf(p.was) + " and is " + jsonOf(p.is)
}

// off returns the fields of a manifest that differ between two objects. A list without keys counts as one
// field.
func (p *part) off(path []string, want, was, is any) (places []place) {
	switch p.shape {
	case mapping:
		for _, name := range keys(want.(map[string]any)) {
			if child := p.part(name); child != nil {
				places = append(places, child.off(append(slices.Clone(path), name), want.(map[string]any)[name], mapOf(was)[name], mapOf(is)[name])...)
			}
		}
		return places
	case keyed:
		return p.offKeyed(path, listOf(want), was, is)
	case setOf:
		for _, e := range want.([]any) {
			if slices.Contains(listOf(was), e) && !slices.Contains(listOf(is), e) {
				return []place{{path: path, was: was, is: is}}
			}
		}
		return nil
	}
	if observer.Equal(p.inOrder(was), p.inOrder(is)) {
		return nil
	}
	return []place{{path: path, was: was, is: is}}
}

// inOrder sorts sets and lists with keys by key. A different order is no drift.
func (p *part) inOrder(value any) any {
	if value == nil {
		return nil // absent, which differs from empty
	}
	switch p.shape {
	case mapping:
		m := mapOf(value)
		for _, name := range steps(p, m) {
			m[name] = p.part(name).inOrder(m[name])
		}
		return m
	case keyed, list, setOf:
		elements := slices.Clone(listOf(value))
		for i, e := range elements {
			if p.shape != setOf {
				elements[i] = p.element().inOrder(e)
			}
		}
		if p.shape != list {
			slices.SortStableFunc(elements, func(a, b any) int { return strings.Compare(keyOf(a), keyOf(b)) })
		}
		return elements
	}
	return value
}

// offKeyed compares the elements of a manifest. A key of the manifest must occur as often as before.
func (p *part) offKeyed(path []string, want []any, was, is any) (places []place) {
	for i, e := range want {
		at := append(slices.Clone(path), stepTo(want, i))
		before, now := valueAt(was, at[len(path):]), valueAt(is, at[len(path):])
		if before != nil && now == nil {
			places = append(places, place{path: at, was: before})
			continue
		}
		places = append(places, p.element().off(at, e, before, now)...)
	}
	for i, e := range listOf(is) {
		at := append(slices.Clone(path), stepTo(listOf(is), i))
		ours := slices.ContainsFunc(want, func(other any) bool { return keyOf(other) == keyOf(e) })
		if ours && valueAt(was, at[len(path):]) == nil {
			places = append(places, place{path: at, is: e})
		}
	}
	return places
}

// refusesAround reports whether the API server refuses to restore the surroundings of a place: the fields
// of the map or element that contains it, and each parent map and element as a whole.
func (o *oneObject) refusesAround(path []string, was, is map[string]any) bool {
	for i := len(path) - 1; i >= 0; i-- {
		before, isMap := valueAt(was, path[:i]).(map[string]any)
		if isMap && o.allows(is, withValue(is, path[:i], before).(map[string]any)) {
			return false
		}
	}
	around := path[:len(path)-1]
	shallow := o.shallow(around, mapOf(valueAt(was, around)), mapOf(valueAt(is, around)))
	return !o.allows(is, withValue(is, around, shallow).(map[string]any))
}

// missing returns the path of the topmost missing parent of a place. If no parent is missing, it returns
// the path itself.
func missing(path []string, is map[string]any) []string {
	for len(path) > 1 && valueAt(is, path[:len(path)-1]) == nil {
		path = path[:len(path)-1]
	}
	return path
}

// shallow returns a map with its earlier fields, but with the current nested maps and lists with keys.
func (o *oneObject) shallow(path []string, was, is map[string]any) map[string]any {
	p := o.spec.at(path)
	back := mapOf(was)
	for name, value := range is {
		if child := p.part(name); child != nil && (child.shape == mapping || child.shape == keyed) && back[name] != nil {
			back[name] = value
		}
	}
	return back
}

// keeps reports whether the API server accepts the original value of a place but stores the live value.
// This happens with the old name of a field if another client has written both names.
func (o *oneObject) keeps(p place, is map[string]any) bool {
	served, refused := o.spec.admit(is, withValue(is, p.path, p.was).(map[string]any))
	return len(refused) == 0 && observer.Equal(valueAt(served, p.path), p.is)
}

// mentions reports whether a text contains the path of a place, of one of its parents, or of a sibling
// field.
func (o *oneObject) mentions(text string, path []string, was, is map[string]any) bool {
	around := path[:len(path)-1]
	next := append(names(valueAt(was, around)), names(valueAt(is, around))...)
	next = append(next, path[len(path)-1])
	return slices.ContainsFunc(next, func(name string) bool { return name != "name" && strings.Contains(text, strings.Trim(name, "[]")) })
}

// lost returns the free fields that another client has written in maps and in elements of lists with keys,
// and that no longer exist.
func (p *part) lost(path []string, want, wrote, is any) (paths [][]string) {
	if p.shape == keyed && !p.twice {
		for _, step := range steps(p, want) {
			at := []string{step}
			below := append(slices.Clone(path), step)
			paths = append(paths, p.element().lost(below, valueAt(want, at), valueAt(wrote, at), valueAt(is, at))...)
		}
	}
	now, isMap := is.(map[string]any)
	if p.shape != mapping || !isMap {
		return paths
	}
	for _, name := range steps(p, wrote) {
		below := append(slices.Clone(path), name)
		child, held := mapOf(want)[name]
		switch {
		case held:
			paths = append(paths, p.part(name).lost(below, child, mapOf(wrote)[name], now[name])...)
		case now[name] == nil:
			paths = append(paths, below)
		}
	}
	return paths
}
