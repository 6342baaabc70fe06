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

// withElement returns a list with an element of another Application at an index, unless the list has the element.
func withElement(list []any, k int, live any) []any {
	if slices.ContainsFunc(list, func(element any) bool { return observer.Completes(live, element) }) {
		return list
	}
	return slices.Insert(list, min(k, len(list)), live)
}
