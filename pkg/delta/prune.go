package delta

import (
	"maps"
	"slices"

	"holdfast.dev/holdfast/pkg/observer"
)

// remove takes away what we wrote at a place: the whole value if nobody else
// wrote inside it, or else only the parts that we wrote. What another one holds stays.
func (c *comparer) remove(s cursor) {
	claimed := c.claimed(s.path)
	before, wasMap := s.previous.(map[string]any)
	live, isMap := s.live.Any.(map[string]any)
	if wasMap && isMap && (claimed || c.hasOtherWriters(s)) {
		for _, name := range slices.Sorted(maps.Keys(live)) {
			at := s.freeField(name)
			if was, ours := before[name]; ours {
				at.previous, at.guards = was, s.guards
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
	if claimed {
		c.free(s)
		return
	}
	pointer := s.path.Pointer()
	d := c.add(s.path, Difference{
		Reason: Removed, Live: s.live, was: &previous{s.path, s.previous},
		ops:    []Op{{Op: "remove", Path: pointer}},
		guards: withGuard(s.guards, Op{Op: "test", Path: pointer, Value: s.live.Any}),
	})
	c.visitField(s, StateRemoved, d)
}

// emptied takes our elements out of a list that our manifest has no elements for
// any more: all of them, if nobody else wrote in it. An empty list is free.
func (c *comparer) emptied(s cursor, before, live []any) {
	switch {
	case len(before) == 0 || len(live) == 0:
		c.freeElements(s, live)
	case c.claimed(s.path) || c.hasOtherWriters(s):
		c.removeElements(s, before, live)
	default:
		pointer := s.path.Pointer()
		d := c.add(s.path, Difference{
			Reason: Removed, Desired: Some([]any{}), Live: s.live, was: &previous{s.path, s.previous},
			ops:    []Op{{Op: "replace", Path: pointer, Value: []any{}}},
			guards: withGuard(s.guards, Op{Op: "test", Path: pointer, Value: s.live.Any}),
		})
		c.visitField(s, StateRemoved, d)
	}
}

func (c *comparer) removeElements(s cursor, before, live []any) {
	list := &observer.List{}
	mine, labels := ours(list, s, before, live), list.Labels(s.t, live)
	for k, element := range slices.Backward(live) { // the last first: indices stay valid
		at := cursor{t: s.t.Elem(), path: s.path.Element(labels[k], k), live: Some(element)}
		if !mine[k] || c.claimed(at.path) {
			c.free(at)
			continue
		}
		d := c.add(at.path, Difference{
			Reason: Removed, Live: at.live, was: &previous{s.path, s.previous},
			ops:    []Op{{Op: "remove", Path: at.path.Pointer()}},
			guards: s.guards, structural: true, versioned: true,
		})
		c.visitField(at, StateRemoved, d)
	}
}

// freeElements tells of the elements of a list that is free to have any.
func (c *comparer) freeElements(s cursor, live []any) {
	if len(live) > 0 {
		c.free(cursor{t: s.t, path: s.path, live: Some(live)})
	}
}

// ours tells which live elements our previous manifest had.
func ours(list *observer.List, s cursor, before, live []any) []bool {
	mine := make([]bool, len(live))
	byIdentity := list.ByIdentity(s.t)
	for k, b := range list.Identities(s.t, live, before) {
		mine[k] = b >= 0 && (byIdentity || observer.Covers(live[k], before[b]))
	}
	return mine
}

// hasOtherWriters reports whether the live value has parts that we did not write and
// another client did.
func (c *comparer) hasOtherWriters(s cursor) bool {
	switch live := s.live.Any.(type) {
	case map[string]any:
		before, _ := s.previous.(map[string]any)
		for name, now := range live {
			was, had := before[name]
			path := s.path.Field(name)
			if !had {
				if c.wroteAt(path) {
					return true
				}
				continue
			}
			if c.hasOtherWriters(cursor{t: s.t.Field(name), path: path, live: Some(now), previous: was}) {
				return true
			}
		}
	case []any:
		list := &observer.List{}
		before, _ := s.previous.([]any)
		labels := list.Labels(s.t, live)
		for k, mine := range ours(list, s, before, live) {
			if !mine && c.wroteAt(s.path.Element(labels[k], k)) {
				return true
			}
		}
	}
	return false
}

func (c *comparer) wroteAt(path *observer.Path) bool {
	if c.in.Foreign == nil {
		c.out.NeedsManagedFields = true
		return true
	}
	return c.in.Foreign(path)
}
