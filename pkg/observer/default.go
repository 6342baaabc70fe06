package observer

import (
	"slices"
	"strings"

	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
)

// DefaultEntry derives the schema of a resource that has none. Every leaf of its manifest is observed,
// every list has the manifest's length until Typed opens it, and keys are copied. For a Service of type
// LoadBalancer, the schema also records the address in the status.
//
//	manifest                    schema
//	metadata: {name: web,       metadata: {labels: {app: observed}}
//	  labels: {app: web}}
//	spec: {replicas: 2,         spec: {replicas: observed,
//	  ports: [{port: 80}]}        ports: [{port: observed}, {min: 1, max: 1}]}
//
// The type of the kind is not needed: Typed applies it, as soon as the API server has returned it.
func DefaultEntry(object manifest.Object) *Schema {
	root := &Node{Shape: Map, Fields: make([]Field, 0, len(object.Content))}
	entry := &Schema{ID: object.ID, APIVersion: object.APIVersion, schemaTree: schemaTree{root}, Default: true}
	for _, name := range sortedKeys(object.Content) {
		switch name {
		case "apiVersion", "kind":
		case "metadata":
			entry.Root.set(name, defaultMetadata(object.Content[name]))
		default:
			entry.Root.set(name, defaultNode(object.Content[name]))
		}
	}
	if isLoadBalancer(object) {
		// A field below status is only recorded in the status of the Application, which lists the address of a
		// Service.
		entry.Root.set("status", defaultNode(map[string]any{"loadBalancer": map[string]any{"ingress": nil}}))
	}
	return entry
}

// Typed returns the default schema of an object of a kind. A value that the kind declares as one value becomes one
// leaf: a selector with any keys, and a list whose elements have no keys. A list whose elements have keys gets no
// maximum, so that other clients can add elements. Typed returns a schema that a user wrote unchanged. It is called for
// every comparison, so it shares all unchanged nodes. A schema of spec.fields is typed when it is compiled.
// Source: docs/semantics.md, "The default schema".
func (e *Schema) Typed(t *kinds.Node) *Schema {
	if !e.Default || e.fields != nil {
		return e
	}
	return e.withRoot(typedBelow(e.Root, t, true))
}

// typedNode returns the node with a leaf for everything that is one value by its type. It does not change n, whose
// unchanged parts the result shares. An empty list remains a list, so that additions of other clients are elements too
// many.
func typedNode(n *Node, t *kinds.Node) *Node {
	if n.Shape == Map && t.IsOneValue() || n.Shape == Sequence && len(n.List.Elements) > 0 && !n.List.ByIdentity(t) {
		return plainLeaf
	}
	return typedBelow(n, t, false)
}

// typedBelow applies typed below the node, which itself does not become a leaf. It skips the metadata of an
// object of an unknown kind, because the types of metadata are missing then.
func typedBelow(n *Node, t *kinds.Node, root bool) *Node {
	switch n.Shape {
	case Map:
		return n.withFields(func(f Field) *Node {
			if root && t == nil && f.Name == "metadata" {
				return f.Node
			}
			return typedNode(f.Node, t.Field(f.Name))
		})
	case Sequence:
		node := n
		// A maximum of 0 marks a list that is open already.
		if t.IsOpen() && n.List.Max != 0 {
			node = n.open()
		}
		for i, element := range n.List.Elements {
			child := typedNode(element, t.Elem())
			if child == element {
				continue
			}
			if node == n {
				list := *n.List
				list.Elements = slices.Clone(list.Elements)
				node = &Node{Shape: Sequence, List: &list}
			}
			node.List.Elements[i] = child
		}
		return node
	}
	return n
}

// open returns a copy of a list to which other clients can add elements.
func (n *Node) open() *Node {
	list := *n.List
	list.Max, list.Open, list.Elements = 0, true, slices.Clone(list.Elements)
	return &Node{Shape: Sequence, List: &list}
}

// unbind removes the bounds of all lists. The lists of a shared object have no bounds, because other clients add
// elements. The nodes must not be shared.
func unbind(n *Node) {
	n.eachList(func(l *List) { l.Min, l.Max = 0, 0 })
}

// Align makes the elements of lists without keys match as in a default schema: see List.Aligned. It replaces the root,
// because other schemas can share the nodes. A schema in a status does not record whether its lists are aligned. Call
// it for one that was a default schema.
func (e *schemaTree) Align() {
	e.Root = e.Root.copy()
	e.Root.eachList(func(l *List) { l.Aligned = true })
}

// defaultMetadata returns the default schema of the metadata of an object: without the name and the fields of the API
// server. Its lists have no maximum. Finalizers and owner references of other clients are free. The namespace is
// observed if the manifest sets it.
func defaultMetadata(v any) *Node {
	m, _ := v.(map[string]any)
	node := &Node{Shape: Map, Fields: make([]Field, 0, len(m))}
	for _, name := range sortedKeys(m) {
		if name != "name" && !serverOwned(name) {
			child := defaultNode(m[name])
			if child.Shape == Sequence {
				child = child.open() // finalizers, also if the kind is unknown
			}
			node.set(name, child)
		}
	}
	return node
}

// defaultNode returns a node that observes all of a value. Each list has the length of the value as minimum and
// maximum, and is aligned. The nodes are not shared, except for plainLeaf. An Application in a manifest contains a
// schema with control dictionaries. The parser would take them for control dictionaries of this schema, so it is one
// leaf.
func defaultNode(v any) *Node {
	switch v := v.(type) {
	case map[string]any:
		node := &Node{Shape: Map, Fields: make([]Field, 0, len(v))}
		for name, value := range v {
			if strings.HasPrefix(name, keyPrefix) {
				return &Node{Shape: Leaf} // the manifest contains a schema, which a schema cannot describe
			}
			node.Fields = append(node.Fields, Field{Name: name, Node: defaultNode(value)})
		}
		slices.SortFunc(node.Fields, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
		return node
	case []any:
		list := &List{Min: len(v), Max: len(v), Elements: make([]*Node, len(v)), Aligned: true}
		for i, element := range v {
			list.Elements[i] = defaultNode(element)
		}
		return &Node{Shape: Sequence, List: list}
	default:
		return plainLeaf
	}
}

// isLoadBalancer reports whether an object is a Service whose manifest requests a load balancer.
func isLoadBalancer(object manifest.Object) bool {
	return object.ID.Group == "" && object.ID.Kind == "Service" &&
		manifest.NestedString(object.Content, "spec", "type") == "LoadBalancer"
}
