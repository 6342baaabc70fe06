package observer

import (
	"slices"

	"holdfast.dev/holdfast/pkg/kinds"
)

// closeOver observes the keys of the manifest that its closed maps hold. For {observer_schema_keys: {hold: ["app.*"]}}
// and labels with app.x and team, it adds a leaf for app.x. A key that is not in the manifest gets no leaf: package
// delta removes it from the live object.
func closeOver(n *Node, value any) {
	switch n.Shape {
	case Leaf:
	case Map:
		m, _ := value.(map[string]any)
		for _, name := range sortedKeys(m) {
			if n.Keys.Holds(name) && n.Field(name) == nil {
				n.set(name, defaultNode(m[name]))
			}
		}
		for _, f := range n.Fields {
			closeOver(f.Node, m[f.Name])
		}
	case Sequence:
		l, _ := value.([]any)
		for i, element := range n.List.Elements {
			closeOver(element, elementAt(l, i))
		}
	}
}

// KeepServerKeys adds the keys that appeared in the response to the controller's own write to the kept keys of closed
// maps and lists. added reports whether the response added the value at a path. KeepServerKeys reports whether it added
// any key. It changes the schema, which must be a copy: see Schema.Raisable. A mutating webhook that adds a label to
// each object would otherwise contest with the controller without end.
func (e *schemaTree) KeepServerKeys(t *kinds.Node, desired, answer map[string]any, added func(*Path) bool) bool {
	return keepAnswer(e.Root, t, nil, desired, answer, added)
}

// keepAnswer applies KeepServerKeys to a node and everything below it. It pairs list elements of the response with
// those of the desired state.
func keepAnswer(n *Node, t *kinds.Node, path *Path, desired, answer any, added func(*Path) bool) bool {
	kept := false
	switch n.Shape {
	case Leaf:
	case Map:
		d, _ := desired.(map[string]any)
		a, _ := answer.(map[string]any)
		for _, f := range n.Fields {
			kept = keepAnswer(f.Node, t.Field(f.Name), path.Field(f.Name), d[f.Name], a[f.Name], added) || kept
		}
		for _, name := range sortedKeys(a) {
			if n.Keys.Removes(name) && n.Field(name) == nil && added(path.Field(name)) {
				n.Keys.Kept, kept = append(n.Keys.Kept, name), true
			}
		}
	case Sequence:
		d, _ := desired.([]any)
		a, _ := answer.([]any)
		pairing := n.List.Pair(t, d, a, len(d))
		kept = keepElements(n, &pairing, path, added)
		for i, k := range pairing.Live {
			if k >= 0 {
				kept = keepAnswer(n.List.Elements[i], t.Elem(), path.Element(pairing.Label(i), k), elementAt(d, i), a[k], added) || kept
			}
		}
	}
	return kept
}

// keepElements adds the keys of elements that appeared in a response to the kept keys of a closed list.
func keepElements(n *Node, pairing *Pairing, path *Path, added func(*Path) bool) (kept bool) {
	if n.Keys == nil {
		return false
	}
	for _, k := range pairing.Free() {
		if name := pairing.KeyText(k); name != "" && n.Keys.Removes(name) && added(path.Element(pairing.LiveLabel(k), k)) {
			n.Keys.Kept, kept = append(n.Keys.Kept, name), true
		}
	}
	return kept
}

// KeepKeys copies the kept keys of a recorded schema. desired and previous are the states that the two schemas belong
// to. before is nil for a new resource. The kept keys of an earlier response must survive a change of the manifest.
func (e *schemaTree) KeepKeys(t *kinds.Node, desired map[string]any, before *Schema, previous map[string]any) {
	if before == nil {
		return
	}
	eachPair(e.Root, before.Root, t, desired, previous, func(n, before *Node) {
		if n.Keys != nil && before.Keys != nil {
			n.Keys.Kept = union(n.Keys.Kept, before.Keys.Kept)
		}
	})
}

// union appends the strings to a list that it does not have yet. It can change the array of the list.
func union(list, more []string) []string {
	for _, text := range more {
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}
