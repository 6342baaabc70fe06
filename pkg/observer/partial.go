package observer

import (
	"cmp"
	"maps"
	"slices"

	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
)

// PartialEntry derives the schema of a shared object, whose manifest describes only a part of it. The
// schema observes the scalars that the manifest sets. Its lists have no bounds, so that no element of
// another client is removed. List elements are found by their keys, scalars by their value. An empty map or
// list has no effect.
// Source: docs/semantics.md, "Shared objects".
//
//	manifest                              schema
//	metadata: {labels: {team: a}}         metadata: {labels: {team: observed}}
//	data: {}                              nothing
//	ports: [{port: 80, name: web}]        ports: [{port: observed, name: observed}, {min: 0, max: 0}]
func PartialEntry(object manifest.Object, t *kinds.Node) *Schema {
	entry := &Schema{ID: object.ID, APIVersion: object.APIVersion, schemaTree: schemaTree{&Node{Shape: Map}}, Default: true}
	for _, name := range sortedKeys(object.Content) {
		if name == "apiVersion" || name == "kind" {
			continue
		}
		v := object.Content[name]
		if m, isMap := v.(map[string]any); isMap && name == "metadata" {
			named := maps.Clone(m)
			maps.DeleteFunc(named, func(field string, _ any) bool {
				return field == "name" || field == "namespace" || serverOwned(field) // the Application does not hold fields that identify the object
			})
			v = named
		}
		if node := partialNode(t.Field(name), v); node != nil {
			entry.Root.set(name, node)
		}
	}
	return entry
}

// partialNode returns the node that observes the scalars in a value. It returns nil if there is nothing to observe. A
// manifest's own schema is one leaf.
func partialNode(t *kinds.Node, v any) *Node {
	switch v := v.(type) {
	case map[string]any:
		if hasControlKey(v) {
			return &Node{Shape: Leaf}
		}
		node := &Node{Shape: Map}
		for _, name := range sortedKeys(v) {
			if child := partialNode(t.Field(name), v[name]); child != nil {
				node.Fields = append(node.Fields, Field{Name: name, Node: child})
			}
		}
		if len(node.Fields) == 0 {
			return nil
		}
		return node
	case []any:
		if len(v) == 0 {
			return nil
		}
		list := &List{}
		list.ByValue = !list.ByIdentity(t) // computed before the list has elements, because their nodes do not exist yet
		list.Elements = make([]*Node, len(v))
		for i, element := range v {
			// An element without scalars is a placeholder. An element of a set is held as a whole.
			list.Elements[i] = cmp.Or(partialNode(t.Elem(), element), &Node{Shape: Map})
			if t != nil && t.List == kinds.Set {
				list.Elements[i] = plainLeaf
			}
		}
		return &Node{Shape: Sequence, List: list}
	}
	return &Node{Shape: Leaf}
}

// FindByAllKeys makes the elements of all lists match by all their keys, as in a shared object. An element
// that differs in one key belongs to another client.
func (e *schemaTree) FindByAllKeys() {
	e.Root.eachList(func(l *List) { l.AllKeys = true }) // the lists must not be shared
}

// Nameless is a list in which a schema observes elements that only their position identifies. In a shared object, these
// elements may belong to another client. It is an error of the user, who then gets a remedy: the keys to add, or to
// hold each element by its value.
type Nameless struct {
	// Path is the path of the list, or of an element that does not have all Keys.
	Path *Path
	// Keys are the list-map keys; empty if no fields identify the elements.
	Keys []string
}

// UnkeyedLists returns the lists in which the schema observes elements that only their position identifies. content
// is the manifest, whose elements must have all keys. The result is empty for a valid schema of a shared object.
func (e *schemaTree) UnkeyedLists(t *kinds.Node, content map[string]any) (found []Nameless) {
	for _, field := range e.holdable(t, content) {
		field.byPosition = true
		found = append(found, field.nameless()...)
	}
	return found
}

// nameless returns the unkeyed lists at and below a node. It does not look below a list without keys, because its
// elements cannot be found.
func (b boundNode) nameless() (found []Nameless) {
	if b.node.Shape == Sequence && len(b.node.List.Elements) > 0 {
		l, _ := b.value.([]any)
		found = b.node.List.nameless(b.path, b.t, l)
	}
	if len(found) > 0 && len(found[0].Keys) == 0 {
		return found
	}
	for child := range b.children() {
		found = append(found, child.nameless()...)
	}
	return found
}

// nameless returns the list if its elements have no keys, or the elements that lack a key. A list of scalars is
// identified by value.
func (l *List) nameless(path *Path, t *kinds.Node, elements []any) (found []Nameless) {
	id := l.identifier(t)
	if id == nil {
		return []Nameless{{Path: path}}
	}
	for i, element := range elements {
		switch {
		case len(id.keys) == 0 && isContainer(element) && i < len(l.Elements) && !l.Elements[i].IsHeld():
			return []Nameless{{Path: path}} // fields of the element are held, and none of them identifies it
		case id.whole(element):
		case len(id.keys) == 0:
			return []Nameless{{Path: path}}
		default:
			found = append(found, Nameless{path.Element(positionLabel(i), i), id.keys})
		}
	}
	return found
}

// TruncatedLists returns the paths at which a schema would remove elements or keys of other clients from a
// shared object: lists with bounds, and leaves over all labels, all annotations or all metadata.
func (e *schemaTree) TruncatedLists() []string {
	var found []*Path
	for _, field := range e.holdable(nil, nil) {
		found = field.cuts(found)
	}
	return texts(found)
}

