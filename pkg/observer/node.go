package observer

import (
	"slices"
	"strings"

	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
)

// Keys of the control dictionary that ends every list of a schema. The first three keep the spelling of the
// original format, because users import existing files.
const (
	KeyMinLength     = "observer_schema_list_min_length"
	KeyMaxLength     = "observer_schema_list_max_length"
	KeyCurrentLength = "observer_schema_list_current_length"
	KeyMapKeys       = "observer_schema_list_map_keys"
)

// LeafText is a leaf of a schema. A null means the same, but many clients drop nulls, so Holdfast writes LeafText. It
// is never a valid value of a schema in another sense, because a schema has no values.
const LeafText = "observed"

// learnedText is a leaf in a status whose value was learned: see Node.Learned.
const learnedText = "learned"

// ByValueText, in place of the list-map keys, declares that each element of a list is found by its value at any
// index. An element that is a map is found by all its fields.
const ByValueText = "value"

// NodeType is the type of a schema node.
type NodeType int

const (
	// Leaf observes a whole value.
	Leaf NodeType = iota
	// Map observes some keys of a map.
	Map
	// Sequence observes some elements of a list, and its length.
	Sequence
)

// Node is one node of an observer schema. Schemas share nodes, so a node is changed only by the function that made or
// copied it.
//
//	Shape       fields that can be set
//	Leaf        Rule, Quantity or Learned
//	Map         Fields, Keys
//	Sequence    List, Keys
type Node struct {
	Shape  NodeType
	Fields []Field // of a Map, sorted by name
	List   *List   // of a Sequence
	Rule   *Rule   // of a Leaf; nil if it is held to one value
	// Quantity is true for a Leaf that holds an amount, in any notation.
	Quantity bool
	// Learned is true for a Leaf that spec.fields names and the manifest does not set. Its value is not the
	// Application's, so it stays when the path leaves spec.fields.
	Learned bool
	Keys    *Keys // of a Map or Sequence; nil if other clients can add keys or elements to it
}

// plainLeaf is shared by leaves without a rule. Leaves are never changed, only replaced.
var plainLeaf = &Node{Shape: Leaf}

// Field is a named child of a Map node. Node is never nil: a field that is not observed has no Field.
type Field struct {
	// Name is the key in the map.
	Name string
	Node *Node
}

// List is the schema of a list. The control dictionary has Min, Max, Keys and ByValue. The other fields follow from
// where the schema comes from, and are not in its JSON form.
type List struct {
	// Elements observe the elements of the desired list with the same indices, and then live elements that are still
	// unknown. A placeholder is a free element: see Node.IsPlaceholder.
	Elements []*Node
	// Min and Max limit the live length; if Max is 0, there is no upper limit.
	Min, Max int
	// Keys are the list-map keys, if the schema itself sets them. ByValue is true if it declares that
	// elements are identified by their values.
	Keys    []string
	ByValue bool
	// Aligned makes elements without keys match by their values first, and by position only then. It is set
	// for lists of a default schema.
	Aligned bool
	// Open is true for a list of a default schema to which other clients can add elements: elements are found
	// by their keys, and Max is 0. The manifest's elements are held as in any list of a default schema.
	Open bool
	// AllKeys makes elements match by all keys, not only by the observed ones.
	AllKeys bool
	// Known is the number of elements that the list had when its surplus was accepted: see Schema.KeepSurplus. It is
	// 0 unless Max exceeds len(Elements) for that reason. It is not part of the JSON form.
	Known int
	// Raised is the amount by which hooks raised Max. It is not part of the JSON form.
	Raised int
}

// Field returns the child with that name, or nil.
func (n *Node) Field(name string) *Node {
	if i, ok := n.search(name); ok {
		return n.Fields[i].Node
	}
	return nil
}

// search returns the index of the child with that name, or the index at which it belongs.
func (n *Node) search(name string) (index int, found bool) {
	return slices.BinarySearchFunc(n.Fields, name, func(f Field, name string) int { return strings.Compare(f.Name, name) })
}

