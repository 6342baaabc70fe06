package observer

import "holdfast.dev/holdfast/pkg/manifest"

// ReadBack returns the schema that ParseAll makes from raw, if raw is the JSON of this schema. It returns nil if raw
// differs, or if the schema has more than a default schema can have. A recorded schema is usually the manifest's
// default schema, and comparing the JSON takes much less time than parsing it. The result shares its fields with the
// schema. raw must have sorted keys and no spaces, as package record writes it. Any other form gives nil, and is
// parsed.
func (e *Schema) ReadBack(raw []byte) *Schema {
	metadata := e.Root.Field("metadata")
	if metadata == nil || !metadata.isOpenMap() || e.Root.Keys != nil || e.namespace != "" {
		return nil
	}
	w, i := manifest.NewRawText(raw), 0
	is := w.SkipObject(len(e.Root.Fields)+len([]string{"apiVersion", "kind"}), func(name []byte) bool {
		switch child := nextField(e.Root, &i, name); {
		case string(name) == "apiVersion":
			return w.SkipString(e.APIVersion)
		case string(name) == "kind":
			return w.SkipString(e.ID.Kind)
		case child == metadata:
			return skipMap(metadata, w, 1, func(name []byte) bool { return string(name) == "name" && w.SkipString(e.ID.Name) })
		default:
			return child != nil && skipNode(child, w)
		}
	})
	if !is || !w.IsDone() {
		return nil
	}
	id := manifest.ID{Group: e.ID.Group, Kind: e.ID.Kind, Name: e.ID.Name}
	return &Schema{ID: id, APIVersion: e.APIVersion, schemaTree: schemaTree{e.Root}}
}

// isOpenMap reports whether a node is a map to which other clients can add keys.
func (n *Node) isOpenMap() bool { return n.Shape == Map && n.Keys == nil }

// skipNode reports whether the JSON of a node follows. It returns false for everything that a default schema cannot
// have.
func skipNode(n *Node, w *manifest.RawText) bool {
	switch {
	case n.IsHeld() && !n.Quantity && !n.Learned:
		return w.SkipString(LeafText)
	case n.isOpenMap():
		return skipMap(n, w, 0, nil)
	case n.Shape == Sequence && n.Keys == nil && len(n.List.Keys) == 0 && !n.List.ByValue && n.List.Known == 0 && n.List.Raised == 0:
		elements := n.List.Elements
		return w.SkipList(len(elements)+1, func(i int) bool {
			if i == len(elements) {
				return n.List.isWritten(w)
			}
			return skipNode(elements[i], w)
		})
	}
	return false
}

// skipMap reports whether the JSON of a map follows, with a number of additional fields that the node
// does not have.
func skipMap(n *Node, w *manifest.RawText, more int, other func(name []byte) bool) bool {
	i := 0
	return w.SkipObject(len(n.Fields)+more, func(name []byte) bool {
		if child := nextField(n, &i, name); child != nil {
			return skipNode(child, w)
		}
		return other != nil && other(name)
	})
}

// nextField returns the child at an index, if it has that name, and increments the index. The JSON and the
// children have the same order.
func nextField(n *Node, i *int, name []byte) *Node {
	if *i == len(n.Fields) || n.Fields[*i].Name != string(name) {
		return nil
	}
	*i++
	return n.Fields[*i-1].Node
}

// isWritten reports whether the control dictionary of a list follows.
func (l *List) isWritten(w *manifest.RawText) bool {
	return w.SkipObject(len([]string{KeyMaxLength, KeyMinLength}), func(name []byte) bool {
		switch string(name) {
		case KeyMinLength:
			return w.SkipValue(int64(l.Min))
		case KeyMaxLength:
			return w.SkipValue(int64(l.Max))
		}
		return false
	})
}
