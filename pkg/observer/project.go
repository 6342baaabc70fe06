package observer

import (
	"slices"

	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
)

// Project returns the observed part of a live object, as lastObservedManifest stores it. It contains only
// observed fields that exist. A list contains its observed elements in the order of the schema, and then its
// live length. Fields with a rule are omitted, so that the controller does not update the status each time
// another client writes a value that the rule allows.
//
// Project never returns a field that is not in the live object, and projecting a projection changes nothing. desired
// decides which live elements are observed: see List.Pair. The values of a Secret are not masked here.
func (e *Schema) Project(t *kinds.Node, desired, live map[string]any) map[string]any {
	projected, _ := projector{}.project(e.Root, t, desired, live).(map[string]any)
	return e.identified(projected)
}

// Object returns the observed part of an object for the evaluation of rules. It includes the fields with rules, lists
// without their lengths, and from the metadata name, namespace, labels and annotations. The labels and annotations
// are not copied.
func (e *Schema) Object(t *kinds.Node, desired, live map[string]any) map[string]any {
	object, _ := projector{whole: true}.project(e.Root, t, desired, live).(map[string]any)
	metadata := manifest.EnsureMap(e.identified(object), "metadata")
	metadata["namespace"] = e.ID.Namespace
	for _, name := range []string{"labels", "annotations"} {
		metadata[name] = map[string]any{}
		if m := manifest.NestedMap(live, "metadata", name); m != nil {
			metadata[name] = m
		}
	}
	return object
}

// projector computes the observed part of an object. whole includes fields with rules, and omits list
// lengths.
type projector struct{ whole bool }

// project returns a copy of the observed part of a live value. If the types of node and value differ, it returns all
// of the value, so that the status shows the wrong type.
func (p projector) project(node *Node, t *kinds.Node, desired, live any) any {
	switch node.Shape {
	case Map:
		m, ok := live.(map[string]any)
		if !ok {
			return Copy(live)
		}
		want, _ := desired.(map[string]any)
		out := make(map[string]any, len(node.Fields))
		for _, f := range node.Fields {
			// A value that a rule allows can change at any time. It is only part of the input of rules.
			if v, ok := m[f.Name]; ok && (p.whole || f.Node.Rule == nil) {
				out[f.Name] = p.project(f.Node, t.Field(f.Name), want[f.Name], v)
			}
		}
		return out
	case Sequence:
		l, ok := live.([]any)
		if !ok {
			return Copy(live)
		}
		// A projection of a projection must keep the live length.
		l, length := withoutLength(l)
		want, _ := desired.([]any)
		pairing := node.List.Pair(t, want, l, len(want))
		out := make([]any, 0, len(pairing.Live)+1)
		for i, k := range pairing.Live {
			switch element := node.List.Elements[i]; {
			case k < 0:
			// An empty map keeps the index of the elements after it.
			case element.IsPlaceholder():
				out = append(out, map[string]any{})
			default:
				out = append(out, p.project(element, t.Elem(), elementAt(want, i), l[k]))
			}
		}
		if p.whole {
			return out
		}
		return append(out, map[string]any{KeyCurrentLength: length})
	default:
		return Copy(live)
	}
}

// withoutLength removes the length dictionary from a list that was projected before, and returns that
// length. For another list, it returns the length of the list.
func withoutLength(l []any) ([]any, int64) {
	if n := len(l); n > 0 {
		if last, ok := l[n-1].(map[string]any); ok && len(last) == 1 {
			if length, ok := integer(last[KeyCurrentLength]); ok {
				return l[:n-1], length
			}
		}
	}
	return l, int64(len(l))
}

// At returns the node and the desired value at a path. It returns a nil node if the schema has none there. desired is
// the state that the schema belongs to. It finds list elements by their labels, so a path of another state with the
// same elements works.
func (e *Schema) At(t *kinds.Node, desired map[string]any, path *Path) (node *Node, value any) {
	node, value = e.Root, desired
	for _, step := range path.Chain() {
		switch {
		case node == nil || node.Shape == Leaf:
			return nil, nil
		case !step.IsElement():
			m, _ := value.(map[string]any)
			node, value, t = node.Field(step.Name()), m[step.Name()], t.Field(step.Name())
			continue
		case node.Shape != Sequence:
			return nil, nil
		}
		l, _ := value.([]any)
		i := slices.Index(node.List.Labels(t, l), step.Label())
		if i < 0 || i >= len(node.List.Elements) {
			return nil, nil
		}
		node, value, t = node.List.Elements[i], l[i], t.Elem()
	}
	return node, value
}
