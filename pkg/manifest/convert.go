package manifest

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

var (
	// The messages of the limits in read.go. JSON and Go values have the first one, too.
	tooDeep       = fmt.Sprintf("nested deeper than %d levels", maxDepth)
	tooManyCopies = fmt.Sprintf("the aliases of this stream create more than %d copies", maxCopies)
	tooManyFaults = fmt.Sprintf("there are more than %d errors: correct those above first", maxErrors)
)

// converter converts YAML nodes to values and collects errors. It also converts JSON, which parseJSON reads into the
// same nodes. It is used once, by one goroutine. A node has its position, so the converter needs no text.
type converter struct {
	file   string
	faults []error

	// path is the path of the node that is being converted, and depth the number of maps and lists around it. path is
	// a stack, so errors need a copy: see Path.with.
	path  Path
	depth int
	// anchored contains the anchors of the document. The value is true while the node is being converted, so that a
	// recursive alias is detected. An anchor that is missing belongs to another document.
	anchored map[*yaml.Node]bool
	// via is the outermost alias that is being followed, or nil.
	via *yaml.Node
	// copies counts the nodes below aliases, in all documents. It limits the expansion of nested aliases.
	copies int
	// stopped is set by errors after which it would be harmful to continue.
	stopped bool
}

// documents converts all documents of a stream. A document that is not a map is an error; an empty one is skipped.
// Anchors are valid only within their document, but the limits of copies and errors apply to the whole stream.
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

// value converts a node and everything below it. It returns nil for null, and after an error. A null and an error give
// the same result, so callers must look at faults before they use it.
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

// enter returns false if the node must not be converted, because a limit is exceeded. Each call that returns true needs
// a call of leave. Depth is checked for copies of aliases, too, because their nodes are entered again.
func (c *converter) enter(n *yaml.Node) bool {
	if c.via != nil {
		c.copies++
	}
	switch {
	case c.stopped:
		return false
	// Nested aliases can expand to a number of nodes that is exponential in the size of the input.
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

// leave ends the conversion of a node that enter has begun.
func (c *converter) leave(n *yaml.Node) {
	if isContainer(n) {
		c.depth--
	}
	if n.Anchor != "" {
		c.anchored[n] = false
	}
}

// isContainer reports whether a node is a map or a list. Only these count toward the depth. An alias is none, even if
// its target is.
func isContainer(n *yaml.Node) bool {
	return n.Kind == yaml.MappingNode || n.Kind == yaml.SequenceNode
}

// alias converts the node that an alias refers to. Each alias gets a copy of its own, so the values of a stream share
// no maps or lists. With a: &x {b: *x}, the anchor is open when its alias is met. Without the check, the conversion
// would not end.
func (c *converter) alias(n *yaml.Node) any {
	open, known := c.anchored[n.Alias]
	if !known {
		c.addError(n, "the anchor "+QuoteKey(n.Value)+" is in another document")
		return nil
	}
	if open {
		c.addError(n, "the anchor "+QuoteKey(n.Value)+" contains this alias of it")
		return nil
	}
	// Errors in the copy are reported at the anchor, and limits at the outermost alias.
	if c.via == nil {
		c.via = n
		defer func() { c.via = nil }()
	}
	return c.value(n.Alias)
}

// scalar converts a scalar with the meaning of YAML 1.1, as kubectl does.
func (c *converter) scalar(n *yaml.Node) any {
	value, err := Scalar(n, true)
	if err != nil {
		c.addError(n, err.Error())
	}
	return value
}

// sequence converts a list. After an error in an element, the list has nil at its index. An empty list is an empty
// slice, and never nil: a nil slice would be encoded as null.
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

// addError adds an error. Errors below an alias are reported at its anchor instead. The error after maxErrors replaces
// all further ones.
func (c *converter) addError(n *yaml.Node, message string) {
	if c.via != nil || c.stopped {
		return
	}
	if len(c.faults) == maxErrors {
		message, c.stopped = tooManyFaults, true
	}
	c.faults = append(c.faults, &Error{File: c.file, Line: n.Line, Column: n.Column, Path: c.path.with(), Message: message})
}

// stop adds a last error. No further node is converted. Below an alias, the error is at the outermost alias: the anchor
// alone is harmless.
func (c *converter) stop(n *yaml.Node, message string) {
	if c.via != nil {
		n, c.via = c.via, nil
	}
	c.addError(n, message)
	c.stopped = true
}
