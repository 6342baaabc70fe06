package observer

import "holdfast.dev/holdfast/pkg/kinds"

// RuleItems returns the rules of a schema as items of hold in spec.fields. List elements have the keys of the
// manifest.
func (e *schemaTree) RuleItems(t *kinds.Node, content map[string]any) (items []map[string]any) {
	e.Root.ruleItems(t, nil, content, func(path *Path, parts map[string]any) {
		parts["path"] = path.String()
		items = append(items, parts)
	})
	return items
}

// ruleItems visits the rules at and below a path. value is the manifest's value there, or nil.
func (n *Node) ruleItems(t *kinds.Node, path *Path, value any, visit func(*Path, map[string]any)) {
	switch n.Shape {
	case Leaf:
		if parts := n.ruleParts(); len(parts) > 0 {
			visit(path, parts)
		}
	case Map:
		m, _ := value.(map[string]any)
		for _, f := range n.Fields {
			f.Node.ruleItems(t.Field(f.Name), path.Field(f.Name), m[f.Name], visit)
		}
	case Sequence:
		l, _ := value.([]any)
		labels := n.List.Labels(t, l)
		for i, element := range n.List.Elements {
			label := positionLabel(i)
			if i < len(labels) {
				label = labels[i]
			}
			element.ruleItems(t.Elem(), path.Element(label, -1), elementAt(l, i), visit)
		}
	}
}

// ruleParts returns the rule of a leaf with the keys that an item of hold has for it. It is empty for a leaf without
// a rule and a type.
func (n *Node) ruleParts() map[string]any {
	raw, _ := n.raw().(map[string]any)
	parts := map[string]any{}
	for name, key := range ruleTexts {
		if value, has := raw[key]; has {
			parts[name] = value
		}
	}
	return parts
}
