package manifest

import "go.yaml.in/yaml/v3"

// Document is one document of a stream.
type Document struct {
	// File is the name that Read was given.
	File string
	// Line is where the document's content begins, counted from 1.
	Line int
	// Value is made of map[string]any, []any, string, int64, float64, bool and
	// nil. Nulls are kept: an observer schema is made of them. A number whose
	// value is an integer is an int64, however it was written.
	Value map[string]any

	root *yaml.Node
}

// Position finds the line and column, counted from 1, where a field is written:
// its key, or the beginning of a list element. A field that came through an
// alias or a merge key is where its anchor is.
func (d Document) Position(path Path) (line, column int, known bool) {
	at, value := d.root, d.root
	for _, step := range path {
		at, value = field(value, step)
	}
	if at == nil {
		return 0, 0, false
	}
	return at.Line, at.Column, true
}

// field returns the node that names a step below n, and the node of its value;
// nil if n is nil or has no such step.
func field(n *yaml.Node, step any) (name, value *yaml.Node) {
	if n == nil {
		return nil, nil
	}
	n = target(n)
	switch step := step.(type) {
	case int:
		if n.Kind == yaml.SequenceNode && step >= 0 && step < len(n.Content) {
			return n.Content[step], n.Content[step]
		}
	case string:
		if n.Kind == yaml.MappingNode {
			return entry(n, step)
		}
	}
	return nil, nil
}

func entry(mapping *yaml.Node, key string) (name, value *yaml.Node) {
	var merged []*yaml.Node
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		name, value := mapping.Content[i], mapping.Content[i+1]
		if isMerge(name) {
			merged = append(merged, value)
			continue
		}
		if target(name).Value == key {
			return name, value
		}
	}
	for _, source := range merged {
		if name, value := mergedEntry(source, key); name != nil {
			return name, value
		}
	}
	return nil, nil
}

// mergedEntry looks into the map, or the list of maps, of a merge key.
func mergedEntry(source *yaml.Node, key string) (name, value *yaml.Node) {
	if list := target(source); list.Kind == yaml.SequenceNode {
		for _, element := range list.Content {
			if name, value := field(element, key); name != nil {
				return name, value
			}
		}
	}
	return field(source, key)
}

// target follows an alias to what its anchor names.
func target(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}
