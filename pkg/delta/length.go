package delta

import (
	"fmt"
	"maps"
	"slices"

	"holdfast.dev/holdfast/pkg/observer"
)

// excessElements returns the live indices of the elements to remove, with the reason of each, given that the absent
// elements are added. It chooses:
//
//  1. elements that the manifest replaced
//  2. elements that a closed list does not allow
//  3. in an open list, elements that repeat the keys of a desired element, or that are a missing element with other
//     keys
//  4. with Prune, elements that the manifest no longer has, even if other clients added or removed elements
//  5. until the maximum holds, elements that the schema does not name: first those with duplicate keys, then
//     those that the previous manifest had and the manifest does not have, then from the end of the list
func (c lengthControl) excessElements(l *listCursor, absent []int) map[int]Reason {
	victims := map[int]Reason{}
	// The first reason of an element counts.
	choose := func(reason Reason, indices ...int) {
		for _, k := range indices {
			if victims[k] == "" {
				victims[k] = reason
			}
		}
	}
	choose(Removed, c.replaced(l)...)
	choose(Unwanted, c.unwanted(l)...)
	if l.list.Open && !c.in.Shared {
		for _, s := range l.pairing.Surplus {
			choose(Extra, s.Live)
		}
		choose(Extra, l.renamed...)
	}
	if !l.pairing.ByPosition && !l.pairing.Aligned {
		choose(Extra, c.dropped(l)...)
	}
	if tooMany := len(l.liveList) - len(l.claimed) + len(absent) - len(victims) - l.list.Max; l.list.Max != 0 && tooMany > 0 {
		// From a number of further elements to the total, because choose adds to victims.
		tooMany += len(victims)
		var candidates []int
		// The last duplicates are removed first.
		for _, s := range slices.Backward(l.pairing.Surplus) {
			candidates = append(candidates, s.Live)
		}
		candidates = append(candidates, c.prunable(l)...)
		for _, k := range slices.Backward(l.free) {
			candidates = append(candidates, k)
		}
		for _, k := range candidates {
			if len(victims) < tooMany {
				choose(Extra, k)
			}
		}
	}
	return victims
}

// unwanted returns the elements of other clients that a closed list does not allow: see Keys.Removes.
func (c lengthControl) unwanted(l *listCursor) []int {
	if l.node.Keys == nil {
		return nil
	}
	unclaimed := l.unclaimed()
	return l.freeIf(func(k int) bool { return unclaimed[k] && l.node.Keys.Removes(l.pairing.KeyText(k)) })
}

// dropped returns the elements that the manifest no longer has, if the Application removes them although the list
// is not too long.
func (c lengthControl) dropped(l *listCursor) []int {
	switch {
	case len(l.free) == 0: // usually, so that nothing more is computed
		return nil
	case c.in.Prune && l.list.Max != 0: // a list with a maximum keeps no element of another client
		return c.prunable(l)
	case !c.in.Prune && (!l.list.Open || c.in.Dropped == nil):
		return nil
	}
	was, labels := l.list.Origins(l.t, l.beforeList, l.liveList), l.list.Labels(l.t, l.beforeList)
	return slices.DeleteFunc(c.prunable(l), func(k int) bool {
		if was[k] < 0 || !c.in.Prune && !c.in.Dropped(l.path.Element(labels[was[k]], k)) {
			return true
		}
		at := cursor{t: l.t.Elem(), path: l.path.Element(l.pairing.LiveLabel(k), k), live: NewValue(l.liveList[k]), previous: l.beforeList[was[k]]}
		owns := remover(c).ownsElement(at)
		if !owns {
			remover(c).reportLeft(at.path)
		}
		return !owns
	})
}

// replaced returns the live elements that the manifest replaced. It omits elements whose keys another client
// wrote: such a client has added an element of its own.
func (c lengthControl) replaced(l *listCursor) []int {
	return slices.DeleteFunc(l.replaced, func(k int) bool {
		path := l.path.Element(l.pairing.LiveLabel(k), k)
		return slices.ContainsFunc(l.pairing.Keys, func(key string) bool { return remover(c).wroteAt(path.Field(key)) })
	})
}

