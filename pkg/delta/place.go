package delta

import (
	"slices"
	"strconv"
)

// inOrder returns the desired index, or -1, of each element of the live list during its correction. It
// computes them on the first call, because most lists need no correction.
func (l *listCursor) inOrder() []int {
	if l.order == nil {
		l.order = make([]int, len(l.liveList), len(l.liveList)+1)
		for k := range l.order {
			l.order[k] = -1
		}
		for i, k := range l.at {
			if k >= 0 {
				l.order[k] = i
			}
		}
	}
	return l.order
}

// indexFor returns the index at which element i of the desired list is inserted into a list with identities:
// behind the nearest of its predecessors in the desired list, else before the first of its successors, else
// at the end. The order is significant for init containers and for variables that refer to each other.
// Elements with the same keys are always in the order of the desired list.
//
// For example, b of the desired list [a, b, c] is inserted into the live list [x, a, y, c] after a: [x, a, b, y, c].
func (l *listCursor) indexFor(i int) int {
	order, at := l.inOrder(), l.indexAmong(i)
	if !l.pairing.Repeats(i) {
		return at
	}
	for k, j := range order {
		switch {
		case j < 0 || !l.pairing.Alike(l.wantList[i], l.wantList[j]):
		case j < i:
			at = max(at, k+1)
		default:
			at = min(at, k)
		}
	}
	return at
}

// indexAmong is like indexFor, for an element that shares its keys with no other element.
func (l *listCursor) indexAmong(i int) int {
	order := l.inOrder()
	// before is the nearest predecessor that is in the list, and at the index behind it.
	before, at := -1, len(order)
	for k, j := range order {
		if j >= 0 && j < i && j > before {
			before, at = j, k+1
		}
	}
	if before >= 0 {
		return at
	}
	if k := slices.IndexFunc(order, func(j int) bool { return j > i }); k >= 0 {
		return k
	}
	return at
}

// addElements adds elements of the desired list with all their fields, at the indices where they belong. In a
// list without identities, it adds an element at its position, together with the missing elements before it.
func (c listComparer) addElements(l *listCursor, indices []int, reason Reason) {
	for _, i := range indices {
		path := l.path.Element(l.pairing.Label(i), -1).Desired(i)
		d := Difference{Reason: reason, Desired: NewValue(l.wantList[i]), guards: l.guards(), structural: true, versioned: true}
		if l.pairing.ByPosition {
			// JSON Patch cannot add an element beyond the end of a list.
			for next := true; next; next = l.length <= i {
				d.ops = append(d.ops, l.insert(i, l.length, min(i, l.length)))
				l.length++
			}
			c.visitAdded(l, i, c.add(path, d))
			continue
		}
		at := l.indexFor(i)
		d.ops = []Op{l.insert(at, len(l.inOrder()), i)}
		l.length++
		added := c.add(path, d)
		// The next element must be placed behind this one. A deferred element does not take a place.
		if !added.HeldBack {
			l.order = slices.Insert(l.inOrder(), at, i)
		}
		c.visitAdded(l, i, added)
	}
}

// visitAdded visits an element that is added: each of its observed fields, or the element if the schema does not name
// it.
func (c listComparer) visitAdded(l *listCursor, i int, d *Difference) {
	if c.visit == nil {
		return
	}
	if l.added == nil {
		l.added = map[int]bool{}
	}
	l.added[i] = true
	at := cursor{t: l.t.Elem(), path: d.livePath, desired: Item(l.wantList, i), written: Item(l.writtenList, i)}
	if i >= len(l.list.Elements) {
		c.visitField(at, StateHeld, d)
		return
	}
	at.node, at.whole = l.list.Elements[i], true
	c.absent(at, d)
}

// insert returns the operation that inserts element i of the desired list at an index of a list of that
// length. The index "-" is the end of the list (RFC 6902).
func (l *listCursor) insert(at, length, i int) Op {
	index := "-"
	if at < length {
		index = strconv.Itoa(at)
	}
	return Op{Op: "add", Path: l.path.Pointer() + "/" + index, Value: completedElement(l.list, i, l.wantList[i])}
}
