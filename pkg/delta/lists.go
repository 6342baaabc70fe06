package delta

import (
	"fmt"
	"slices"

	"holdfast.dev/holdfast/pkg/observer"
)

// compareList compares the elements that the schema speaks of, and then the
// length. Source: docs/semantics.md, "Lists".
func (c *comparer) compareList(s spot) {
	l := &listSpot{spot: s, list: s.node.List}
	l.wantList, _ = s.want.Any.([]any)
	l.liveList, _ = s.live.Any.([]any)
	l.writtenList, _ = s.written.([]any)
	l.beforeList, _ = s.before.([]any)
	l.pairing = l.list.Pair(s.t, l.wantList, l.liveList)
	if l.pairing.Warning != "" {
		c.out.Warnings = append(c.out.Warnings, fmt.Sprintf("%s: %s", s.path, l.pairing.Warning))
	}
	if c.in.Prune && len(l.wantList) == 0 && l.list.Max == 0 {
		c.emptied(s, l.beforeList, l.liveList)
		return
	}
	absent := c.compareElements(l)
	removed := c.tooLong(l, len(l.liveList)+len(absent))
	l.length = len(l.liveList) - removed
	c.addElements(l, absent, Missing)
	c.tooShort(l, absent)
}

type listSpot struct {
	spot
	list               *observer.List
	pairing            observer.Pairing
	wantList, liveList []any
	writtenList        []any
	beforeList         []any
	length             int   // of the live list while it is being corrected
	order              []int // see inOrder
}

// compareElements compares element by element and returns the indices of those
// that must be there and are not. A learned element may come and go.
func (c *comparer) compareElements(l *listSpot) []int {
	var absent []int
	before := l.list.Identities(l.t, l.wantList, l.beforeList)
	for i, k := range l.pairing.Live {
		if i >= len(l.wantList) {
			break // not known yet
		}
		if k < 0 && !c.in.Prune {
			k = l.renamed(i)
		}
		path := l.path.Element(l.pairing.Labels[i], k).Desired(i)
		node := l.list.Elements[i]
		if k >= 0 && (!node.IsPlace() || isMap(l.wantList[i]) && isMap(l.liveList[k])) {
			c.compare(spot{
				node: node, t: l.t.Elem(), path: path,
				want: Some(l.wantList[i]), live: Some(l.liveList[k]), written: element(l.writtenList, i),
				before: element(l.beforeList, before[i]),
				guards: withGuard(l.guards, l.keyGuards(path, k)...), loose: l.loose || l.pairing.ByPosition,
			})
			continue
		}
		if k < 0 && required(l.list, i, l.writtenList) && !c.accepted(path, Some(l.wantList[i]), Value{}) {
			absent = append(absent, i)
		}
	}
	return absent
}

// renamed is the live element that has the identity that element i had in our
// previous manifest, if what changed of it is observed: it is then changed like any
// field, and what is free beside it stays. -1 if there is none. (Under a default
// schema nothing is free: the old element is removed and the new one added.)
func (l *listSpot) renamed(i int) int {
	if l.pairing.ByPosition || i >= len(l.beforeList) || i >= len(l.writtenList) {
		return -1
	}
	was := l.beforeList[i : i+1]
	k := l.list.Identities(l.t, was, l.liveList)[0]
	free := slices.Index(l.pairing.Free, k)
	if free < 0 || l.list.Identities(l.t, was, l.wantList)[0] >= 0 || !l.observesChange(i) {
		return -1
	}
	l.pairing.Free = slices.Delete(l.pairing.Free, free, free+1)
	l.inOrder()[k] = i
	return k
}

// observesChange tells whether the schema observes every key of element i that is
// another one in our previous manifest.
func (l *listSpot) observesChange(i int) bool {
	node := l.list.Elements[i]
	if node.Shape != observer.Map {
		return node.Shape == observer.Leaf
	}
	was, _ := l.beforeList[i].(map[string]any)
	is, _ := l.wantList[i].(map[string]any)
	return !slices.ContainsFunc(l.pairing.Keys, func(key string) bool {
		return node.Field(key) == nil && !observer.Equal(was[key], is[key])
	})
}

// required tells whether an element of the desired list must be there: the
// schema observes something of it, and it is written down. A learned element
// may come and go.
func required(list *observer.List, i int, written []any) bool {
	if i >= len(list.Elements) || i >= len(written) {
		return false
	}
	return !list.Elements[i].IsPlace()
}

// absentElements is what a list gets that is not there at all: the elements
// that must be there, those that stand before them if only position identifies
// them, and more until the minimum holds.
func absentElements(s spot, want []any) []any {
	list := s.node.List
	written, _ := s.written.([]any)
	take := make([]bool, len(want))
	taken := 0
	for i := len(want) - 1; i >= 0; i-- {
		take[i] = required(list, i, written) || taken > 0 && !list.ByIdentity(s.t)
		if take[i] {
			taken++
		}
	}
	elements := make([]any, 0, len(want))
	for i, element := range want {
		if !take[i] && taken < list.Min {
			take[i] = true
			taken++
		}
		if take[i] {
			elements = append(elements, element)
		}
	}
	return elements
}

// keyGuards test that the element at a live index is still the same one.
func (l *listSpot) keyGuards(path *observer.Path, k int) []Op {
	m, _ := l.liveList[k].(map[string]any)
	var guards []Op
	for _, key := range l.pairing.Keys {
		if v, ok := m[key]; ok {
			guards = append(guards, Op{Op: "test", Path: path.Field(key).Pointer(), Value: v})
		}
	}
	return guards
}

// label names a live element.
func (l *listSpot) label(k int) string { return l.list.Label(l.t, l.liveList[k], k) }

// wantLabel names an element of the desired list.
func (l *listSpot) wantLabel(i int) string {
	if i < len(l.pairing.Labels) {
		return l.pairing.Labels[i]
	}
	return l.list.Label(l.t, l.wantList[i], i)
}

func element(l []any, i int) any {
	if i < 0 || i >= len(l) {
		return nil
	}
	return l[i]
}
