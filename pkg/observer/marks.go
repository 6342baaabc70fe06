package observer

import (
	"maps"
	"slices"
)

// WithMetadata returns the schema with more leaves in metadata, by field (labels, annotations) and key. The values of
// marks are not used. It does not change the schema. The result shares all other nodes with it.
func (e *Schema) WithMetadata(marks map[string]map[string]string) *Schema {
	marked := *e
	marked.Root = e.Root.shallow()
	metadata := marked.Root.Field("metadata").shallow()
	marked.Root.set("metadata", metadata)
	for field, values := range marks {
		child := metadata.Field(field)
		if child != nil && child.Shape == Leaf {
			continue // the leaf holds the whole map, including the tracking metadata
		}
		child = child.shallow()
		for key := range values {
			child.set(key, plainLeaf)
		}
		metadata.set(field, child)
	}
	return &marked
}

// HasRoomForMarks reports whether WithMetadata only adds leaves to the schema, without replacing any node of it. A
// leaf over all labels or annotations contains the tracking metadata instead.
func (e *schemaTree) HasRoomForMarks() bool {
	metadata := e.Root.Field("metadata")
	if metadata == nil || metadata.Shape != Map {
		return metadata == nil
	}
	labels, annotations := metadata.Field("labels"), metadata.Field("annotations")
	return (labels == nil || labels.Shape == Map) && (annotations == nil || annotations.Shape == Map)
}

// shallow returns a Map node with its own list of fields, which is empty if n is nil.
func (n *Node) shallow() *Node {
	if n == nil || n.Shape != Map {
		return &Node{Shape: Map}
	}
	fields := make([]Field, len(n.Fields), len(n.Fields)+len("la")) // labels and annotations
	copy(fields, n.Fields)
	return &Node{Shape: Map, Fields: fields, Keys: n.Keys}
}

// MarkedObject returns the object with tracking metadata. It does not change the object. The result shares
// all other values with it.
func MarkedObject(object map[string]any, marks map[string]map[string]string) map[string]any {
	marked := maps.Clone(object)
	old, _ := object["metadata"].(map[string]any)
	metadata := maps.Clone(old)
	if metadata == nil {
		metadata = map[string]any{}
	}
	marked["metadata"] = metadata
	for field, values := range marks {
		old, _ := metadata[field].(map[string]any)
		m := make(map[string]any, len(old)+len(values))
		maps.Copy(m, old)
		for key, value := range values {
			m[key] = value
		}
		metadata[field] = m
	}
	return marked
}

// SameFields reports whether two schemas observe the same fields, regardless of list lengths.
func (e *schemaTree) SameFields(other *Schema) bool { return sameFields(e.Root, other.Root) }

// sameFields compares two nodes and everything below them. It ignores list lengths, and the keys of closed maps.
func sameFields(a, b *Node) bool {
	return a.Shape == b.Shape && a.Rule.same(b.Rule) && (a.Keys == nil) == (b.Keys == nil) &&
		slices.EqualFunc(a.Fields, b.Fields, func(f, g Field) bool { return f.Name == g.Name && sameFields(f.Node, g.Node) }) &&
		(a.Shape != Sequence || slices.EqualFunc(a.List.Elements, b.List.Elements, sameFields))
}
