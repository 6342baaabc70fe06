package observer

import (
	"slices"
	"strings"

	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
)

// Keys of the control dictionary that ends every list of a schema. The first
// three keep the spelling of the original format, since users carry files over.
const (
	KeyMinLength     = "observer_schema_list_min_length"
	KeyMaxLength     = "observer_schema_list_max_length"
	KeyCurrentLength = "observer_schema_list_current_length"
	KeyMapKeys       = "observer_schema_list_map_keys"
)

// LeafText is a leaf of a schema. A null means the same, and many clients drop it on
// the way, so that LeafText is what is written.
const LeafText = "observed"

// FreeText releases a field by its name, where its leaf was null. Without it, a leaf
// that a user took out could not be told from one that a client has dropped.
const FreeText = "free"

// ByValueText in the place of map keys says that the elements of a list are single values,
// and that each is found by itself, wherever it stands.
const ByValueText = "value"

// NodeType says what a schema node speaks of.
type NodeType int

const (
	// Leaf observes a whole value.
	Leaf NodeType = iota
	// Map observes some keys of a map.
	Map
	// Sequence observes some elements of a list, and its length.
	Sequence
)

// Node is one node of an observer schema.
type Node struct {
	Shape  NodeType
	Fields []Field // of a Map, sorted by name
	List   *List   // of a Sequence
	Rule   *Rule   // of a Leaf; nil if it is held to one value
	Keys   *Keys   // of a Map; nil if everybody may add keys to it
}

// plainLeaf is every leaf without a rule. Leaves are never changed, but replaced.
var plainLeaf = &Node{Shape: Leaf}

// Field is a named child of a Map node.
type Field struct {
	Name string
	Node *Node
}

// List is what a schema says of a list.
type List struct {
	Elements []*Node
	// Min and Max bound the live length; Max 0 is no bound.
	Min, Max int
	// Keys identify elements, if the schema says so itself; ByValue if it says that their
	// values do.
	Keys    []string
	ByValue bool
	// Aligned has elements without keys be found by their values first, and by their
	// position only then: the list is part of a default schema.
	Aligned bool
	// AllKeys has elements be found by all keys, whichever are observed.
	AllKeys bool
	// Known is how many elements the list had when its surplus was accepted;
	// see Entry.KeepSurplus. It is 0 unless Max exceeds len(Elements) for that
	// reason.
	Known int
	// Raised is by how much hooks have raised Max.
	Raised int
}

// Field returns the child of that name, or nil.
func (n *Node) Field(name string) *Node {
	i, ok := slices.BinarySearchFunc(n.Fields, name, func(f Field, name string) int {
		return strings.Compare(f.Name, name)
	})
	if !ok {
		return nil
	}
	return n.Fields[i].Node
}

// set adds or replaces a child.
func (n *Node) set(name string, child *Node) {
	i, ok := slices.BinarySearchFunc(n.Fields, name, func(f Field, name string) int {
		return strings.Compare(f.Name, name)
	})
	if ok {
		n.Fields[i].Node = child
		return
	}
	n.Fields = slices.Insert(n.Fields, i, Field{Name: name, Node: child})
}

// IsPlaceholder is true for a map without keys. As the element of a list it observes
// nothing, whatever is there, and keeps the place for those after it; as a field
// it observes that a map is there.
func (n *Node) IsPlaceholder() bool { return n.Shape == Map && len(n.Fields) == 0 && n.Keys == nil }

// IsHeld reports whether a node is a leaf that is held to one value.
func (n *Node) IsHeld() bool { return n.Shape == Leaf && n.Rule == nil }

// raw is the node as a JSON value.
func (n *Node) raw() any {
	switch n.Shape {
	case Map:
		m := make(map[string]any, len(n.Fields))
		for _, f := range n.Fields {
			m[f.Name] = f.Node.raw()
		}
		if n.Keys != nil {
			m[KeyKeys] = n.Keys.raw()
		}
		return m
	case Sequence:
		l := make([]any, 0, len(n.List.Elements)+1)
		for _, e := range n.List.Elements {
			l = append(l, e.raw())
		}
		return append(l, n.List.control())
	}
	if n.Rule != nil {
		return n.Rule.raw()
	}
	return LeafText
}