// set adds or replaces a child, and keeps the order by name.
func (n *Node) set(name string, child *Node) {
	i, ok := n.search(name)
	if ok {
		n.Fields[i].Node = child
		return
	}
	n.Fields = slices.Insert(n.Fields, i, Field{Name: name, Node: child})
}

// IsPlaceholder reports whether a node is a map without keys. As a list element, it observes nothing and
// keeps the index of the elements after it. As a field, it observes that the map exists.
func (n *Node) IsPlaceholder() bool { return n.Shape == Map && len(n.Fields) == 0 && n.Keys == nil }

// IsHeld reports whether a node is a leaf without a rule.
func (n *Node) IsHeld() bool { return n.Shape == Leaf && n.Rule == nil }

// raw returns the node as a new JSON value, which the parser reads as an equal node. It omits everything that is only
// known in memory, so a schema that was read back has no Known, Raised, Open or Aligned.
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
		control := n.List.control()
		if n.Keys != nil {
			control[KeyKeys] = n.Keys.raw()
		}
		return append(l, control)
	}
	switch {
	case n.Rule != nil:
		return n.Rule.raw()
	case n.Quantity:
		return map[string]any{KeyType: quantityText}
	case n.Learned:
		return learnedText
	}
	return LeafText
}

// control returns the control dictionary of the list. Numbers are int64, as in decoded JSON.
func (l *List) control() map[string]any {
	c := map[string]any{KeyMinLength: int64(l.Min), KeyMaxLength: int64(l.Max)}
	if len(l.Keys) > 0 {
		c[KeyMapKeys] = jsonList(l.Keys)
	}
	if l.ByValue {
		c[KeyMapKeys] = ByValueText
	}
	return c
}

// copy returns a deep copy that shares the leaves, which are never changed.
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

// Schema is the observer schema of one resource. Its source determines two of its fields:
//
//	source                                       true are
//	the manifest only (DefaultEntry)             Default
//	spec.fields that only free manifest fields   Default, Follows
//	spec.fields with "*" and further fields      Follows
//	spec.observerSchema, or hold without "*"     none
//
// A default schema learns nothing. Only the maxima of lists of the first three can be raised: see RaiseSurplus.
type Schema struct {
	// ID of the resource; Namespace is empty in a parsed schema that sets none.
	ID         manifest.ID
	APIVersion string
	// Position is the index in spec.observerSchema, for a schema that the user wrote there. It is 0 for others.
	Position int
	schemaTree
	// Default is true for a schema that was derived from the manifest and holds nothing else.
	Default bool
	// Follows is true for a schema that holds all fields that the manifest sets, except for those that
	// spec.fields releases. It can hold more fields.
	Follows bool
	// namespace is the namespace that the schema itself sets, or "".
	namespace string
	schemaSource
}

// schemaTree contains the nodes of a schema. Its methods need nothing else.
type schemaTree struct {
	// Root observes the fields, without apiVersion, kind and metadata.name, which identify the object.
	Root *Node
}

// schemaSource records the sources of a schema. They are not part of its JSON form, so a schema in the status has none.
type schemaSource struct {
	// fields and kind are the sources of a schema that was made from spec.fields. overWritten is true if the
	// paths were applied to a schema that the user wrote.
	fields      *Fields
	overWritten bool
	kind        *kinds.Node
	// profiled lists the fields that its paths match, if there are profiles. Later elements take
	// precedence.
	profiled []profileTarget
	// released lists the fields that its paths release.
	released []releasedPath
}

// Raw returns the schema as a JSON object, in the form of the status and of files. The caller can change the result.
func (e *Schema) Raw() map[string]any {
	raw, _ := e.Root.raw().(map[string]any)
	return e.identified(raw)
}

// identified adds the fields that identify the resource to an object, and returns it. The namespace is added only if
// the schema itself sets it.
func (e *Schema) identified(object map[string]any) map[string]any {
	object["apiVersion"], object["kind"] = e.APIVersion, e.ID.Kind
	metadata := manifest.EnsureMap(object, "metadata")
	metadata["name"] = e.ID.Name
	if e.namespace != "" {
		metadata["namespace"] = e.namespace
	}
	return object
}

