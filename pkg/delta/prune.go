package delta

import (
	"maps"
	"slices"

	"holdfast.dev/holdfast/pkg/observer"
)

// drop removes the parts of a value that the previous state has and the desired state does not. The schema does not name
// the value, although the manifest still has it: some of its fields are free.
func (c remover) drop(s cursor, want any) {
	wantMap, wantsMap := want.(map[string]any)
	wantList, wantsList := want.([]any)
	if before, live, are := mapsOf(s); are && wantsMap && !s.t.IsOneValue() {
		c.dropFields(s, before, wantMap, live)
	} else if before, live, are := listsOf(s); are && wantsList && new(observer.List).ByIdentity(s.t) {
		c.dropElements(s, before, wantList, live)
	} else {
		c.free(s)
	}
}

// dropFields removes the fields of a map that the previous state has and the desired state does not: see drop.
func (c remover) dropFields(s cursor, before, want, live map[string]any) {
	names := slices.Sorted(maps.Keys(before))
	if c.visit != nil {
		written, _ := s.written.Any.(map[string]any)
		names = unionOf(live, written)
	}
	for _, name := range names {
		at := s.freeField(name)
		was, had := before[name]
		still, wanted := want[name]
		at.previous = was
		switch {
		case !had || !at.live.Set:
			c.free(at)
		case wanted:
			c.drop(at, still)
		default:
			c.remove(at)
		}
	}
}

// dropElements does the same for a list whose elements have keys or are their own keys.
func (c remover) dropElements(s cursor, before, want, live []any) {
	list := new(observer.List)
	labels, wanted := list.Labels(s.t, live), list.Identities(s.t, live, want)
	for k, was := range slices.Backward(list.Origins(s.t, before, live)) {
		at := cursor{t: s.t.Elem(), path: s.path.Element(labels[k], k), live: NewValue(live[k])}
		switch at.previous = Item(before, was).Any; {
		case was < 0:
			c.free(at)
		case wanted[k] >= 0:
			c.drop(at, want[wanted[k]])
		default:
			c.removeElement(s, at)
		}
	}
}

// remove removes the value that the Application wrote at a path. If the value has parts that are not the
// Application's, it removes only the others. It keeps claimed fields, and a value that another client applies whole.
// Source: docs/semantics.md, "Removing and releasing".
func (c remover) remove(s cursor) {
	claimed := c.claimed(s.path)
	if !claimed && c.isApplied(s.path) {
		c.leave(s)
		return
	}
	keeps := claimed || c.hasOtherWriters(s)
	if before, live, are := mapsOf(s); are && keeps {
		// Those that the previous state had are removed, and all others are kept.
		known, added := len(c.out.Left), []*observer.Path(nil)
		for _, name := range slices.Sorted(maps.Keys(live)) {
			at := s.freeField(name)
			if was, ours := before[name]; ours {
				at.previous = was
				c.remove(at)
				continue
			}
			c.free(at)
			if c.in.Owners != nil && c.wroteAt(at.path) {
				added = append(added, at.path)
			}
		}
		if left := slices.Concat(c.out.Left[known:], added); len(left) > 0 {
			c.out.Cut = append(c.out.Cut, Cut{s.path, left})
		}
		return
	}
	if before, live, are := listsOf(s); are && keeps {
		c.removeElements(s, before, live)
		return
	}
	// A single value, or a value of another type than before.
	switch {
	case claimed:
		c.free(s)
	case keeps:
		c.leave(s)
	default:
		d := removal(s, Removed)
		d.was = &previous{s.path, s.previous}
		c.visitField(s, StateRemoved, c.add(s.path, d))
	}
}

// mapsOf returns the previous and the live value at a position, and reports whether both are maps with fields to look at.
func mapsOf(s cursor) (before, live map[string]any, are bool) {
	before, was := s.previous.(map[string]any)
	live, is := s.live.Any.(map[string]any)
	return before, live, was && is && len(live) > 0
}

// listsOf returns the same for lists.
func listsOf(s cursor) (before, live []any, are bool) {
	before, was := s.previous.([]any)
	live, is := s.live.Any.([]any)
	return before, live, was && is && len(live) > 0
}