// cuts appends the paths of bounded lists, closed lists, and leaves over metadata, at and below a node.
func (b boundNode) cuts(found []*Path) []*Path {
	switch n := b.node; {
	case n.Shape == Sequence && (n.List.Min != 0 || n.List.Max != 0 || n.Keys != nil),
		n.Shape == Leaf && slices.Contains([]string{"metadata", "metadata.labels", "metadata.annotations"}, b.path.String()):
		found = append(found, b.path)
	}
	for child := range b.children() {
		found = child.cuts(found)
	}
	return found
}

// IsKey reports whether a path leads to a key of the list element around it. No Application claims these fields: see
// "Several Applications share an object" in docs/semantics.md.
func IsKey(path string) bool {
	p, err := ParsePath(path)
	if err != nil || p == nil || p.IsElement() || !p.Parent().IsElement() {
		return false
	}
	name, _, err := parseElement(p.Parent().label[1:])
	return err == nil && !name.isWhole && slices.ContainsFunc(name.keys, func(key elementKey) bool { return key.name == p.Name() })
}

// In returns the index of the list element in the last path element, or -1, and the names of its keys. keys is empty if
// the element is identified by its value or its position. If the element is missing, keys are nil. The last path
// element must be a list element. A position is taken as it is, also if the list has changed. #2 counts elements with
// the same keys.
func (p *Path) In(t *kinds.Node, list []any) (index int, keys []string) {
	name, _, err := parseElement(p.label[1:])
	switch {
	case err == nil && name.isWhole:
		return name.wholeIn(list), nil
	case err != nil, len(name.keys) == 0 && name.position >= len(list):
		return -1, nil
	case len(name.keys) == 0:
		return name.position, nil
	}
	id := &elementKeys{}
	if t != nil {
		id.defaults = t.Defaults
	}
	for _, key := range name.keys {
		if key.name != "" {
			keys = append(keys, key.name)
		}
	}
	nth := max(name.nth, 1)
	for k, element := range list {
		if name.names(id, element) {
			if nth--; nth == 0 {
				return k, keys
			}
		}
	}
	return -1, nil
}

// wholeIn returns the index of an element of a set, or -1. An element with exactly the fields of the name has
// precedence over one that has more.
func (n elementName) wholeIn(list []any) int {
	element := make(map[string]any, len(n.keys))
	for _, key := range n.keys {
		element[key.name] = key.value
	}
	found := -1
	nth := max(n.nth, 1)
	for k, is := range list {
		switch m, isMap := is.(map[string]any); {
		case isMap && (elementName{isWhole: true, keys: wholeKeys(m)}).label() == (elementName{isWhole: true, keys: n.keys}).label():
			if nth--; nth == 0 {
				return k
			}
		case found < 0 && Completes(is, element):
			found = k
		}
	}
	return found
}

// names reports whether an element contains the keys of a name, or equals the value in it.
func (n elementName) names(id *elementKeys, element any) bool {
	m, _ := element.(map[string]any)
	for _, key := range n.keys {
		is := keyText(element)
		if key.name != "" {
			is = id.keyOf(m, key.name)
		}
		if is == "-" || is != keyText(key.value) {
			return false
		}
	}
	return true
}

// Leaves returns the paths of all fields that a schema holds in a desired state. A field with a rule counts even
// without a value, but not with the mode report, which never writes to a live object. Fields of the status do
// not count. In a shared object, these paths are the claims; package writer compares them with managedFields.
func (e *schemaTree) Leaves(t *kinds.Node, desired map[string]any) []string {
	var leaves []*Path
	for _, field := range e.holdable(t, desired) {
		if field.set || field.node.claims() {
			leaves = field.held(leaves)
		}
	}
	return texts(leaves)
}

// Empty returns the paths of the maps and lists in a desired state whose existence a schema observes, and
// that contain only empty maps and lists.
func (e *schemaTree) Empty(t *kinds.Node, desired map[string]any) []string {
	var found []*Path
	for _, field := range e.holdable(t, desired) {
		found = field.empty(found)
	}
	return texts(found)
}

// empty appends the paths of the empty maps and lists, at and below a node, that the desired state has.
func (b boundNode) empty(found []*Path) []*Path {
	if !b.set {
		return found
	}
	if b.node.Shape != Leaf && isEmptyTree(b.value) {
		found = append(found, b.path)
	}
	for child := range b.children() {
		found = child.empty(found)
	}
	return found
}

// isEmptyTree reports whether a value is a map or a list that contains only empty maps and lists.
func isEmptyTree(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, child := range v {
			if !isEmptyTree(child) {
				return false
			}
		}
		return true
	case []any:
		return !slices.ContainsFunc(v, func(child any) bool { return !isEmptyTree(child) })
	}
	return false
}

// claims reports whether a node holds something even if the desired state has no value: it, or a node below
// it, has a rule. Rules of list elements apply only to elements that exist.
func (n *Node) claims() bool { return n.Shape != Sequence && n.hasRules() }

// held appends the held fields at and below a node. If the types of node and value differ, the whole value is held. A
// placeholder among the elements is free, and has no path. An empty map of the desired state is one path.
func (b boundNode) held(leaves []*Path) []*Path {
	n := b.node
	if n.Rule != nil && n.Rule.Mode == ModeReport {
		return leaves // never written to a live object
	}
	isInner := false
	switch b.value.(type) {
	case map[string]any:
		isInner = n.Shape == Map
	case []any:
		isInner = n.Shape == Sequence
	case nil: // the nodes below can have their own rules
		isInner = n.Shape == Map && n.claims()
	}
	if !isInner {
		return append(leaves, b.path)
	}
	for child := range b.children() {
		isHeld := child.set || child.node.claims()
		if n.Shape == Sequence {
			isHeld = child.set && !child.node.IsPlaceholder()
		}
		if isHeld {
			leaves = child.held(leaves)
		}
	}
	return leaves
}
