package kinds

import (
	"iter"
	"maps"
)

// ListKind says how the elements of a list are told apart. The empty ListKind
// means that the node is not a list.
type ListKind string

// The values of x-kubernetes-list-type.
const (
	// Atomic lists have elements that only their position identifies.
	Atomic ListKind = "atomic"
	// Set lists have scalar elements that occur once each.
	Set ListKind = "set"
	// Map lists have elements that are identified by the values of their keys.
	Map ListKind = "map"
)

// A Node is a place in the schema of a kind. A nil Node is a place of which
// nothing is known; all its methods work and give nil.
//
// Nodes are shared and must not be changed. A kind may contain itself, so the
// nodes below a node need not come to an end.
type Node struct {
	// List is empty unless the node is a list.
	List ListKind
	// Keys are the names of the fields that identify an element of a Map list,
	// in the order of the schema.
	Keys []string
	// Defaults has the value of each key that an element may leave out.
	Defaults map[string]any
	// OneValue is true for a map that is one value as a whole: a label selector, or an
	// atomic map of text, such as the selector of a Service.
	OneValue bool

	fields map[string]*Node
	elem   *Node
	closed bool // nothing but the fields may be there
}

// Field returns the field of that name; of a map, the element. It is nil if the
// name is not known, and it may be nil if there is no list in the field.
func (n *Node) Field(name string) *Node {
	if n == nil {
		return nil
	}
	if field, ok := n.fields[name]; ok {
		return field
	}
	if n.List != "" {
		return nil
	}
	return n.elem
}

// IsOneValue reports whether the node is a map that is one value as a whole.
func (n *Node) IsOneValue() bool { return n != nil && n.OneValue }

// Forbids reports whether it is known that there is no field of that name. Of free-form
// maps, and of what no schema speaks of, nothing is known.
func (n *Node) Forbids(name string) bool {
	if n == nil || !n.closed {
		return false
	}
	_, known := n.fields[name]
	return !known
}

// HasFreeKeys reports whether it is known that a field is a map that may have any keys, and
// is not one value as a whole.
func (n *Node) HasFreeKeys(name string) bool {
	if n == nil || !n.closed {
		return false
	}
	field, known := n.fields[name]
	return known && (field == nil || !field.closed && !field.OneValue && len(field.fields) == 0 && field.List == "")
}

// Elem returns the type of every element of a list or of a map. It may be nil if
// there is no list in an element.
func (n *Node) Elem() *Node {
	if n == nil {
		return nil
	}
	return n.elem
}

// Fields returns the names and types of the known fields, in no order.
func (n *Node) Fields() iter.Seq2[string, *Node] {
	if n == nil {
		return func(func(string, *Node) bool) {}
	}
	return maps.All(n.fields)
}
