package observer

import "maps"

// WithMetadata is the entry with more leaves in metadata: by field (labels,
// annotations) and key. The entry is not changed, and what is not on the way is
// shared with it.
func (e *Schema) WithMetadata(marks map[string]map[string]string) *Schema {
	marked := *e
	marked.Root = e.Root.shallow()
	metadata := marked.Root.Field("metadata").shallow()
	marked.Root.set("metadata", metadata)
	for field, values := range marks {
		child := metadata.Field(field)
		if child != nil && child.Shape == Leaf {
			continue // the whole map is held, the marks in it
		}
		child = child.shallow()
		for key := range values {
			child.set(key, plainLeaf)
		}
		metadata.set(field, child)
	}
	return &marked
}

// HasRoomForMarks reports whether Marked adds leaves to the entry, and nothing that the entry
// holds becomes another.
func (e *Schema) HasRoomForMarks() bool {
	metadata := e.Root.Field("metadata")
	if metadata == nil || metadata.Shape != Map {
		return metadata == nil
	}
	labels, annotations := metadata.Field("labels"), metadata.Field("annotations")
	return (labels == nil || labels.Shape == Map) && (annotations == nil || annotations.Shape == Map)
}

// shallow is a Map node with its own list of fields; nil becomes an empty one.
func (n *Node) shallow() *Node {
	if n == nil || n.Shape != Map {
		return &Node{Shape: Map}
	}
	fields := make([]Field, len(n.Fields), len(n.Fields)+len("la")) // labels and annotations
	copy(fields, n.Fields)
	return &Node{Shape: Map, Fields: fields, Keys: n.Keys}
}

// MarkedObject is the object with the marks set. The object is not changed, and
// what is not on the way is shared with it.
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

// SameFields reports whether two entries observe the same fields, whatever their
// lists' lengths are.
func (e *Schema) SameFields(other *Schema) bool { return sameFields(e.Root, other.Root) }

func sameFields(a, b *Node) bool {
	if a.Shape != b.Shape || len(a.Fields) != len(b.Fields) || !a.Rule.same(b.Rule) || (a.Keys == nil) != (b.Keys == nil) {
		return false
	}
	for i, f := range a.Fields {
		if b.Fields[i].Name != f.Name || !sameFields(f.Node, b.Fields[i].Node) {
			return false
		}
	}
	if a.Shape != Sequence {
		return true
	}
	if len(a.List.Elements) != len(b.List.Elements) {
		return false
	}
	for i, element := range a.List.Elements {
		if !sameFields(element, b.List.Elements[i]) {
			return false
		}
	}
	return true
}
