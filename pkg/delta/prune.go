package delta

import (
	"maps"
	"slices"

	"holdfast.dev/holdfast/pkg/observer"
)

// prune removes the fields of a map that our previous manifest had and this
// one has not.
func (c *comparer) prune(s spot, before, want, live map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, still := want[name]; still || name == "namespace" && s.path.String() == "metadata" {
			continue // the namespace is part of the identity, written down or not
		}
		now, exists := live[name]
		if !exists {
			continue
		}
		c.remove(spot{
			t: s.t.Field(name), path: s.path.Field(name), live: Some(now), before: before[name], guards: s.guards,
		})
	}
}

// remove takes away what we wrote at a place: the whole value if nobody else
// wrote inside it, or else only the parts that we wrote.
func (c *comparer) remove(s spot) {
	before, wasMap := s.before.(map[string]any)
	live, isMap := s.live.Any.(map[string]any)
	if wasMap && isMap && c.foreign(s) {
		for _, name := range slices.Sorted(maps.Keys(before)) {
			if now, exists := live[name]; exists {
				c.remove(spot{
					t: s.t.Field(name), path: s.path.Field(name), live: Some(now), before: before[name], guards: s.guards,
				})
			}
		}
		return
	}
	beforeList, wasList := s.before.([]any)
	liveList, isList := s.live.Any.([]any)
	if wasList && isList && c.foreign(s) {
		c.removeElements(s, beforeList, liveList)
		return
	}
	pointer := s.path.Pointer()
	c.add(s.path, Difference{
		Reason: Removed, Observed: s.live, was: &previous{s.path, s.before},
		ops:    []Op{{Op: "remove", Path: pointer}},
		guards: withGuard(s.guards, Op{Op: "test", Path: pointer, Value: s.live.Any}),
	})
}

// emptied takes our elements out of a list that our manifest has no elements for
// any more: all of them, if nobody else wrote in it. An empty list is free.
func (c *comparer) emptied(s spot, before, live []any) {
	switch {
	case len(before) == 0 || len(live) == 0:
	case c.foreign(s):
		c.removeElements(s, before, live)
	default:
		pointer := s.path.Pointer()
		c.add(s.path, Difference{
			Reason: Removed, Desired: Some([]any{}), Observed: s.live, was: &previous{s.path, s.before},
			ops:    []Op{{Op: "replace", Path: pointer, Value: []any{}}},
			guards: withGuard(s.guards, Op{Op: "test", Path: pointer, Value: s.live.Any}),
		})
	}
}

func (c *comparer) removeElements(s spot, before, live []any) {
	list := &observer.List{}
	mine := ours(list, s, before, live)
	for k := len(live) - 1; k >= 0; k-- { // the last first: indices stay valid
		if !mine[k] {
			continue
		}
		path := s.path.Element(list.Label(s.t, live[k], k), k)
		c.add(path, Difference{
			Reason: Removed, Observed: Some(live[k]), was: &previous{s.path, s.before},
			ops:    []Op{{Op: "remove", Path: path.Pointer()}},
			guards: s.guards, structural: true, versioned: true,
		})
	}
}

// ours tells which live elements our previous manifest had.
func ours(list *observer.List, s spot, before, live []any) []bool {
	mine := make([]bool, len(live))
	byIdentity := list.ByIdentity(s.t)
	for k, b := range list.Identities(s.t, live, before) {
		mine[k] = b >= 0 && (byIdentity || observer.Covers(live[k], before[b]))
	}
	return mine
}

// foreign tells whether the live value has parts that we did not write and
// somebody else did.
func (c *comparer) foreign(s spot) bool {
	switch live := s.live.Any.(type) {
	case map[string]any:
		before, _ := s.before.(map[string]any)
		for name, now := range live {
			was, had := before[name]
			path := s.path.Field(name)
			if !had {
				if c.wroteAt(path) {
					return true
				}
				continue
			}
			if c.foreign(spot{t: s.t.Field(name), path: path, live: Some(now), before: was}) {
				return true
			}
		}
	case []any:
		list := &observer.List{}
		before, _ := s.before.([]any)
		for k, mine := range ours(list, s, before, live) {
			if !mine && c.wroteAt(s.path.Element(list.Label(s.t, live[k], k), k)) {
				return true
			}
		}
	}
	return false
}

func (c *comparer) wroteAt(path *observer.Path) bool {
	if c.in.Foreign == nil {
		c.out.Unsure = true
		return true
	}
	return c.in.Foreign(path)
}
