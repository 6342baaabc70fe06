package delta

import (
	"fmt"
	"slices"

	"holdfast.dev/holdfast/pkg/observer"
)

// compareList compares the elements that the schema names, and then the length of the list. Either list may be
// missing: its length limits still apply.
// Source: docs/semantics.md, "Lists".
func (c listComparer) compareList(s cursor) {
	l := c.listCursor(s)
	if l.pairing.Warning != "" {
		c.out.Warnings = append(c.out.Warnings, fmt.Sprintf("%s: %s", s.path, l.pairing.Warning))
	}
	if l.list.Raised > 0 {
		c.out.Warnings = append(c.out.Warnings, fmt.Sprintf(
			"%s: hooks add elements, so the maximum of the observer schema, %d, is raised to %d", s.path, l.list.Max-l.list.Raised, l.list.Max))
	}
	// The manifest has an empty list, and a default schema no maximum for it: only own elements are removed.
	if c.in.Prune && s.desired.Set && len(l.wantList) == 0 && l.list.Max == 0 && !l.list.ByValue {
		remover(c).emptied(s, l.beforeList, l.liveList)
		return
	}
	// Elements first, because the missing ones count toward the length.
	absent := c.compareElements(l)
	// Lists below status have no bounds.
	if s.inStatus {
		c.visitFree(l, nil)
		return
	}
	// The order matters: removed elements are neither corrected nor additions, and their removal moves the others.
	victims := lengthControl(c).excessElements(l, absent)
	c.compareSurplus(l, victims)
	c.findAdditions(l, victims)
	c.visitFree(l, victims)
	lengthControl(c).removeVictims(l, victims)
	// From here on, length counts each addition.
	l.length = len(l.liveList) - len(victims)
	c.addElements(l, absent, Missing)
	lengthControl(c).tooShort(l, absent)
	c.visitMissing(l)
}

// listCursor returns the list at a position, with its elements matched. Live elements that match no schema element
// are in free, or in claimed if they have fields of other Applications.
func (c listComparer) listCursor(s cursor) *listCursor {
	l := &listCursor{cursor: s, list: s.node.List}
	l.wantList, _ = s.desired.Any.([]any)
	l.liveList, _ = s.live.Any.([]any)
	l.writtenList, _ = s.written.Any.([]any)
	l.beforeList, _ = s.previous.([]any)
	l.pairing = l.list.Pair(s.t, l.wantList, l.liveList, len(l.writtenList))
	l.at = l.pairing.Want
	for _, k := range l.pairing.Free() {
		if c.claimed(l.path.Element(l.pairing.LiveLabel(k), k)) {
			l.claimed = append(l.claimed, k)
			continue
		}
		l.free = append(l.free, k)
	}
	// Without keys or values to find an element by, there is no element with other keys.
	if !l.pairing.ByPosition && !l.pairing.Aligned {
		elementMatcher(c).matchRenamed(l)
	}
	return l
}

// compareElements compares the elements, and returns the indices of required elements that are missing.
// Learned elements are not required.
func (c listComparer) compareElements(l *listCursor) []int {
	var absent []int
	before := l.list.Identities(l.t, l.wantList, l.beforeList)
	for i, node := range l.list.Elements {
		at, k := l.elementAt(i)
		// The previous value of the element, at whatever index it was.
		if i < len(before) {
			at.previous = Item(l.beforeList, before[i]).Any
		}
		switch {
		case i >= len(l.wantList) && k < 0:
			c.absent(at, nil) // not learned yet
		case k >= 0 && node.IsPlaceholder() && (!isMap(at.desired.Any) || !isMap(at.live.Any)):
			c.free(at)
		case k >= 0 && l.isWhole(at):
			c.inPlaceWhole(at)
		case k >= 0:
			at.keyTests = l.keyTestsAt(at.path, k)
			at.closed = l.closed || l.pairing.Aligned && !l.pairing.IsWhole(i)
			c.compare(at)
		case !c.mustBeThere(l, i, at.path):
			c.absent(at, nil)
		// It is added after the elements to remove are known: see addElements.
		default:
			absent = append(absent, i)
		}
	}
	return absent
}

// inPlaceWhole visits an element that is found by its value. It is held in its accepted form if the API server added
// fields.
func (c listComparer) inPlaceWhole(s cursor) {
	state := s.state()
	if !observer.Same(s.t, s.desired.Any, s.live.Any) && !s.inStatus {
		state = StateAccepted
	}
	c.inPlace(s, state)
}

// compareSurplus corrects the duplicates of desired elements, as long as they exist. In some lists, such as
// environment variables, the last duplicate prevails, so that only this correction enforces the desired
// value.
func (c listComparer) compareSurplus(l *listCursor, victims map[int]Reason) {
	for _, s := range l.pairing.Surplus {
		// Duplicates in a shared object belong to other clients.
		if c.in.Shared || victims[s.Live] != "" {
			continue
		}
		path := l.path.Element(l.pairing.LiveLabel(s.Live), s.Live)
		c.compare(cursor{
			node: l.list.Elements[s.Of], t: l.t.Elem(), path: path,
			desired: NewValue(l.wantList[s.Of]), live: NewValue(l.liveList[s.Live]), written: Item(l.writtenList, s.Of),
			keyTests: l.keyTestsAt(path, s.Live), loose: l.loose, exact: true,
		})
	}
}

// findAdditions finds the elements that other clients added to an open list. Users see them in the status.
func (c listComparer) findAdditions(l *listCursor, victims map[int]Reason) {
	if !l.list.Open || c.in.Shared || len(l.free) == 0 {
		return
	}
	unclaimed := l.unclaimed()
	for _, k := range l.free {
		if unclaimed[k] && victims[k] == "" {
			path := l.path.Element(l.pairing.LiveLabel(k), k)
			c.out.Additions = append(c.out.Additions, Difference{Path: path.String(), Live: NewValue(l.liveList[k]), livePath: path})
		}
	}
}

// visitFree visits the live elements that match no schema element and are not removed. If an element of the manifest
// matches one of them, the visited field has the manifest's value.
func (c listComparer) visitFree(l *listCursor, victims map[int]Reason) {
	if c.visit == nil {
		return
	}
	// written maps live elements to the elements of the desired list that they match.
	written := map[int]int{}
	for i, k := range l.at {
		written[k] = i
	}
	for _, k := range slices.Concat(l.free, l.claimed) {
		if victims[k] != "" {
			continue
		}
		at := cursor{t: l.t.Elem(), path: l.path.Element(l.pairing.LiveLabel(k), k), live: NewValue(l.liveList[k])}
		if i, ok := written[k]; ok {
			at.written = Item(l.writtenList, i)
		}
		// An element of an open set is visited as one value.
		if l.isOpenSet() {
			c.visitField(at, StateFree, nil)
			continue
		}
		c.free(at)
	}
}

// visitMissing visits the manifest's elements that are neither observed nor live.
func (c listComparer) visitMissing(l *listCursor) {
	if c.visit == nil {
		return
	}
	for i := len(l.list.Elements); i < len(l.writtenList); i++ {
		if i < len(l.at) && l.at[i] < 0 && !l.added[i] {
			c.free(cursor{t: l.t.Elem(), path: l.path.Element(l.pairing.Label(i), -1).Desired(i), written: NewValue(l.writtenList[i])})
		}
	}
}
