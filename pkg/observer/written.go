package observer

import (
	"maps"
	"slices"
	"strings"
)

// Nulls returns the paths of the leaves that are written as null.
func (e *Schema) Nulls() []string { return texts(e.written.nulls) }

// Freed returns the paths of the fields that are released by name.
func (e *Schema) Freed() []string { return texts(e.written.free) }

func texts(paths []*Path) []string {
	var all []string
	for _, path := range paths {
		all = append(all, path.String())
	}
	return all
}

// Lost returns the leaves that a client dropped from a schema: all previous nulls, if the schema has none
// of them in any form. A user who removes leaves usually keeps one of them, releases one by name, or
// removes the schema. A client that drops nulls drops all of them.
// Source: docs/semantics.md, "`observed`, null and what clients make of it".
func (e *Schema) Lost(nulls []string) []string {
	if len(nulls) == 0 {
		return nil
	}
	for _, path := range slices.Concat(e.written.leaves, e.written.free) {
		now := path.String()
		if slices.ContainsFunc(nulls, func(before string) bool { return isWithin(before, now) || isWithin(now, before) }) {
			return nil
		}
	}
	held := map[string]bool{} // the leaves that hooks observe
	e.Root.leaves(nil, func(path *Path) { held[path.String()] = true })
	return slices.DeleteFunc(slices.Clone(nulls), func(path string) bool { return held[path] })
}

// leaves visits every leaf.
func (n *Node) leaves(path *Path, visit func(*Path)) {
	switch n.Shape {
	case Leaf:
		visit(path)
	case Map:
		for _, f := range n.Fields {
			f.Node.leaves(path.Field(f.Name), visit)
		}
	case Sequence:
		for i, element := range n.List.Elements {
			element.leaves(path.Element(positionLabel(i), -1), visit)
		}
	}
}

// isWithin reports whether path equals other or is below it.
func isWithin(path, other string) bool {
	rest, ok := strings.CutPrefix(path, other)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// Spelled returns a schema for sending: it replaces every null leaf by LeafText, which all clients
// preserve. Fields that identify the resource, and control dictionaries, are unchanged.
func Spelled(entry map[string]any) map[string]any {
	spelled := maps.Clone(entry)
	for name, value := range entry {
		if name == "apiVersion" || name == "kind" {
			continue
		}
		spelled[name] = spelledValue(value)
		if metadata, ok := spelled[name].(map[string]any); ok && name == "metadata" {
			if given, has := entry[name].(map[string]any)["name"]; has {
				metadata["name"] = given
			}
		}
	}
	return spelled
}

func spelledValue(v any) any {
	switch v := v.(type) {
	case nil:
		return LeafText
	case map[string]any:
		if hasControlKey(v) || hasRuleKey(v) {
			return v
		}
		spelled := make(map[string]any, len(v))
		for name, value := range v {
			spelled[name] = spelledValue(value)
		}
		return spelled
	case []any:
		spelled := make([]any, len(v))
		for i, value := range v {
			spelled[i] = spelledValue(value)
		}
		return spelled
	}
	return v
}
