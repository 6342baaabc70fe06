package kinds

import (
	"iter"
	"maps"
)

// ListKind is the list type of a list: how its elements are identified. It is empty if the node is not a
// list.
type ListKind string

// The values of x-kubernetes-list-type.
const (
	// Atomic lists have elements that are identified only by their index.
	Atomic ListKind = "atomic"
	// Set lists have unique scalar elements.
	Set ListKind = "set"
	// Map lists have elements that are identified by the values of their keys.
	Map ListKind = "map"
)

// A Node is a field or element in the schema of a kind. A nil Node is one without a known schema; all
// methods accept a nil receiver.
//
// Nodes are shared and must not be changed. A kind can contain itself, so the graph of nodes can have
// cycles.
type Node struct {
	// List is the list type, or empty if the node is not a list.
	List ListKind
	// Keys are the list-map keys of a Map list, in schema order.
	Keys []string
	// Defaults maps each list-map key that an element can omit to its default. Numbers are int64.
	Defaults map[string]any
	// OneValue is true for an atomic map: a label selector, or an atomic map of strings such as the
	// selector of a Service.
	OneValue bool
	// Grants is true for a Map list in which every additional element grants something: it exempts requests
	// from a policy, or gives another server access to objects.
	Grants bool

	// fields maps the known fields to their types. A nil type is known, but has no lists below it.
	fields map[string]*Node
	// defaults maps fields to the values that the API server sets if they are absent.
	defaults map[string]any
	// elem is the type of list elements, or of the values of a map with any keys.
	elem   *Node
	closed bool // no fields other than the known ones are allowed
}

// Field returns the field with that name, or the element type if the node is a map. It returns nil if the
// name is unknown. It can return nil if the field contains no list.
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

// Default returns the value that the API server sets if a field of that name is absent. It returns false if the
// schema defines no default, or an empty one.
func (n *Node) Default(name string) (any, bool) {
	if n == nil {
		return nil, false
	}
	value, defined := n.defaults[name]
	return value, defined
}

// IsOneValue reports whether the node is an atomic map.
func (n *Node) IsOneValue() bool { return n != nil && n.OneValue }

// IsOpen reports whether other clients can add elements to a list under a default schema: elements have keys
// or are unique, and adding one grants nothing.
// Source: docs/semantics.md, "The default schema".
func (n *Node) IsOpen() bool { return n != nil && (n.List == Map || n.List == Set) && !n.Grants }

// Forbids reports whether the schema is known not to have a field of that name. It returns false for
// free-form maps and unknown schemas.
func (n *Node) Forbids(name string) bool { return n != nil && n.closed && !n.Names(name) }

// Names reports whether the schema is known to have a field of that name.
func (n *Node) Names(name string) bool {
	if n == nil {
		return false
	}
	_, known := n.fields[name]
	return known
}

// HasFreeKeys reports whether the field is known to be a map with arbitrary keys that is not atomic.
func (n *Node) HasFreeKeys(name string) bool {
	if n == nil || !n.closed {
		return false
	}
	field, known := n.fields[name]
	return known && (field == nil || !field.closed && !field.OneValue && len(field.fields) == 0 && field.List == "")
}

// Elem returns the type of the elements of a list or map. It can return nil if the elements contain no
// list.
func (n *Node) Elem() *Node {
	if n == nil {
		return nil
	}
	return n.elem
}

// Fields returns the names and types of the known fields, in no particular order.
func (n *Node) Fields() iter.Seq2[string, *Node] {
	if n == nil {
		return func(func(string, *Node) bool) {}
	}
	return maps.All(n.fields)
}
