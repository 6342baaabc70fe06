package delta

import (
	"maps"
	"slices"

	"holdfast.dev/holdfast/pkg/observer"
)

// remove removes the value that the Application wrote at a path. If another client wrote inside the value, it
// removes only the parts that the Application wrote. It keeps claimed fields.
// Source: docs/semantics.md, "Removing and releasing".
func (c remover) remove(s cursor) {
	claimed := c.claimed(s.path)
	before, wasMap := s.previous.(map[string]any)
	live, isMap := s.live.Any.(map[string]any)
	// Field by field: those that the previous state had are removed, and all others are kept.
	if wasMap && isMap && (claimed || c.hasOtherWriters(s)) {
		for _, name := range slices.Sorted(maps.Keys(live)) {
			at := s.freeField(name)
			if was, ours := before[name]; ours {
				at.previous = was
				c.remove(at)
			} else {
				c.free(at)
			}
		}
		return
	}
	beforeList, wasList := s.previous.([]any)
	liveList, isList := s.live.Any.([]any)
	if wasList && isList && (claimed || c.hasOtherWriters(s)) {
		c.removeElements(s, beforeList, liveList)
		return
	}
	// A single value, or a value of another type than before.
	if claimed {
		c.free(s)
		return
	}
	d := removal(s, Removed)
	d.was = &previous{s.path, s.previous}
	c.visitField(s, StateRemoved, c.add(s.path, d))
}

// emptied removes the Application's elements from a list for which the manifest has no elements any more. If
// no other client wrote in the list, it removes all elements. If the list was empty before, its elements are
// free.
func (c remover) emptied(s cursor, before, live []any) {
	switch {
	case len(live) == 0: // nothing to remove or to visit
	case len(before) == 0:
		c.free(cursor{t: s.t, path: s.path, live: s.live})
	case c.claimed(s.path) || c.hasOtherWriters(s):
		c.removeElements(s, before, live)
	default:
		pointer := s.path.Pointer()
		d := c.add(s.path, Difference{
			Reason: Removed, Desired: NewValue([]any{}), Live: s.live, was: &previous{s.path, s.previous},
			ops:    []Op{{Op: "replace", Path: pointer, Value: []any{}}},
			guards: s.guards(Op{Op: "test", Path: pointer, Value: s.live.Any}),
		})
		c.visitField(s, StateRemoved, d)
	}
}

// removeElements removes the Application's elements of a list, and keeps all others.
func (c remover) removeElements(s cursor, before, live []any) {
	mine, labels := findOwn(s, before, live), new(observer.List).Labels(s.t, live)
	for k, element := range slices.Backward(live) { // the last one first, so that indices remain valid
		at := cursor{t: s.t.Elem(), path: s.path.Element(labels[k], k), live: NewValue(element)}
		if !mine[k] || c.claimed(at.path) {
			c.free(at)
			continue
		}
		d := c.add(at.path, Difference{
			Reason: Removed, Live: at.live, was: &previous{s.path, s.previous},
			ops: []Op{{Op: "remove", Path: at.path.Pointer()}},
			// Elements may have no keys to test, so only the version proves that the index is still right.
			guards: s.guards(), structural: true, versioned: true,
		})
		c.visitField(at, StateRemoved, d)
	}
}

// findOwn reports for each live element whether the previous manifest had it. It finds an element without keys by its
// value, or else at its index, because the API server may have added elements to a list in it.
func findOwn(s cursor, before, live []any) []bool {
	list := &observer.List{}
	list.ByValue = !list.ByIdentity(s.t)
	mine, origins := make([]bool, len(live)), list.Origins(s.t, before, live)
	// A previous element that is found by its value is not matched at its index, too.
	for k, origin := range origins {
		mine[k] = origin >= 0 || list.ByValue && k < len(before) && !slices.Contains(origins, k) && observer.Covers(live[k], before[k])
	}
	return mine
}

// hasOtherWriters reports whether the live value has parts that another client wrote and the Application did
// not. It ignores scalars that another client has changed: a field that left the manifest is removed in any case.
func (c remover) hasOtherWriters(s cursor) bool {
	switch live := s.live.Any.(type) {
	case map[string]any:
		before, _ := s.previous.(map[string]any)
		for name, now := range live {
			// A field that the Application did not write counts only if another client wrote it, and not the API server.
			was, had := before[name]
			path := s.path.Field(name)
			if !had && c.wroteAt(path) || had && c.hasOtherWriters(cursor{t: s.t.Field(name), path: path, live: NewValue(now), previous: was}) {
				return true
			}
		}
	case []any:
		before, _ := s.previous.([]any)
		labels := new(observer.List).Labels(s.t, live)
		for k, mine := range findOwn(s, before, live) {
			if !mine && c.wroteAt(s.path.Element(labels[k], k)) {
				return true
			}
		}
	}
	return false
}

// wroteAt reports whether another client wrote at or below a path. If the object has no managedFields, it assumes so,
// and requests them with NeedsManagedFields.
func (c remover) wroteAt(path *observer.Path) bool {
	if c.in.Foreign == nil {
		c.out.NeedsManagedFields = true
		return true
	}
	return c.in.Foreign(path)
}
