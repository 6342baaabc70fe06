package observer

import (
	"holdfast.dev/holdfast/pkg/kinds"
)

// cursor is the position that a path has reached: in the manifest, in the type of the kind, and in the type that the
// API server publishes. The published type is only used to find out whether a name exists, because the API server can
// be newer than the built-in types. All its parts move together, one path element at a time. A cursor is a value, so
// branches do not affect each other.
type cursor struct {
	// value is the manifest's value. set is false if the manifest does not set it; value is nil then.
	value any
	set   bool
	// t and published are nil for a free-form part of the object, or an unknown kind.
	t, published *kinds.Node
	// path is nil at the root of the object.
	path *Path
}

// field returns the cursor for a field of a map.
func (p cursor) field(name string) cursor {
	m, _ := p.value.(map[string]any)
	v, set := m[name]
	return cursor{v, set, p.t.Field(name), p.published.Field(name), p.path.Field(name)}
}

// isList reports whether the position is a list: by the manifest's value, or else by the type. If both are unknown,
// next, the path element that follows, determines it.
func (p cursor) isList(next pathStep) bool {
	switch {
	case p.set:
		_, is := p.value.([]any)
		return is
	case p.t != nil:
		return p.t.List != ""
	}
	return p.path != nil && next.isElement()
}
