package manifest

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

var (
	tooDeep       = fmt.Sprintf("nested deeper than %d levels", maxDepth)
	tooManyCopies = fmt.Sprintf("the aliases of this stream make more than %d copies", maxCopies)
	tooManyFaults = fmt.Sprintf("there are more than %d faults: correct those above first", maxFaults)
)

// converter turns nodes into values and collects what is wrong with them.
type converter struct {
	file   string
	faults []error

	path  Path
	depth int
	// anchored has the anchors of the document: true while their node is being
	// converted, so that an alias in it would never end.
	anchored map[*yaml.Node]bool
	// via is the outermost alias that is being followed, if any.
	via    *yaml.Node
	copies int
	// stopped is set by what makes going on harmful.
	stopped bool
}

func (c *converter) documents(roots []*yaml.Node) []Document {
	documents := make([]Document, 0, len(roots))
	for _, root := range roots {
		c.anchored = map[*yaml.Node]bool{}
		switch value := c.value(root).(type) {
		case map[string]any:
			documents = append(documents, Document{File: c.file, Line: root.Line, Value: value, root: root})
		case nil: // an empty document, or one with a fault of its own
		default:
			c.fault(root, "want a map with apiVersion, kind and metadata, not "+describe(value))
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
		c.fault(n, "the anchor "+quoteKey(n.Value)+" is in another document")
		return nil
	}
	if open {
		c.fault(n, "the anchor "+quoteKey(n.Value)+" contains this alias of it")
		return nil
	}
	if c.via == nil {
		c.via = n
		defer func() { c.via = nil }()
	}
	return c.value(n.Alias)
}

func (c *converter) scalar(n *yaml.Node) any {
	value, err := scalar(n)
	if err != nil {
		c.fault(n, err.Error())
	}
	return value
}

func (c *converter) sequence(n *yaml.Node) any {
	if n.Tag != tagSeq {
		c.fault(n, wrongTag(n.Tag).Error())
	}
	list := make([]any, len(n.Content))
	for i, element := range n.Content {
		list[i] = c.at(i, element)
	}
	return list
}

func (c *converter) mapping(n *yaml.Node) any {
	if n.Tag != tagMap {
		c.fault(n, wrongTag(n.Tag).Error())
	}
	value := make(map[string]any, len(n.Content)/2)
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, content := n.Content[i], n.Content[i+1]
		if isMerge(name) {
			merges = append(merges, content)
			continue
		}
		key := c.key(name)
		element := c.at(key, content)
		if _, twice := value[key]; twice {
			c.duplicate(n, name, key)
			continue
		}
		value[key] = element
	}
	for i, source := range merges {
		if i > 0 {
			c.fault(source, "the key << is here twice: write << once, with a list")
		}
		c.merge(value, source)
	}
	return value
}

// at converts what is one step below the current path.
func (c *converter) at(step any, n *yaml.Node) any {
	c.path = append(c.path, step)
	value := c.value(n)
	c.path = c.path[:len(c.path)-1]
	return value
}

// key returns the text of a key as it is written. kubectl makes "true" of the
// key y, and "420" of 0644; here a field keeps its name.
func (c *converter) key(n *yaml.Node) string {
	if n.Anchor != "" {
		c.anchored[n] = false
	}
	n = target(n)
	if n.Kind != yaml.ScalarNode {
		c.fault(n, "a key must be text, not a list or a map")
		return ""
	}
	switch n.Tag {
	case tagNull:
		c.fault(n, "a key must be text, not null: put it in quotes")
	case tagStr, tagInt, tagFloat, tagBool, tagTimestamp, tagMerge:
	default:
		c.fault(n, wrongTag(n.Tag).Error())
	}
	return n.Value
}

func (c *converter) duplicate(mapping, name *yaml.Node, key string) {
	first, _ := entry(mapping, key)
	c.path = append(c.path, key)
	c.fault(name, fmt.Sprintf("the key %s is here twice, first on line %d", quoteKey(key), first.Line))
	c.path = c.path[:len(c.path)-1]
}

func isMerge(name *yaml.Node) bool {
	return name.Kind == yaml.ScalarNode && name.Tag == tagMerge && name.Value == "<<"
}

// mergeSources lists the maps of a merge key, those that prevail first.
func mergeSources(value *yaml.Node) []*yaml.Node {
	if list := target(value); list.Kind == yaml.SequenceNode {
		return list.Content
	}
	return []*yaml.Node{value}
}

// merge adds the keys that are not there yet: what is written in a map prevails
// over what is merged into it.
func (c *converter) merge(into map[string]any, source *yaml.Node) {
	converted := c.value(source)
	if converted == nil && target(source).Kind != yaml.ScalarNode {
		return // its fault is noted
	}
	maps, isList := converted.([]any)
	if !isList {
		maps = []any{converted}
	}
	for _, element := range maps {
		merged, isMap := element.(map[string]any)
		if !isMap {
			c.fault(source, "the key << wants a map or a list of maps")
			return
		}
		for key, value := range merged {
			if _, there := into[key]; !there {
				into[key] = value
			}
		}
	}
}

// fault notes a fault. Below an alias it was noted where the anchor is.
func (c *converter) fault(n *yaml.Node, message string) {
	if c.via != nil || c.stopped {
		return
	}
	if len(c.faults) == maxFaults {
		message, c.stopped = tooManyFaults, true
	}
	c.faults = append(c.faults, &Error{File: c.file, Line: n.Line, Column: n.Column, Path: c.path.with(), Message: message})
}

// stop notes a last fault.
func (c *converter) stop(n *yaml.Node, message string) {
	if c.via != nil {
		n, c.via = c.via, nil
	}
	c.fault(n, message)
	c.stopped = true
}

// describe names the type of a value for a message, never the value.
func describe(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case string:
		return "text"
	case bool:
		return "a boolean"
	case int64, float64:
		return "a number"
	case []any:
		return "a list"
	case map[string]any:
		return "a map"
	default:
		return fmt.Sprintf("a Go value of type %T", value)
	}
}
