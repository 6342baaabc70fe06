package delta

import (
	"fmt"
	"slices"

	"holdfast.dev/holdfast/pkg/observer"
)

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
			l.order = slices.Delete(l.inOrder(), k, k+1)
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
	for i := range present {
		present[i] = i < l.length
		if !l.pairing.ByPosition {
			present[i] = slices.Contains(l.inOrder(), i)
		}
	}
	return present
}
