package manifest

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

var (
	tooDeep       = fmt.Sprintf("nested deeper than %d levels", maxDepth)
	tooManyCopies = fmt.Sprintf("the aliases of this stream create more than %d copies", maxCopies)
	tooManyFaults = fmt.Sprintf("there are more than %d errors: correct those above first", maxErrors)
)

// converter converts YAML nodes to values and collects errors.
type converter struct {
	file   string
	faults []error

	path  Path
	depth int
	// anchored contains the anchors of the document. The value is true while the node is being converted,
	// so that a recursive alias is detected.
	anchored map[*yaml.Node]bool
	// via is the outermost alias that is being followed, or nil.
	via    *yaml.Node
	copies int
	// stopped is set by errors after which it would be harmful to continue.
	stopped bool
}

func (c *converter) documents(roots []*yaml.Node) []Document {
	documents := make([]Document, 0, len(roots))
	for _, root := range roots {
		c.anchored = map[*yaml.Node]bool{}
		switch value := c.value(root).(type) {
		case map[string]any:
			documents = append(documents, Document{File: c.file, Line: root.Line, Value: value, root: root})
		case nil: // an empty document, or one whose error is reported elsewhere
		default:
			c.addError(root, "must be a map with apiVersion, kind and metadata, not "+Describe(value))
		}
	}
	return documents
}

func (c *converter) value(n *yaml.Node) any {
	if !c.enter(n) {
		return nil
	}
	defer c.leave(n)
	switch n.Kind {
	case yaml.AliasNode:
		return c.alias(n)
	case yaml.MappingNode:
		return c.mapping(n)
	case yaml.SequenceNode:
		return c.sequence(n)
	default:
		return c.scalar(n)
	}
}

func (c *converter) enter(n *yaml.Node) bool {
	if c.via != nil {
		c.copies++
	}
	switch {
	case c.stopped:
		return false
	case c.copies > maxCopies:
		c.stop(n, tooManyCopies)
		return false
	case isContainer(n) && c.depth == maxDepth:
		c.stop(n, tooDeep)
		return false
	}
	if isContainer(n) {
		c.depth++
	}
	if n.Anchor != "" {
		c.anchored[n] = true
	}
	return true
}

func (c *converter) leave(n *yaml.Node) {
	if isContainer(n) {
		c.depth--
	}
	if n.Anchor != "" {
		c.anchored[n] = false
	}
}

func isContainer(n *yaml.Node) bool {
	return n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode
}

func (c *converter) alias(n *yaml.Node) any {
	open, known := c.anchored[n.Alias]
	if !known {
		c.addError(n, "the anchor "+quoteKey(n.Value)+" is in another document")
		return nil
	}
	if open {
		c.addError(n, "the anchor "+quoteKey(n.Value)+" contains this alias of it")
		return nil
	}
	if c.via == nil {
		c.via = n
		defer func() { c.via = nil }()
	}
	return c.value(n.Alias)
}

func (c *converter) scalar(n *yaml.Node) any {
	value, err := Scalar(n, true)
	if err != nil {
		c.addError(n, err.Error())
	}
	return value
}

func (c *converter) sequence(n *yaml.Node) any {
	if n.Tag != TagSeq {
		c.addError(n, wrongTag(n.Tag).Error())
	}
	list := make([]any, len(n.Content))
	for i, element := range n.Content {
		list[i] = c.convertAt(i, element)
	}
	return list
}

// convertAt converts a node one step below the current path.
func (c *converter) convertAt(step any, n *yaml.Node) any {
	c.path = append(c.path, step)
	value := c.value(n)
	c.path = c.path[:len(c.path)-1]
	return value
}

// addError adds an error. Errors below an alias are reported at its anchor instead.
func (c *converter) addError(n *yaml.Node, message string) {
	if c.via != nil || c.stopped {
		return
	}
	if len(c.faults) == maxErrors {
		message, c.stopped = tooManyFaults, true
	}
	c.faults = append(c.faults, &Error{File: c.file, Line: n.Line, Column: n.Column, Path: c.path.with(), Message: message})
}

// stop adds a last error.
func (c *converter) stop(n *yaml.Node, message string) {
	if c.via != nil {
		n, c.via = c.via, nil
	}
	c.addError(n, message)
	c.stopped = true
}
