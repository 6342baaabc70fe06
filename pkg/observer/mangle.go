package observer

import (
	"slices"

	"holdfast.dev/holdfast/pkg/manifest"
)

// WithHookChanges is the entry after hooks have made after out of before: what they
// added or changed is observed too. A default entry follows the whole object, but for
// what spec.fields frees; a user's entry grows by exactly the difference.
// Source: docs/semantics.md, "Desired state".
func (e *Schema) WithHookChanges(before, after manifest.Object) *Schema {
	if e.Default || e.Follows {
		return e.ForManifest(after)
	}
	grown := e.Copy()
	extendMap(grown.Root, before.Content, after.Content, true)
	return grown
}

func extendMap(node *Node, before, after map[string]any, root bool) {
	for _, name := range sortedKeys(after) {
		if root && (name == "apiVersion" || name == "kind") {
			continue
		}
		was, had := before[name]
		if had && Equal(was, after[name]) {
			continue
		}
		child := node.Field(name)
		if child == nil {
			child = newNode(was, after[name])
			node.set(name, child)
			if !had {
				continue // it observes all of it
			}
		}
		extend(child, was, after[name])
	}
}

// newNode is a node that observes nothing yet where both values have the same
// shape, and all of what is new otherwise.
func newNode(before, after any) *Node {
	_, wasMap := before.(map[string]any)
	_, isMap := after.(map[string]any)
	if wasMap && isMap {
		return &Node{Shape: Map}
	}
	_, wasList := before.([]any)
	_, isList := after.([]any)
	if wasList && isList {
		return &Node{Shape: Sequence, List: &List{}}
	}
	node := defaultNode(after)
	if node.Shape == Sequence {
		node.List.Min, node.List.Max = 0, 0
	}
	return node
}

// extend observes what hooks changed in a value that the schema speaks of. Where the
// manifest has no such value, all of it is theirs.
func extend(node *Node, before, after any) {
	switch node.Shape {
	case Map:
		a, ok := after.(map[string]any)
		if b, wasMap := before.(map[string]any); ok && (wasMap || before == nil) {
			extendMap(node, b, a, false)
		}
	case Sequence:
		a, ok := after.([]any)
		if b, wasList := before.([]any); ok && (wasList || before == nil) {
			extendList(node.List, b, a)
		}
	}
}

// extendList observes what hooks changed in a list; they append, or change
// elements in place. Elements that the schema did not speak of stay free behind
// an empty map that keeps their place. A maximum counts the manifest before hooks.
func extendList(list *List, before, after []any) {
	for i, element := range after {
		if i < len(before) && Equal(before[i], element) {
			continue
		}
		for len(list.Elements) < i {
			list.Elements = append(list.Elements, &Node{Shape: Map})
		}
		if i >= len(before) {
			list.Elements = slices.Insert(list.Elements, i, defaultNode(element)) // learned ones come after it
			continue
		}
		if i == len(list.Elements) {
			list.Elements = append(list.Elements, newNode(before[i], element))
		}
		extend(list.Elements[i], before[i], element)
	}
	if list.Max == 0 {
		return
	}
	written := list.Max - list.Raised
	list.Max = max(list.Max+max(0, len(after)-len(before)), len(list.Elements))
	list.Raised = list.Max - written
}
