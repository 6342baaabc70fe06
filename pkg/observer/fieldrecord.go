package observer

import (
	"slices"

	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
)

// FromFields reports whether the schema was made from spec.fields, without a schema that the user wrote. The status
// then shows the schema as Fields, and it is compiled again for another manifest: see ForManifest.
func (e *schemaSource) FromFields() bool { return e.fields != nil && !e.overWritten }

// FieldsPosition returns the index of the item in spec.fields that was applied, or NoEntry.
func (e *schemaSource) FieldsPosition() int {
	if e.fields == nil {
		return NoEntry
	}
	return e.fields.Position
}

// NamesInFields reports whether the hold list of the spec.fields item contains a path, or a path below it. A wildcard
// does not count: only a path that the user wrote in full can be parsed as a path.
func (e *schemaSource) NamesInFields(path string) bool {
	if e.fields == nil {
		return false
	}
	return slices.ContainsFunc(e.fields.Hold, func(held *FieldPath) bool {
		if held == nil {
			return false
		}
		typed, err := ParsePath(held.text)
		return err == nil && typed != nil && IsUnder(typed.String(), path)
	})
}

// ForManifest returns the default schema for other content of its object, without the fields that spec.fields releases.
// It is the schema after hooks, and for a previous manifest. The result has no errors or warnings, because Compile has
// reported them for the first manifest.
func (e *Schema) ForManifest(object manifest.Object) *Schema {
	if e.fields == nil {
		return DefaultEntry(object)
	}
	return e.fields.Compile(object, Context{Type: e.kind}).Entry
}

// Recorded returns the part of a previous desired state that its schema observed and that this default
// schema does not release. If the manifest no longer sets one of these fields, the controller removes it. A
// field that is or was free does not belong to the Application. Neither does a field with a rule, except
// for mode push, which compares with the last written value.
//
//	before      now         a field that leaves the manifest
//	observed    observed    is in the result, and is removed from the live object
//	observed    free        is not, and keeps its live value
//	free        any         is not
//	learned     any         is not, and keeps its live value
func (e *Schema) Recorded(t *kinds.Node, before *Schema, previous map[string]any) map[string]any {
	// The usual case: nothing has to be copied.
	if e.fields == nil && before.Root.observesAll(previous) {
		return previous
	}
	// A leaf observes everything. It applies if the new schema releases no fields.
	now := &Node{Shape: Leaf}
	if e.fields != nil {
		now = e.ForManifest(manifest.Object{ID: e.ID, APIVersion: e.APIVersion, Content: previous}).Root
	}
	kept, _ := observedByBoth(before.Root, now, t, previous)
	m, _ := kept.(map[string]any)
	return m
}

// KeepLearned marks the leaves that are learned in another schema of the same resource, whose lists begin with the same
// elements. It changes the schema e, which must not share its nodes.
func KeepLearned(e, other *Schema) { e.Root = keepLearned(e.Root, other.Root) }

func keepLearned(node, other *Node) *Node {
	switch {
	case node == nil || other == nil:
	case other.Learned:
		return other
	case node.Shape == Map && other.Shape == Map:
		return node.withFields(func(f Field) *Node { return keepLearned(f.Node, other.Field(f.Name)) })
	case node.Shape == Sequence && other.Shape == Sequence:
		for i := range min(len(node.List.Elements), len(other.List.Elements)) {
			node.List.Elements[i] = keepLearned(node.List.Elements[i], other.List.Elements[i])
		}
	}
	return node
}

// observesAll reports whether a node observes all of a value, except for fields that identify an object. It is a
// shortcut for Recorded, which would return the same value as a copy.
func (n *Node) observesAll(value any) bool {
	if n.isReleased() {
		return false
	}
	switch v := value.(type) {
	case map[string]any:
		for name, child := range v {
			if below := n.child(name); below == nil && !identity(name) || below != nil && !below.observesAll(child) {
				return false
			}
		}
	case []any:
		for i, element := range v {
			if below := n.element(i); below == nil || !below.observesAll(element) {
				return false
			}
		}
	}
	return true
}

// releases reports whether a rule keeps the live value when the manifest drops the field. It accepts nil.
func (r *Rule) releases() bool { return r != nil && r.Mode != ModePush }

// isReleased reports whether a field keeps its live value when the manifest drops it: it is free, learned, or has a rule.
// It accepts nil.
func (n *Node) isReleased() bool { return n == nil || n.Learned || n.Rule.releases() }

// identity reports whether a field of that name identifies an object, at any depth.
func identity(name string) bool {
	return name == "apiVersion" || name == "kind" || name == "name" || name == "namespace"
}

// child returns the node for a field, or nil if the field is free. A leaf holds everything below it.
func (n *Node) child(name string) *Node {
	if n.Shape == Map {
		return n.Field(name)
	}
	return n
}

// element returns the node for a list element, or nil if the element is free. A leaf holds all elements.
func (n *Node) element(i int) *Node {
	switch {
	case n.Shape != Sequence:
		return n
	case i < len(n.List.Elements):
		return n.List.Elements[i]
	}
	return nil
}

// observedByBoth returns the part of a value that two nodes observe. It returns false if there is none. The result
// shares single values with value, but no maps or lists. An empty map or list remains, because it can be a field of its
// own.
func observedByBoth(a, b *Node, t *kinds.Node, value any) (any, bool) {
	if a.isReleased() || b.isReleased() {
		return nil, false
	}
	switch v := value.(type) {
	case map[string]any:
		kept := make(map[string]any, len(v))
		for name, child := range v {
			if of, ok := observedByBoth(a.child(name), b.child(name), t.Field(name), child); ok {
				kept[name] = of
			}
		}
		return kept, len(kept) > 0 || len(v) == 0
	case []any:
		byIdentity := (&List{}).ByIdentity(t)
		kept, some := make([]any, 0, len(v)), false
		for i, element := range v {
			of, ok := observedByBoth(a.element(i), b.element(i), t.Elem(), element)
			if ok || !byIdentity {
				kept = append(kept, of) // nil keeps the index of an element
			}
			some = some || ok
		}
		return kept, some || len(v) == 0
	}
	return value, true
}
