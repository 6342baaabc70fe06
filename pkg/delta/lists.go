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
	length             int // of the live list while it is being corrected
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
		path := l.path.Element(l.pairing.Labels[i], k)
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

// tooLong removes elements that the schema does not speak of until the maximum
// holds: first those that our previous manifest had and this one has not, then
// from the end. It returns how many.
func (c *comparer) tooLong(l *listSpot, length int) int {
	if l.list.Max == 0 || length <= l.list.Max {
		return 0
	}
	var victims []int
	for _, k := range c.abandoned(l) {
		if len(victims) < length-l.list.Max {
			victims = append(victims, k)
		}
	}
	for _, k := range slices.Backward(l.pairing.Free) {
		if len(victims) < length-l.list.Max && !slices.Contains(victims, k) {
			victims = append(victims, k)
		}
	}
	slices.SortFunc(victims, func(a, b int) int { return b - a }) // the last first: indices stay valid
	for _, k := range victims {
		path := l.path.Element(l.label(k), k)
		guards := l.keyGuards(path, k)
		c.add(path, Difference{
			Reason: Extra, Observed: Some(l.liveList[k]),
			ops:    []Op{{Op: "remove", Path: path.Pointer()}},
			guards: withGuard(l.guards, guards...),
			// Without keys only the version proves that the index still means
			// this element: a test of its value would put a free value into
			// the request.
			structural: true, versioned: len(guards) == 0,
		})
	}
	return len(victims)
}

// abandoned are the free live elements that our previous manifest had and this
// one has not.
func (c *comparer) abandoned(l *listSpot) []int {
	var found []int
	liveIn := l.list.Identities(l.t, l.liveList, l.beforeList)
	wantIn := l.list.Identities(l.t, l.beforeList, l.wantList)
	byIdentity := l.list.ByIdentity(l.t) && !l.pairing.ByPosition
	for _, k := range l.pairing.Free {
		if byIdentity {
			if p := liveIn[k]; p >= 0 && wantIn[p] < 0 {
				found = append(found, k)
			}
			continue
		}
		had := slices.ContainsFunc(l.beforeList, func(p any) bool { return observer.Covers(l.liveList[k], p) })
		has := slices.ContainsFunc(l.wantList, func(w any) bool { return observer.Covers(l.liveList[k], w) })
		if had && !has {
			found = append(found, k)
		}
	}
	return found
}

// addElements adds elements of the desired list, whole. Lists without identity
// get them at their position, with what stands before them.
func (c *comparer) addElements(l *listSpot, indices []int, reason Reason) {
	for _, i := range indices {
		path := l.path.Element(l.wantLabel(i), -1)
		d := Difference{Reason: reason, Desired: Some(l.wantList[i]), guards: l.guards, structural: true, versioned: true}
		end := l.path.Pointer() + "/-"
		switch {
		case !l.pairing.ByPosition:
			d.ops = []Op{{Op: "add", Path: end, Value: l.wantList[i]}}
			l.length++
		case i < l.length:
			d.ops = []Op{{Op: "add", Path: fmt.Sprintf("%s/%d", l.path.Pointer(), i), Value: l.wantList[i]}}
			l.length++
		default:
			for ; l.length <= i; l.length++ {
				d.ops = append(d.ops, Op{Op: "add", Path: end, Value: l.wantList[l.length]})
			}
		}
		c.add(path, d)
	}
}

// tooShort adds known elements that need not be there but for the minimum:
// learned ones, and those of the manifest that are not observed.
func (c *comparer) tooShort(l *listSpot, absent []int) {
	length := l.length
	if length >= l.list.Min {
		return
	}
	var more []int
	for i, present := range l.present() {
		if length+len(more) >= l.list.Min {
			break
		}
		if present || slices.Contains(absent, i) {
			continue
		}
		if c.accepted(l.path.Element(l.wantLabel(i), -1), Some(l.wantList[i]), Value{}) {
			length++ // it counts: the API server would drop it again
			continue
		}
		more = append(more, i)
	}
	c.addElements(l, more, ListLength)
	if length+len(more) < l.list.Min {
		c.out.TooShort = append(c.out.TooShort,
			fmt.Sprintf("%s has a length of %d, less than the %d that the observer schema asks for", l.path, length+len(more), l.list.Min))
	}
}

// present tells which elements of the desired list are in the live one, be it by
// their position only.
func (l *listSpot) present() []bool {
	present := make([]bool, len(l.wantList))
	matches := l.list.Identities(l.t, l.wantList, l.liveList)
	for i := range present {
		present[i] = matches[i] >= 0
		if l.pairing.ByPosition {
			present[i] = i < l.length
		}
	}
	return present
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
