package observer

import "holdfast.dev/holdfast/pkg/kinds"

// RuleItems returns the rules of a schema as items of hold in spec.fields. List elements have the keys of the
// manifest.
func (e *schemaTree) RuleItems(t *kinds.Node, content map[string]any) (items []map[string]any) {
	for _, leaf := range (boundNode{node: e.Root, t: t, value: content}).leaves(nil) {
		if parts := leaf.node.ruleParts(); len(parts) > 0 {
			parts["path"] = leaf.path.String()
			items = append(items, parts)
		}
	}
	return items
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
