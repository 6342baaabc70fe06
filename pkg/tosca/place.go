package tosca

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"holdfast.dev/holdfast/pkg/manifest"
)

// trail is the path of a value, from its end to the root. Strings are made of it only for messages. The nil trail is
// the root. It is a list from the end to the root, so a value costs one allocation, and siblings share the path of
// their parent.
type trail struct {
	// up is the path of the parent; nil at the root.
	up    *trail
	key   string
	index int // if key is empty
	// within is the rest of the path, as a string, into a value that is not written anywhere.
	within string
}

// String returns the path in the syntax of manifest.Path. It returns "" for the root. For example,
// node_templates.web.properties.spec.concat[1], or topology.nodes['a.b'] for a key with a dot.
func (p *trail) String() string {
	if p != nil && p.within != "" {
		return p.up.String() + p.within
	}
	var steps manifest.Path
	for ; p != nil; p = p.up {
		if p.key == "" && p.index >= 0 {
			steps = append(steps, p.index)
			continue
		}
		steps = append(steps, p.key)
	}
	slices.Reverse(steps)
	return steps.String()
}

// fileNode is a value of a file, with its position. The zero value is absent, and so is its every child. Every
// other value exists, so cmp.Or chooses the first one that does. It is small
// and passed by value. Values with the same node are the same value of the file: an alias refers to the node of its
// anchor, with its own path.
type fileNode struct {
	// file contains the value. It decides whether messages can quote it.
	file *file
	// at is the node at whose position messages point: the key, or the list element.
	at *yaml.Node
	// node is the value; aliases are followed.
	node *yaml.Node
	path *trail
}

// position returns a place in a file without its value; 0 and 0 for the file as a whole.
func (f *file) position(line, column int) fileNode {
	return fileNode{file: f, at: &yaml.Node{Line: line, Column: column}}
}

// exists reports whether the template contains the value. A null exists.
func (p fileNode) exists() bool { return p.node != nil }
func (p fileNode) isMap() bool  { return p.node != nil && p.node.Kind == yaml.MappingNode }
func (p fileNode) isList() bool { return p.node != nil && p.node.Kind == yaml.SequenceNode }

func (p fileNode) isScalar() bool {
	return p.node != nil && p.node.Kind == yaml.ScalarNode
}

// isNull reports whether the value is null. A word in quotes is text, but the tag !!null may be before a plain word.
func (p fileNode) isNull() bool {
	return p.isScalar() && p.node.Style&^yaml.TaggedStyle == 0 && p.node.ShortTag() == manifest.TagNull
}

// isTagged reports whether the author has written a tag before the value. p must exist.
func (p fileNode) isTagged() bool { return p.node.Style&yaml.TaggedStyle != 0 }

// isText reports whether the value is certainly a string: it is in quotes, or cannot be read as another type. A date is
// text: manifests have no type for it.
func (p fileNode) isText() bool {
	if !p.isScalar() {
		return false
	}
	tag := p.node.ShortTag()
	return tag == manifest.TagStr || tag == manifest.TagTimestamp
}

// text returns a scalar as it is written, without quotes. It returns "" for other values.
func (p fileNode) text() string {
	if !p.isScalar() {
		return ""
	}
	return p.node.Value
}

// name returns the key of the value in its map. It returns "" for a list element and for the root.
func (p fileNode) name() string {
	if p.path == nil {
		return ""
	}
	return p.path.key
}

// describe returns the type of a value for a message, and never the value. p must exist.
func (p fileNode) describe() string {
	switch {
	case p.isMap():
		return "a map"
	case p.isList():
		return "a list"
	case p.isNull():
		return "null"
	case p.isText():
		return "text"
	case p.node.ShortTag() == manifest.TagBool:
		return "a boolean"
	default:
		return "a number"
	}
}

// below returns a value of a map. An empty key gets the index -1, which distinguishes it from a list element.
func (p fileNode) below(key string, at, value *yaml.Node) fileNode {
	step := &trail{up: p.path, key: key}
	if key == "" {
		step.index = -1
	}
	return fileNode{file: p.file, at: at, node: manifest.Target(value), path: step}
}

// get returns the value of a key. It is absent if p is not a map or has no such key. It searches the map, which takes
// linear time. A walk over all keys must use entries.
func (p fileNode) get(key string) fileNode {
	if !p.isMap() {
		return fileNode{}
	}
	if name, value := manifest.Entry(p.node, key); name != nil {
		return p.below(key, name, value)
	}
	return fileNode{}
}

// entries returns the values of a map in the order in which they are written. Merged values are last, and a key occurs
// once. Keys of !!merge (<<) are replaced by the keys of their maps. A key that the map itself has takes precedence.
func (p fileNode) entries() []fileNode {
	if !p.isMap() {
		return nil
	}
	return p.collect(make([]fileNode, 0, len(p.node.Content)/2), p.node, nil)
}

// collect appends the values of a map and of the maps that are merged into it. seen lists the keys so far; it is nil
// while there are no merges.
func (p fileNode) collect(entries []fileNode, mapping *yaml.Node, seen map[string]bool) []fileNode {
	sources := manifest.MergeSources(mapping)
	if sources != nil && seen == nil {
		seen = map[string]bool{}
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		name := mapping.Content[i]
		key := manifest.Target(name).Value
		if manifest.IsMerge(name) || seen[key] {
			continue
		}
		if seen != nil {
			seen[key] = true
		}
		entries = append(entries, p.below(key, name, mapping.Content[i+1]))
	}
	for _, source := range sources {
		entries = p.collect(entries, source, seen)
	}
	return entries
}

// names returns the keys of a map.
func (p fileNode) names() []string {
	return collectNames(p.entries(), fileNode.name)
}

// elements returns the values of a list.
func (p fileNode) elements() []fileNode {
	if !p.isList() {
		return nil
	}
	elements := make([]fileNode, len(p.node.Content))
	for i := range elements {
		node := p.node.Content[i]
		elements[i] = fileNode{file: p.file, at: node, node: manifest.Target(node), path: &trail{up: p.path, index: i}}
	}
	return elements
}

// only returns the entry of a map that has exactly one. A map with a merge key is never a call, even if it has one key
// after the merge.
func (p fileNode) only() (fileNode, bool) {
	if !p.isMap() || len(p.node.Content) != 2 || manifest.IsMerge(p.node.Content[0]) {
		return fileNode{}, false
	}
	return p.below(manifest.Target(p.node.Content[0]).Value, p.node.Content[0], p.node.Content[1]), true
}
