package reconcile_test

import (
	"maps"
	"slices"

	"pgregory.net/rapid"
)

// draw returns a value of a part.
func (p *part) draw(r *rapid.T) any {
	switch p.shape {
	case mapping:
		m := map[string]any{}
		for _, u := range p.units {
			u.draw(r, m)
		}
		return m
	case keyed:
		elements := []any{}
		for _, name := range letters(r) {
			element := p.element().draw(r).(map[string]any)
			element["name"] = name
			elements = append(elements, element)
		}
		if p.twice && rapid.IntRange(0, 2).Draw(r, "a key twice") == 0 {
			element := p.element().draw(r).(map[string]any)
			element["name"] = keyOf(elements[0])
			elements = append(elements, element)
		}
		return elements
	case list:
		elements := []any{}
		for range rapid.IntRange(1, 3).Draw(r, "elements") {
			elements = append(elements, p.element().draw(r))
		}
		return elements
	case setOf, args:
		return letters(r)
	}
	return p.drawScalar(r)
}

func (p *part) drawScalar(r *rapid.T) any {
	switch p.habit {
	case grows:
		return rapid.Int64Range(1, 3).Draw(r, p.name)
	case zero:
		return rapid.Int64Range(0, 2).Draw(r, p.name)
	case amount:
		return rapid.SampledFrom([]string{"1000m", "1", "2000m", "500m"}).Draw(r, p.name)
	case defaulted:
		return rapid.SampledFrom([]string{"default", "b", "c"}).Draw(r, p.name)
	}
	return rapid.SampledFrom([]string{"a", "b", "c"}).Draw(r, p.name)
}

// letters returns one to three different letters.
func letters(r *rapid.T) []any {
	all := rapid.Permutation([]any{"a", "b", "c", "d"}).Draw(r, "letters")
	return slices.Clone(all[:rapid.IntRange(1, 3).Draw(r, "length")])
}

// draw sets or omits the parts of a unit in a map.
func (u *unit) draw(r *rapid.T, m map[string]any) {
	for _, p := range u.parts {
		delete(m, p.name)
	}
	if rapid.IntRange(0, 3).Draw(r, "left out") == 3 {
		return
	}
	switch first, last := u.parts[0], u.parts[len(u.parts)-1]; u.habit {
	case oneOf:
		rapid.SampledFrom(u.parts).Draw(r, "member").drawInto(r, m)
	case alias:
		value := first.draw(r)
		names := rapid.SampledFrom([][]string{{first.name}, {last.name}, {first.name, last.name}}).Draw(r, "names")
		for _, name := range names {
			m[name] = value
		}
	case switchable:
		switch rapid.SampledFrom([]string{"A", "B", "A with strategy", "strategy"}).Draw(r, first.name) {
		case "A":
			m[first.name] = "A"
		case "B":
			m[first.name] = "B"
		case "A with strategy":
			m[first.name] = "A"
			last.drawInto(r, m)
		case "strategy":
			last.drawInto(r, m)
		}
	default:
		first.drawInto(r, m)
	}
}

// drawInto sets a part in a map. It omits empty maps, because a manifest without them is equivalent.
func (p *part) drawInto(r *rapid.T, m map[string]any) {
	value := p.draw(r)
	if nested, is := value.(map[string]any); is && len(nested) == 0 {
		return
	}
	m[p.name] = value
}

// edit returns a value with one change, or nil if the value becomes empty.
func (p *part) edit(r *rapid.T, value any) any {
	switch p.shape {
	case mapping:
		m := maps.Clone(value.(map[string]any))
		u := rapid.SampledFrom(p.units).Draw(r, "where")
		inside := slices.DeleteFunc(slices.Clone(u.parts), func(p *part) bool { return p.shape == scalar || m[p.name] == nil })
		if len(inside) == 0 || rapid.IntRange(0, 4).Draw(r, "whole") == 0 {
			u.draw(r, m)
			return m
		}
		if m[inside[0].name] = inside[0].edit(r, m[inside[0].name]); m[inside[0].name] == nil {
			delete(m, inside[0].name)
		}
		return m
	case scalar:
		return p.draw(r)
	}
	elements := p.editList(r, slices.Clone(value.([]any)))
	if len(elements) == 0 {
		return nil
	}
	return elements
}

func (p *part) editList(r *rapid.T, elements []any) []any {
	i := rapid.IntRange(0, len(elements)-1).Draw(r, "at")
	switch rapid.SampledFrom([]string{"insert", "insert", "remove", "reorder", "replace", "change", "change"}).Draw(r, "edit of "+p.name) {
	case "insert":
		return slices.Insert(elements, rapid.IntRange(0, len(elements)).Draw(r, "before"), p.drawElement(r))
	case "remove":
		return slices.Delete(elements, i, i+1)
	case "reorder":
		return rapid.Permutation(elements).Draw(r, "order")
	case "replace":
		elements[i] = p.drawElement(r)
	case "change":
		if nested, is := elements[i].(map[string]any); is && len(p.units) > 0 {
			elements[i] = p.element().edit(r, nested)
		}
	}
	return elements
}

func (p *part) drawElement(r *rapid.T) any {
	return rapid.SampledFrom(p.draw(r).([]any)).Draw(r, "element")
}
