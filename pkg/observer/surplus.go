package observer

import "holdfast.dev/holdfast/pkg/kinds"

// RaiseSurplus raises the maximum of every list of a default schema that is longer in a response to the controller's
// own write. The API server lengthened the list then (an admission plugin added a volume, a toleration, a sidecar), so
// the difference is not drift. RaiseSurplus reports whether it raised any maximum. It never changes a user's schema.
// The manifest has one container, and the response has two: the maximum becomes 2, and Known is 1. A third container of
// another client is still removed.
// Source: docs/semantics.md, "Lists".
func (e *Schema) RaiseSurplus(t *kinds.Node, desired, live map[string]any) bool {
	return e.FollowsManifest() && raise(e.Root, t, desired, live, false)
}

// FindSurplus does the same as RaiseSurplus for an object that may have lost elements of the manifest since
// the write. It counts the live elements that match no schema element, so that a lost element does not
// reduce the surplus.
func (e *Schema) FindSurplus(t *kinds.Node, desired, live map[string]any) bool {
	return e.FollowsManifest() && raise(e.Root, t, desired, live, true)
}

// FollowsManifest reports whether the schema holds all fields that the manifest sets, except for those that spec.fields
// frees. Fields that leave the manifest are then removed, and the maxima are the lengths of the manifest's own lists.
func (e *Schema) FollowsManifest() bool { return e.Default || e.Follows }

// raise raises the maxima at and below a node, and reports whether it raised any. It changes the lists of the schema,
// which must be a copy: see Schema.Raisable. later is true for FindSurplus.
func raise(node *Node, t *kinds.Node, desired, live any, later bool) bool {
	raised := false
	switch node.Shape {
	case Map:
		d, _ := desired.(map[string]any)
		l, _ := live.(map[string]any)
		for _, f := range node.Fields {
			if now, ok := l[f.Name]; ok && raise(f.Node, t.Field(f.Name), d[f.Name], now, later) {
				raised = true
			}
		}
	case Sequence:
		d, _ := desired.([]any)
		l, _ := live.([]any)
		list := node.List
		pairing, length := list.Pair(t, d, l, len(d)), len(l)
		if later {
			// A lost element of the manifest still counts, because it will be added again.
			length = len(list.Elements) + len(pairing.Free())
		}
		// A maximum of 0 permits any length.
		if list.Max != 0 && length > list.Max {
			list.Max, list.Known = length, len(list.Elements)
			raised = true
		}
		for i, k := range pairing.Live {
			if k >= 0 && raise(list.Elements[i], t.Elem(), elementAt(d, i), l[k], later) {
				raised = true
			}
		}
	}
	return raised
}

// KeepSurplus copies the surplus of the previous default schema, so that server-added elements are kept
// when the manifest's list changes. desired and previous are the states that the two schemas belong to.
func (e *Schema) KeepSurplus(t *kinds.Node, desired map[string]any, before *Schema, previous map[string]any) {
	if !e.FollowsManifest() || before == nil || !before.FollowsManifest() {
		return
	}
	eachPair(e.Root, before.Root, t, desired, previous, func(node, before *Node) {
		if node.Shape != Sequence {
			return
		}
		// Only lists with a maximum in both schemas have a surplus.
		list, elements := node.List, len(before.List.Elements)
		if surplus := before.List.Max - elements; list.Max != 0 && before.List.Max != 0 && surplus > 0 {
			list.Max, list.Known = len(list.Elements)+surplus, elements
		}
	})
}

// eachPair calls visit for each pair of nodes in two schemas that observe the same value and have the same shape. List
// elements correspond if they have the same identity in desired and previous, the states that the schemas belong to.
func eachPair(node, before *Node, t *kinds.Node, desired, previous any, visit func(node, before *Node)) {
	if node.Shape != before.Shape {
		return
	}
	visit(node, before)
	switch node.Shape {
	case Leaf:
	case Map:
		d, _ := desired.(map[string]any)
		p, _ := previous.(map[string]any)
		for _, f := range node.Fields {
			if b := before.Field(f.Name); b != nil {
				eachPair(f.Node, b, t.Field(f.Name), d[f.Name], p[f.Name], visit)
			}
		}
	case Sequence:
		d, _ := desired.([]any)
		p, _ := previous.([]any)
		for i, k := range node.List.Identities(t, d, p) {
			if k >= 0 && i < len(node.List.Elements) && k < len(before.List.Elements) {
				eachPair(node.List.Elements[i], before.List.Elements[k], t.Elem(), elementAt(d, i), elementAt(p, k), visit)
			}
		}
	}
}
