package observer

import (
	"maps"
	"slices"
)

// Mark is a label or an annotation of the tracking metadata. Field is labels or annotations, and Key the key in that map.
type Mark struct{ Field, Key, Value string }

// WithMarks returns a schema and an object with tracking metadata, so that it is created, compared and corrected like
// any held field. Without marks, it returns its arguments. It does not change them, and the results share all other
// nodes and values with them.
func WithMarks(entry *Schema, object map[string]any, marks []Mark) (*Schema, map[string]any) {
	if len(marks) == 0 {
		return entry, object
	}
	marked := *entry
	marked.Root = entry.Root.shallow()
	metadata := marked.Root.Field("metadata").shallow()
	marked.Root.set("metadata", metadata)
	for _, mark := range marks {
		child := metadata.Field(mark.Field)
		if child != nil && child.Shape == Leaf {
			continue // the leaf holds the whole map, including the tracking metadata
		}
		child = child.shallow()
		child.set(mark.Key, plainLeaf)
		metadata.set(mark.Field, child)
	}
	return &marked, MarkedObject(object, marks)
}

// HasRoomForMarks reports whether WithMarks only adds leaves to the schema, without replacing any node of it. A
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

// MarkedObject returns an object with tracking metadata, or the object itself without marks. It does not change the
// object. The result shares all other values with it.
func MarkedObject(object map[string]any, marks []Mark) map[string]any {
	if len(marks) == 0 {
		return object
	}
	marked := maps.Clone(object)
	before, _ := object["metadata"].(map[string]any)
	metadata := make(map[string]any, len(before)+len(marks))
	maps.Copy(metadata, before)
	marked["metadata"] = metadata
	for i, mark := range marks {
		values, _ := metadata[mark.Field].(map[string]any)
		// The first mark of a field copies its map.
		if !slices.ContainsFunc(marks[:i], func(m Mark) bool { return m.Field == mark.Field }) {
			own := make(map[string]any, len(values)+len(marks))
			maps.Copy(own, values)
			values = own
		}
		values[mark.Key] = mark.Value
		metadata[mark.Field] = values
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