func (l *List) control() map[string]any {
	c := map[string]any{KeyMinLength: int64(l.Min), KeyMaxLength: int64(l.Max)}
	if len(l.Keys) > 0 {
		keys := make([]any, len(l.Keys))
		for i, k := range l.Keys {
			keys[i] = k
		}
		c[KeyMapKeys] = keys
	}
	if l.ByValue {
		c[KeyMapKeys] = ByValueText
	}
	return c
}

// copy is a deep copy, but for leaves.
func (n *Node) copy() *Node {
	if n.Shape == Leaf {
		return n
	}
	c := &Node{Shape: n.Shape, Rule: n.Rule, Keys: n.Keys.copy()}
	if n.Fields != nil {
		c.Fields = make([]Field, len(n.Fields))
		for i, f := range n.Fields {
			c.Fields[i] = Field{Name: f.Name, Node: f.Node.copy()}
		}
	}
	if n.List != nil {
		l := *n.List
		l.Elements = make([]*Node, len(n.List.Elements))
		for i, e := range n.List.Elements {
			l.Elements[i] = e.copy()
		}
		c.List = &l
	}
	return c
}

// Schema is the observer schema of one resource.
type Schema struct {
	// ID of the resource; Namespace is empty in a parsed entry that gives none.
	ID         manifest.ID
	APIVersion string
	// Position is the index in spec.observerSchema, if it stands there.
	Position int
	// Root observes the fields, without apiVersion, kind and metadata.name,
	// which identify.
	Root *Node
	// Default marks an entry that was derived from the manifest, and holds nothing beyond
	// it.
	Default bool
	// Follows marks an entry that holds all that the manifest sets, but for what
	// spec.fields frees, and perhaps more.
	Follows bool
	// namespace is the string that the entry itself gives, if it does.
	namespace string
	written   written
	// fields and kind are what it was made of, if that is spec.fields.
	fields *Fields
	kind   *kinds.Node
	// profiled are the places that its paths name, if there are profiles, in the order in
	// which they decide.
	profiled []profileTarget
	// released are the places that it frees.
	released []releasedPath
}

// Raw is the entry as a JSON object, as it stands in status and files.
func (e *Schema) Raw() map[string]any {
	raw, _ := e.Root.raw().(map[string]any)
	raw["apiVersion"] = e.APIVersion
	raw["kind"] = e.ID.Kind
	metadata, ok := raw["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		raw["metadata"] = metadata
	}
	metadata["name"] = e.ID.Name
	if e.namespace != "" {
		metadata["namespace"] = e.namespace
	}
	return raw
}

// At returns the node and the desired value at a path; nil if the entry has no such node.
// desired is the state that the entry belongs to.
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

// Copy is a deep copy.
func (e *Schema) Copy() *Schema {
	c := *e
	c.Root = e.Root.copy()
	return &c
}

// Raisable is a copy in which the lists and the closed maps may take in what
// the API server makes of them. All else is shared with the entry; it is the entry itself if
// it has neither.
func (e *Schema) Raisable() *Schema {
	root := e.Root.raisable()
	if root == e.Root {
		return e
	}
	c := *e
	c.Root = root
	return &c
}

// raisable is a node with copies of its lists and closed maps; the node itself if it has none.
func (n *Node) raisable() *Node {
	if n.List != nil || n.Keys != nil {
		return n.copy()
	}
	c := n
	for i, f := range n.Fields {
		child := f.Node.raisable()
		if child == f.Node {
			continue
		}
		if c == n {
			c = &Node{Shape: n.Shape, Rule: n.Rule, Fields: slices.Clone(n.Fields)}
		}
		c.Fields[i].Node = child
	}
	return c
}

// watched reports whether a top-level field is only watched: recorded, never
// learned, compared or written.
func watched(name string) bool { return name == "status" }
