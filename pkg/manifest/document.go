package manifest

import "go.yaml.in/yaml/v3"

// Document is one document of a stream. A stream of three documents gives three of them, and Expand makes one for each
// item of a list.
type Document struct {
	// File is the file name given to Read.
	File string
	// Line is the first line of the document's content, starting at 1.
	Line int
	// Value consists of map[string]any, []any, string, int64, float64, bool and nil. Nulls are kept,
	// because observer schemas use them. A number with an integer value is an int64, regardless of its
	// notation.
	Value map[string]any

	// root is the node of Value. It is nil for an item of a list that is not written in the file.
	root *yaml.Node
}

// Position returns the line and column (starting at 1) of a field's key or of a list element. For fields from an alias
// or a merge key, it returns the position at the anchor. known is false if the document has no such field. An empty
// path is the document itself. For a document that did not come from Read, nothing is known.
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

// field returns the node of the key, and the node of the value, one step below n. It returns nil if n is
// nil or has no such child.
func field(n *yaml.Node, step any) (name, value *yaml.Node) {
	if n == nil {
		return nil, nil
	}
	n = Target(n)
	switch step := step.(type) {
	case int:
		if n.Kind == yaml.SequenceNode && step >= 0 && step < len(n.Content) {
			return n.Content[step], n.Content[step]
		}
	case string:
		if n.Kind == yaml.MappingNode {
			return Entry(n, step)
		}
	}
	return nil, nil
}