// Copy returns a deep copy. It shares only leaves and the sources, which are never changed.
func (e *Schema) Copy() *Schema {
	c := *e
	c.Root = e.Root.copy()
	return &c
}

// Raisable returns a copy whose lists and closed maps can be changed for server-added elements and keys.
// Everything else is shared. It returns the schema itself if there are no lists and closed maps.
func (e *Schema) Raisable() *Schema { return e.withRoot(e.Root.raisable()) }

// withRoot returns a schema with another root, or the schema itself if the root is unchanged.
func (e *Schema) withRoot(root *Node) *Schema {
	if root == e.Root {
		return e
	}
	c := *e
	c.Root = root
	return &c
}

// raisable returns a node with copies of its lists and closed maps, at any depth, or the node itself if it has none.
// The copy shares all other nodes.
func (n *Node) raisable() *Node {
	c := n.withFields(func(f Field) *Node { return f.Node.raisable() })
	if n.List == nil && n.Keys == nil {
		return c
	}
	if c == n {
		same := *n
		c = &same
	}
	c.Keys = n.Keys.copy()
	if n.List != nil {
		list := *n.List
		list.Elements = make([]*Node, len(list.Elements))
		for i, element := range n.List.Elements {
			list.Elements[i] = element.raisable()
		}
		c.List = &list
	}
	return c
}

// withFields returns a Map with other children, or the node itself if replace returns all its children unchanged. It
// does not change the node, which schemas can share.
func (n *Node) withFields(replace func(Field) *Node) *Node {
	replaced := n
	for i, f := range n.Fields {
		child := replace(f)
		if child == f.Node {
			continue
		}
		if replaced == n {
			replaced = &Node{Shape: Map, Fields: slices.Clone(n.Fields)}
		}
		replaced.Fields[i].Node = child
	}
	return replaced
}

// isStatus reports whether a top-level field is report-only: it is recorded, but never learned, compared or
// written.
func isStatus(name string) bool { return name == "status" }

// serverOwned reports whether a field of metadata cannot be observed, because the API server owns it. Package manifest
// drops the same fields from manifests, with a warning.
func serverOwned(name string) bool {
	return slices.Contains([]string{
		"uid", "resourceVersion", "generation", "creationTimestamp",
		"deletionTimestamp", "managedFields", "selfLink",
	}, name)
}

// controlKeys are the keys that belong only in a control dictionary.
var controlKeys = []string{KeyMinLength, KeyMaxLength, KeyCurrentLength, KeyMapKeys}

// hasControlKey reports whether a map in a schema is a control dictionary. In a manifest, it is a part of a schema.
func hasControlKey(m map[string]any) bool {
	return slices.ContainsFunc(controlKeys, func(key string) bool { _, has := m[key]; return has })
}

// texts returns the paths in the form of String; nil for none.
func texts(paths []*Path) []string {
	var all []string
	for _, path := range paths {
		all = append(all, path.String())
	}
	return all
}

// Fields returns the paths of the keys of a map. It allocates them at once, to reduce garbage.
func (p *Path) Fields(of []Field) []Path {
	paths := make([]Path, len(of))
	for i, f := range of {
		paths[i] = Path{parent: p, field: f.Name}
	}
	return paths
}

// walk calls visit for the node and all nodes below it, until visit returns false. It returns the last result. A node
// is visited before the nodes below it. Shared nodes are visited once for each place.
func (n *Node) walk(visit func(*Node) bool) bool {
	return visit(n) &&
		!slices.ContainsFunc(n.Fields, func(f Field) bool { return !f.Node.walk(visit) }) &&
		(n.List == nil || !slices.ContainsFunc(n.List.Elements, func(e *Node) bool { return !e.walk(visit) }))
}

// eachList calls change for the list of the node, and all lists below it.
func (n *Node) eachList(change func(*List)) {
	n.walk(func(n *Node) bool {
		if n.List != nil {
			change(n.List)
		}
		return true
	})
}

// hasRules reports whether the node, or a node below it, has a rule.
func (n *Node) hasRules() bool { return !n.walk(func(n *Node) bool { return n.Rule == nil }) }