// emptied removes the Application's elements from a list for which the manifest has no elements any more. If
// no other client wrote in the list, it removes all elements. If the list was empty before, its elements are
// free.
func (c remover) emptied(s cursor, before, live []any) {
	switch {
	case len(live) == 0: // nothing to remove or to visit
	case len(before) == 0:
		c.free(cursor{t: s.t, path: s.path, live: s.live})
	case !c.claimed(s.path) && c.isApplied(s.path):
		c.leave(cursor{t: s.t, path: s.path, live: s.live})
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
	list := new(observer.List)
	labels, own := list.Labels(s.t, live), findOwn(s, before, live)
	// An element without keys may be one of the manifest that another client has changed, if one of these is missing.
	found := len(slices.DeleteFunc(slices.Clone(own), func(was int) bool { return was < 0 }))
	if !list.ByIdentity(s.t) && found < len(before) && found < len(live) {
		c.reportLeft(s.path)
	}
	for k, was := range slices.Backward(own) { // the last one first, so that indices remain valid
		at := cursor{t: s.t.Elem(), path: s.path.Element(labels[k], k), live: NewValue(live[k]), previous: Item(before, was).Any}
		if was < 0 {
			c.free(at)
			continue
		}
		c.removeElement(s, at)
	}
}

// removeElement removes an element of a list, unless a part of it is not the Application's. Without the others, such an
// element would be another one, or invalid.
func (c remover) removeElement(list, at cursor) {
	switch {
	case c.claimed(at.path):
		c.free(at)
		return
	case !c.ownsElement(at):
		c.leave(at)
		return
	}
	d := c.add(at.path, Difference{
		Reason: Removed, Live: at.live, was: &previous{list.path, list.previous},
		ops: []Op{{Op: "remove", Path: at.path.Pointer()}},
		// Elements may have no keys to test, so only the version proves that the index is still right.
		guards: list.guards(), structural: true, versioned: true,
	})
	c.visitField(at, StateRemoved, d)
}

// findOwn returns for each live element the index of the previous element, or -1. It finds an element without keys by
// its value, or else at its index, because the API server may have added elements to a list in it.
func findOwn(s cursor, before, live []any) []int {
	list := &observer.List{}
	list.ByValue = !list.ByIdentity(s.t)
	origins := list.Origins(s.t, before, live)
	own := slices.Clone(origins)
	// A previous element that is found by its value is not matched at its index, too.
	for k, origin := range origins {
		if origin < 0 && list.ByValue && k < len(before) && !slices.Contains(origins, k) && observer.Covers(live[k], before[k]) {
			own[k] = k
		}
	}
	return own
}

// hasOtherWriters reports whether a part of the live value is not the Application's: the previous state does not have it
// and another client wrote it, or it does not belong to the Application any more.
func (c remover) hasOtherWriters(s cursor) bool {
	if before, live, are := mapsOf(s); are {
		for name, now := range live {
			// Defaults of the API server go along.
			was, had := before[name]
			path := s.path.Field(name)
			if !had && c.wroteAt(path) || had && c.hasOtherWriters(cursor{t: s.t.Field(name), path: path, live: NewValue(now), previous: was}) {
				return true
			}
		}
		return false
	}
	before, live, are := listsOf(s)
	if !are {
		return !c.isOurs(s)
	}
	labels := new(observer.List).Labels(s.t, live)
	for k, was := range findOwn(s, before, live) {
		at := cursor{t: s.t.Elem(), path: s.path.Element(labels[k], k), live: NewValue(live[k]), previous: Item(before, was).Any}
		if was < 0 && c.wroteAt(at.path) || was >= 0 && c.hasOtherWriters(at) {
			return true
		}
	}
	return false
}

// ownsElement reports whether all of a list element belongs to the Application, or may: then a read shows it.
func (c remover) ownsElement(s cursor) bool {
	if c.in.Owners == nil {
		c.out.NeedsManagedFields = true
		return !c.in.Existed
	}
	return !c.hasOtherWriters(s)
}

// isOurs reports whether a single value that the previous state has still belongs to the Application: see Limits.Owners.
func (c remover) isOurs(s cursor) bool {
	if c.in.Owners == nil {
		c.out.NeedsManagedFields = true
		return !c.in.Existed
	}
	form, hasForm := formFinder(c).knownForm(s.path, NewValue(s.previous))
	unchanged := observer.Same(s.t, s.previous, s.live.Any) || hasForm && form.Accepted.Equal(s.live)
	return c.in.Owners.IsOwned(s.path, unchanged, c.in.Existed)
}

// isApplied reports whether another client applies the value at a path, or a parent, as one value.
func (c remover) isApplied(path *observer.Path) bool {
	return c.in.Owners != nil && c.in.Owners.IsApplied(path)
}

// leave keeps a dropped value that is not the Application's, and reports it.
func (c remover) leave(s cursor) {
	c.reportLeft(s.path)
	c.free(s)
}

// reportLeft reports a dropped value that remains, if its writers are known.
func (c remover) reportLeft(path *observer.Path) {
	if c.in.Owners != nil {
		c.out.Left = append(c.out.Left, path)
	}
}

// wroteAt reports whether another client wrote at or below a path. If the object has no managedFields, it assumes so,
// and requests them with NeedsManagedFields.
func (c remover) wroteAt(path *observer.Path) bool {
	if c.in.Owners == nil {
		c.out.NeedsManagedFields = true
		return true
	}
	return c.in.Owners.IsForeign(path)
}
