package observer

import (
	"slices"

	"holdfast.dev/holdfast/pkg/manifest"
)

// WithHookChanges returns the schema after hooks changed the object from before to after: it also observes the fields
// that they added or changed. A default schema follows the whole object, except for the fields that spec.fields
// releases. A user's schema gets only the changed fields. A hook is code of the administrator, and its changes are as
// binding as the manifest.
// Source: docs/semantics.md, "Desired state".
func (e *Schema) WithHookChanges(before, after manifest.Object) *Schema {
	if e.FollowsManifest() {
		return e.ForManifest(after)
	}
	grown := e.Copy()
	extendMap(grown.Root, before.Content, after.Content, true)
	return grown
}

// extendMap observes the fields of a map that hooks added or changed. It changes node, which must be a copy. A field
// that hooks removed remains observed. before can be nil: the whole map is then new. A field with a leaf needs no
// change.
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
				continue // the new node observes all of it
			}
		}
		extend(child, was, after[name])
	}
}

// newNode returns a node for a value that hooks changed. If both values are maps, or both are lists, it observes
// nothing yet: extend adds the differences. Otherwise it observes the whole new value.
func newNode(before, after any) *Node {
	if _, _, areMaps := bothOf[map[string]any](before, after); areMaps {
		return &Node{Shape: Map}
	}
	if _, _, areLists := bothOf[[]any](before, after); areLists {
		return &Node{Shape: Sequence, List: &List{}}
	}
	node := defaultNode(after)
	if node.Shape == Sequence {
		// A user's schema sets no bounds for a list that only hooks set.
		node.List.Min, node.List.Max = 0, 0
	}
	return node
}

// extend observes the changes of hooks in a value that the schema names. If the manifest does not set the
// value, it observes all of it.
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

// extendList observes the changes of hooks in a list. Hooks append elements, or change elements in place. Elements that
// the schema did not name remain free: an empty map keeps their index. A maximum limits the length before hooks, so it
// grows with the appended elements. With before [a], after [a, b], and a schema with one element and a maximum of 1,
// the result has two elements and a maximum of 2, of which 1 is Raised.
func extendList(list *List, before, after []any) {
	for i, element := range after {
		if i < len(before) && Equal(before[i], element) {
			continue
		}
		for len(list.Elements) < i {
			list.Elements = append(list.Elements, &Node{Shape: Map})
		}
		if i >= len(before) {
			list.Elements = slices.Insert(list.Elements, i, defaultNode(element)) // learned elements follow it
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
	// The maximum as the user wrote it, before earlier hooks raised it.
	written := list.Max - list.Raised
	list.Max = max(list.Max+max(0, len(after)-len(before)), len(list.Elements))
	list.Raised = list.Max - written
}
