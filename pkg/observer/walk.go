package observer

import (
	"iter"

	"holdfast.dev/holdfast/pkg/kinds"
)

// boundNode is a node of a schema with its place in an object. Walks that need no second value pass it down.
type boundNode struct {
	node *Node
	// t is the type of the value; nil if it is unknown.
	t *kinds.Node
	// path is nil at the root.
	path *Path
	// value is the object's value. set is false if the object does not have it; value is nil then.
	value any
	set   bool
	// byPosition gives list elements the labels of their indices, as in messages about a schema. Otherwise, they have
	// the labels of their identity, as far as the object has them.
	byPosition bool
}

// holdable returns the observed fields of an object that can be held, which are all fields except the status. With a
// nil object, no field is set.
func (e *schemaTree) holdable(t *kinds.Node, object map[string]any) (fields []boundNode) {
	for field := range (boundNode{node: e.Root, t: t, value: object, set: true}).children() {
		if !isStatus(field.path.Name()) {
			fields = append(fields, field)
		}
	}
	return fields
}

// children iterates over the fields of a Map, or the elements of a Sequence, in the order of the schema. It yields
// also those that the object does not have.
func (b boundNode) children() iter.Seq[boundNode] {
	return func(yield func(boundNode) bool) {
		m, _ := b.value.(map[string]any)
		for _, f := range b.node.Fields {
			value, set := m[f.Name]
			if !yield(boundNode{f.Node, b.t.Field(f.Name), b.path.Field(f.Name), value, set, b.byPosition}) {
				return
			}
		}
		if b.node.List == nil {
			return
		}
		l, _ := b.value.([]any)
		var labels []string
		if !b.byPosition {
			labels = b.node.List.Labels(b.t, l)
		}
		for i, element := range b.node.List.Elements {
			label := positionLabel(i)
			if i < len(labels) {
				label = labels[i]
			}
			if !yield(boundNode{element, b.t.Elem(), b.path.Element(label, -1), elementAt(l, i), i < len(l), b.byPosition}) {
				return
			}
		}
	}
}

// leaves appends the leaves at and below a node.
func (b boundNode) leaves(all []boundNode) []boundNode {
	if b.node.Shape == Leaf {
		return append(all, b)
	}
	for child := range b.children() {
		all = child.leaves(all)
	}
	return all
}
