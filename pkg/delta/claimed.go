package delta

import (
	"maps"
	"slices"
	"strings"

	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/observer"
)

// claimed reports whether a claimed field (see Input.Claimed) is at or below a path of the live object. It does not
// find claims above the path: those conflict with the leaf, and package plan excludes it.
func (c *comparer) claimed(path *observer.Path) bool { return c.out.IsClaimed(path) }

// IsClaimed reports whether a claimed field of the compared object is at or below a path: see Input.Claimed.
func (c Comparison) IsClaimed(path *observer.Path) bool {
	if len(c.claimed) == 0 {
		return false
	}
	pointer := path.Pointer()
	return slices.ContainsFunc(c.claimed, func(claim string) bool {
		return claim == pointer || strings.HasPrefix(claim, pointer+"/")
	})
}

// withClaimed returns a desired value that includes the claimed fields of the live value. It copies what it changes.
// If the types of the two values differ, it returns the desired value.
func (c *comparer) withClaimed(t *kinds.Node, path *observer.Path, want, live any) any {
	// The whole value is claimed, so any live value is right.
	if slices.Contains(c.in.Claimed, path.Pointer()) {
		return live
	}
	switch live := live.(type) {
	case map[string]any:
		// A nil want is a missing map: the claimed fields below it are kept.
		m, isMap := want.(map[string]any)
		if !isMap && want != nil {
			return want
		}
		merged := map[string]any{}
		maps.Copy(merged, m)
		for name, child := range live {
			// Only fields with claims are taken from the live value. Others are compared as desired.
			if at := path.Field(name); c.claimed(at) {
				merged[name] = c.withClaimed(t.Field(name), at, m[name], child)
			}
		}
		return merged
	case []any:
		l, isList := want.([]any)
		if !isList && want != nil {
			return want
		}
		list, merged := &observer.List{}, slices.Clone(l)
		labels := list.Labels(t, live)
		for k, i := range list.Identities(t, live, l) {
			switch at := path.Element(labels[k], k); {
			case !c.claimed(at):
			// Without keys, the whole element is claimed, and keeps its position.
			case !list.ByIdentity(t) && slices.Contains(c.in.Claimed, at.Pointer()):
				merged = withElement(merged, k, live[k])
			case i < 0: // the element is added with its keys
				merged = append(merged, live[k])
			default:
				merged[i] = c.withClaimed(t.Elem(), at, l[i], live[k])
			}
		}
		return merged
	}
	return want
}

// withElement returns a list with an element of another Application at an index, unless the list contains it.
func withElement(list []any, k int, live any) []any {
	if slices.ContainsFunc(list, func(element any) bool { return observer.Completes(live, element) }) {
		return list
	}
	return slices.Insert(list, min(k, len(list)), live)
}

// WithoutClaimed returns a live object without the fields at some JSON pointers. In lists with keys and in sets, it
// leaves out elements that have only their keys besides these fields. It keeps elements that only their position
// identifies, because others would move. It copies what it changes.
func WithoutClaimed(t *kinds.Node, live map[string]any, claimed []string) map[string]any {
	own, _ := Comparison{claimed: claimed}.unclaimed(t, nil, live)
	return own.(map[string]any)
}

// unclaimed is WithoutClaimed for the value at a path. It returns false if the value is left out.
func (c Comparison) unclaimed(t *kinds.Node, path *observer.Path, value any) (any, bool) {
	if !c.IsClaimed(path) {
		return value, true
	}
	if slices.Contains(c.claimed, path.Pointer()) {
		return nil, false
	}
	switch value := value.(type) {
	case map[string]any:
		own := map[string]any{}
		for name, child := range value {
			if kept, ok := c.unclaimed(t.Field(name), path.Field(name), child); ok {
				own[name] = kept
			}
		}
		return own, !path.IsElement() || !isOnlyKeys(own, path)
	case []any:
		list := &observer.List{}
		if !list.ByIdentity(t) {
			return value, true
		}
		own := []any{}
		for k, label := range list.Labels(t, value) {
			if kept, ok := c.unclaimed(t.Elem(), path.Element(label, k), value[k]); ok {
				own = append(own, kept)
			}
		}
		return own, true
	}
	return value, true
}

// isOnlyKeys reports whether an element has no other fields than those in its path.
func isOnlyKeys(element map[string]any, path *observer.Path) bool {
	for name := range element {
		if !observer.IsKey(path.Field(name).String()) {
			return false
		}
	}
	return true
}
