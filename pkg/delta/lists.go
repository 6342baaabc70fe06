package delta

import (
	"fmt"
	"slices"
	"strconv"

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
	l.now = l.desiredIn(l.liveList)
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
	// now has, for each element of the live list while it is being corrected, the
	// index in the desired list of the one with its identity, or -1.
	now []int
}

// desiredIn tells which elements of the desired list those of a list are.
func (l *listSpot) desiredIn(list []any) []int {
	now := make([]int, len(list))
	for k := range now {
		now[k] = -1
	}
	for i, k := range l.list.Identities(l.t, l.wantList, list) {
		if k >= 0 {
			now[k] = i
		}
	}
	return now
}

// placeFor is where element i of the desired list belongs in a list with
// identities: behind the last one that stands before it in the desired list, or
// else before the first of the others, or else at the end. The order of init
// containers and of variables that use each other means something.
func (l *listSpot) placeFor(i int) int {
	before, at := -1, len(l.now)
	for k, j := range l.now {
		if j >= 0 && j < i && j > before {
			before, at = j, k+1
		}
	}
	if before >= 0 {
		return at
	}
	if k := slices.IndexFunc(l.now, func(j int) bool { return j > i }); k >= 0 {
		return k
	}
	return at
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
	l.now[k] = i
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

// tooLong removes elements that the schema does not speak of until the maximum
// holds: first those that our previous manifest had and this one has not, then
// from the end. It returns how many.
func (c *comparer) tooLong(l *listSpot, length int) int {
	if l.list.Max == 0 || length <= l.list.Max {
		return 0
	}
	candidates := c.abandoned(l)
	for _, k := range slices.Backward(l.pairing.Free) {
		candidates = append(candidates, k)
	}
	var victims []int
	for _, k := range candidates {
		if len(victims) < length-l.list.Max && !slices.Contains(victims, k) {
			victims = append(victims, k)
		}
	}
	slices.SortFunc(victims, func(a, b int) int { return b - a }) // the last first: indices stay valid
	for _, k := range victims {
		path := l.path.Element(l.label(k), k)
		guards := l.keyGuards(path, k)
		written := c.add(path, Difference{
			Reason: Extra, Observed: Some(l.liveList[k]),
			ops:    []Op{{Op: "remove", Path: path.Pointer()}},
			guards: withGuard(l.guards, guards...),
			// Without keys only the version proves that the index still means
			// this element: a test of its value would put a free value into
			// the request.
			structural: true, versioned: len(guards) == 0,
		})
		if written {
			l.now = slices.Delete(l.now, k, k+1)
		}
	}
	return len(victims)
}

// abandoned are the free live elements that our previous manifest had and this
// one has not, the surest first. Some may be named more than once.
func (c *comparer) abandoned(l *listSpot) []int {
	if l.list.ByIdentity(l.t) && !l.pairing.ByPosition {
		liveIn := l.list.Identities(l.t, l.liveList, l.beforeList)
		wantIn := l.list.Identities(l.t, l.beforeList, l.wantList)
		return l.free(func(k int) bool { return liveIn[k] >= 0 && wantIn[liveIn[k]] < 0 })
	}
	// A list that got shorter has moved up: what is left behind its end is ours,
	// though the same may stand further up now.
	isLeft := func(k int) bool { return k >= len(l.wantList) && k < len(l.beforeList) }
	isLike := func(k int) func(any) bool {
		return func(element any) bool { return observer.Covers(l.liveList[k], element) }
	}
	return slices.Concat(
		l.free(func(k int) bool { return isLeft(k) && isLike(k)(l.beforeList[k]) }),
		l.free(func(k int) bool {
			return slices.ContainsFunc(l.beforeList, isLike(k)) && !slices.ContainsFunc(l.wantList, isLike(k))
		}),
		l.free(isLeft), // rewritten by somebody
	)
}

// free are the free live elements of which something is true.
func (l *listSpot) free(is func(k int) bool) []int {
	var found []int
	for _, k := range l.pairing.Free {
		if is(k) {
			found = append(found, k)
		}
	}
	return found
}

// addElements adds elements of the desired list, whole, where they belong. Lists
// without identity get them at their position, with what stands before them.
func (c *comparer) addElements(l *listSpot, indices []int, reason Reason) {
	for _, i := range indices {
		path := l.path.Element(l.wantLabel(i), -1)
		d := Difference{Reason: reason, Desired: Some(l.wantList[i]), guards: l.guards, structural: true, versioned: true}
		if !l.pairing.ByPosition {
			at := l.placeFor(i)
			d.ops = []Op{l.insert(at, len(l.now), i)}
			l.length++
			if c.add(path, d) {
				l.now = slices.Insert(l.now, at, i)
			}
			continue
		}
		for next := true; next; next = l.length <= i {
			d.ops = append(d.ops, l.insert(i, l.length, min(i, l.length)))
			l.length++
		}
		c.add(path, d)
	}
}

// insert puts element i of the desired list at an index of a list of that length.
func (l *listSpot) insert(at, length, i int) Op {
	place := "-"
	if at < length {
		place = strconv.Itoa(at)
	}
	return Op{Op: "add", Path: l.path.Pointer() + "/" + place, Value: l.wantList[i]}
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
