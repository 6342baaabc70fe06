package observer

import (
	"errors"
	"fmt"
	"maps"

	"holdfast.dev/holdfast/pkg/manifest"
)

// EditEntry returns a schema, as the user wrote it, after it applied the paths of f to an object: the
// schema then holds or releases these fields. Everything else is unchanged.
func EditEntry(raw map[string]any, f *Fields, object manifest.Object, in Context) (map[string]any, error) {
	entry, faults := parseEntry(0, raw)
	if len(faults) > 0 {
		return nil, faults[0]
	}
	if _, has := raw["stringData"]; has {
		return nil, errors.New("the schema contains stringData, which the API server stores as data: use data instead")
	}
	c := &fieldCompiler{fields: f, object: object, t: in.Type, live: in.Live, work: in.Work, keepsLengths: true}
	root := entry.Root.copy()
	for _, rule := range f.rules() {
		c.rule, c.learns, c.named, c.why = rule, nil, nil, nil
		c.applyAt(&root, cursor{value: object.Content, set: true, t: in.Type, published: in.Published}, rule.path.steps)
		if root == nil {
			root = &Node{Shape: Map}
		}
		if c.why != nil {
			return nil, fmt.Errorf("%s: %w", shorten(rule.path.text), c.why)
		}
	}
	edited, _ := edited(raw, entry.Root, root).(map[string]any)
	return edited, nil
}

// edited returns the raw form of a node after another node replaced it.
func edited(raw any, before, after *Node) any {
	if before == nil || before.Shape != after.Shape || after.Shape == Leaf && !before.Rule.same(after.Rule) {
		return after.raw()
	}
	switch m, isMap := raw.(map[string]any); {
	case after.Shape == Map && isMap:
		return editedMap(m, before, after)
	case after.Shape == Sequence:
		return editedList(raw.([]any), before.List.Elements, after.List.Elements)
	}
	return raw
}

func editedMap(raw map[string]any, before, after *Node) map[string]any {
	out := maps.Clone(raw)
	for _, f := range before.Fields {
		switch was, written := raw[f.Name]; {
		case after.Field(f.Name) != nil:
		case written && was == nil:
			out[f.Name] = FreeText // a client that drops nulls also removes the key
		default:
			delete(out, f.Name)
		}
	}
	for _, f := range after.Fields {
		out[f.Name] = edited(raw[f.Name], before.Field(f.Name), f.Node)
	}
	switch {
	case after.Keys == nil:
		delete(out, KeyKeys)
	case before.Keys == nil || !Equal(before.Keys.raw(), after.Keys.raw()):
		out[KeyKeys] = after.Keys.raw()
	}
	return out
}

// editedList keeps the control dictionary.
func editedList(raw []any, before, after []*Node) []any {
	out := make([]any, 0, len(after)+1)
	for i, node := range after {
		if i < len(before) {
			out = append(out, edited(raw[i], before[i], node))
		} else {
			out = append(out, node.raw())
		}
	}
	return append(out, raw[len(raw)-1])
}