// removeVictims adds a difference for each element to remove. The last element is first, so that the indices of the
// others remain valid while the patch is executed.
func (c lengthControl) removeVictims(l *listCursor, victims map[int]Reason) {
	for _, k := range slices.Backward(slices.Sorted(maps.Keys(victims))) {
		var was *previous // what the last-applied state keeps if the removal is deferred
		if victims[k] == Extra && slices.Contains(c.prunable(l), k) {
			was = &previous{l.path, l.beforeList}
		}
		at := cursor{path: l.path.Element(l.pairing.LiveLabel(k), k), live: NewValue(l.liveList[k])}
		at.keyTests = l.keyTestsAt(at.path, k)
		d := c.add(at.path, Difference{
			Reason: victims[k], Live: at.live, was: was,
			ops:    []Op{{Op: "remove", Path: at.path.Pointer()}},
			guards: at.guards(),
			// Without keys, or if other elements have the same keys, only the version proves that the index
			// still identifies this element. A test of its value would put a free value into the request.
			structural: true, versioned: len(at.keyTests) == len(l.keyTests) || len(l.pairing.Surplus) > 0,
		})
		c.visitField(at, StateRemoved, d)
		if !d.HeldBack {
			// addElements computes indices in the list without the removed elements.
			l.order = slices.Delete(l.inOrder(), k, k+1)
		}
	}
}

// prunable returns the free live elements that the previous manifest had and the manifest does not have, the
// most certain first. An element can be listed more than once. Elements are matched by keys or values, if the list
// has them, and otherwise by their content and position.
func (c lengthControl) prunable(l *listCursor) []int {
	if !l.pairing.ByPosition && !l.pairing.Aligned {
		liveIn := l.list.Origins(l.t, l.beforeList, l.liveList)
		wantIn := l.list.Identities(l.t, l.beforeList, l.wantList)
		return l.freeIf(func(k int) bool { return liveIn[k] >= 0 && wantIn[liveIn[k]] < 0 })
	}
	// When a list gets shorter, its elements move up. The elements left beyond its end are the Application's,
	// even if an equal element is now further up.
	isLeft := func(k int) bool { return k >= len(l.wantList) && k < len(l.beforeList) }
	isLike := func(k int) func(any) bool {
		return func(element any) bool { return observer.Covers(l.liveList[k], element) }
	}
	return slices.Concat(
		l.freeIf(func(k int) bool { return isLeft(k) && isLike(k)(l.beforeList[k]) }),
		l.freeIf(func(k int) bool {
			return slices.ContainsFunc(l.beforeList, isLike(k)) && !slices.ContainsFunc(l.wantList, isLike(k))
		}),
		l.freeIf(isLeft), // rewritten by another client
	)
}

// freeIf returns the free live elements that satisfy a condition.
func (l *listCursor) freeIf(is func(k int) bool) []int {
	var found []int
	for _, k := range l.free {
		if is(k) {
			found = append(found, k)
		}
	}
	return found
}

// tooShort adds known elements that only the minimum length requires: learned elements, and elements of the
// manifest that are not observed. Elements with claimed fields do not count.
func (c lengthControl) tooShort(l *listCursor, absent []int) {
	// Elements with fields of other Applications do not count.
	length := l.length - len(l.claimed)
	if length >= l.list.Min {
		return
	}
	var more []int
	for i, present := range l.present(absent) {
		if length+len(more) >= l.list.Min {
			break
		}
		if present {
			continue
		}
		if formFinder(c).accepted(l.path.Element(l.pairing.Label(i), -1), l.t.Elem(), NewValue(l.wantList[i]), Value{}) {
			length++ // it counts, because the API server would drop it again
			continue
		}
		more = append(more, i)
	}
	listComparer(c).addElements(l, more, ListLength)
	if length+len(more) < l.list.Min {
		c.out.TooShort = append(c.out.TooShort,
			fmt.Sprintf("%s has a length of %d, less than the minimum of %d in the observer schema", l.path, length+len(more), l.list.Min))
	}
}

// present reports which elements of the desired list are in the live list or were just added. Without
// identities, an element is present if its position exists. The added ones include those whose addition is deferred.
func (l *listCursor) present(absent []int) []bool {
	present := make([]bool, len(l.wantList))
	for _, i := range absent {
		present[i] = true
	}
	if l.pairing.ByPosition {
		for i := range min(l.length, len(present)) {
			present[i] = true
		}
		return present
	}
	for _, i := range l.inOrder() {
		if i >= 0 {
			present[i] = true
		}
	}
	return present
}
