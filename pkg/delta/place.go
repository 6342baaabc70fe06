package delta

import (
	"slices"
	"strconv"
)

// inOrder has, for each element of the live list while it is being corrected, the
// index in the desired list of the one that it is, or -1. Most lists need no
// correction, and nobody asks.
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

// indexFor is where element i of the desired list belongs in a list with
// identities: behind the last one that stands before it in the desired list, or
// else before the first of the others, or else at the end. The order of init
// containers and of variables that use each other means something. Elements with
// the same keys are always in the order of the desired list.
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

// indexAmong is indexFor for an element whose keys no other one has.
func (l *listCursor) indexAmong(i int) int {
	order := l.inOrder()
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

// addElements adds elements of the desired list, whole, where they belong. Lists
// without identity get them at their position, with what stands before them.
func (c *comparer) addElements(l *listCursor, indices []int, reason Reason) {
	for _, i := range indices {
		path := l.path.Element(l.pairing.Label(i), -1).Desired(i)
		d := Difference{Reason: reason, Desired: Some(l.wantList[i]), guards: l.guards, structural: true, versioned: true}
		if l.pairing.ByPosition {
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
		if !added.HeldBack {
			l.order = slices.Insert(l.inOrder(), at, i)
		}
		c.visitAdded(l, i, added)
	}
}

// visitAdded tells of an element that is added.
func (c *comparer) visitAdded(l *listCursor, i int, d *Difference) {
	if c.visit == nil {
		return
	}
	if l.added == nil {
		l.added = map[int]bool{}
	}
	l.added[i] = true
	at := cursor{t: l.t.Elem(), path: d.livePath, desired: item(l.wantList, i), written: item(l.writtenList, i)}
	if i >= len(l.list.Elements) {
		c.visitField(at, StateHeld, d)
		return
	}
	at.node, at.whole = l.list.Elements[i], true
	c.absent(at, d)
}

// insert puts element i of the desired list at an index of a list of that length.
func (l *listCursor) insert(at, length, i int) Op {
	index := "-"
	if at < length {
		index = strconv.Itoa(at)
	}
	return Op{Op: "add", Path: l.path.Pointer() + "/" + index, Value: completedElement(l.list, i, l.wantList[i])}
}
