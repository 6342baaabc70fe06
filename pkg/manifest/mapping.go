package manifest

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// mapping converts a map with its merge keys. If a key occurs several times, the first value is kept, and each
// further one is an error.
//
//	{<<: *a, b: 1}          the keys of a, and b: 1 in any case
//	{<<: [*a, *b], c: 1}    a precedes b
//	{<<: *a, <<: *b}        an error
//	{"<<": 1}               a key like any other
func (c *converter) mapping(n *yaml.Node) any {
	if n.Tag != TagMap {
		c.addError(n, wrongTag(n.Tag).Error())
	}
	value := make(map[string]any, len(n.Content)/2)
	var merged []map[string]any
	merges := 0
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, content := n.Content[i], n.Content[i+1]
		if IsMerge(name) {
			merged = append(merged, c.mergeSources(content)...)
			merges++
			continue
		}
		key := c.key(name)
		// The value is converted even if the key is a duplicate, so that its errors are reported.
		element := c.convertAt(key, content)
		if _, twice := value[key]; twice {
			c.duplicate(n, name, key)
			continue
		}
		value[key] = element
	}
	if merges > 1 {
		c.addError(n, "duplicate key << in this map: write it once, with a list")
	}
	merge(value, merged)
	return value
}

// key returns the source text of a key. kubectl converts the key y to "true", and 0644 to "420"; here fields keep their
// names. It returns "" after an error, and the value is converted nevertheless.
func (c *converter) key(n *yaml.Node) string {
	if n.Anchor != "" {
		c.anchored[n] = false
	}
	n = Target(n)
	if n.Kind != yaml.ScalarNode {
		c.addError(n, "a key must be text, not a list or a map")
		return ""
	}
	switch n.Tag {
	case TagNull:
		c.addError(n, "a key must be text, not null: put it in quotes")
	case TagStr, TagInt, TagFloat, TagBool, TagTimestamp, TagMerge:
	default:
		c.addError(n, wrongTag(n.Tag).Error())
	}
	return n.Value
}

// duplicate reports a key that a map has twice, at its second position.
func (c *converter) duplicate(mapping, name *yaml.Node, key string) {
	first, _ := Entry(mapping, key)
	c.path = append(c.path, key)
	c.addError(name, fmt.Sprintf("duplicate key %s, first on line %d", QuoteKey(key), first.Line))
	c.path = c.path[:len(c.path)-1]
}

// mergeSources converts the maps of a merge key, in order of precedence. It returns nil after an error.
func (c *converter) mergeSources(n *yaml.Node) []map[string]any {
	value := c.value(n)
	if value == nil && isContainer(Target(n)) {
		return nil // an alias whose error is reported elsewhere
	}
	list, isList := value.([]any)
	if !isList {
		list = []any{value}
	}
	sources := make([]map[string]any, 0, len(list))
	for _, element := range list {
		source, isMap := element.(map[string]any)
		if !isMap {
			c.addError(n, "the key << needs a map or a list of maps")
			return nil
		}
		sources = append(sources, source)
	}
	return sources
}

// merge adds missing keys: keys in a map have precedence over merged ones, and earlier sources over later ones. The
// values are not copied, because each alias was converted separately. Maps are not merged at deeper levels, as in YAML.
func merge(into map[string]any, sources []map[string]any) {
	for _, source := range sources {
		for key, value := range source {
			if _, there := into[key]; !there {
				into[key] = value
			}
		}
	}
}
