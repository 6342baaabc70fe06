package observer

import (
	"slices"

	"holdfast.dev/holdfast/pkg/kinds"
)

// maxAligned limits the comparisons of align. In longer lists, align pairs the elements by position.
const maxAligned = 1_000_000

// align pairs the elements of two lists without keys. It first finds a longest common subsequence of elements that
// complete each other, so that an element that another client has inserted does not count as an element of the desired
// list. It pairs the elements between two pairs by position. It returns the index in live of each desired element, or
// -1. whole reports which desired elements their live elements complete. align sets taken for the live elements in
// pairs. With the desired list [a, b, c]:
//
//	live            pairs         whole                why
//	[a, x, b, c]    0, 2, 3       all                  another client has inserted x
//	[a, B, c]       0, 1, 2       the first and last   B is between two pairs, so it is a changed b
//	[b, c]          -1, 0, 1      the last two         a is missing
//	[x, y]          0, 1, -1      none                 only the positions are left
func align(desired, live []any, taken []bool) (pairs []int, whole []bool) {
	pairs, whole = slices.Repeat([]int{-1}, len(desired)), make([]bool, len(desired))
	// An equal beginning and an equal end are paired first. Then the quadratic step only sees the part that changed.
	take := func(i, k int) { pairs[i], whole[i], taken[k] = k, true, true }
	first := 0
	for first < min(len(desired), len(live)) && Completes(live[first], desired[first]) {
		take(first, first)
		first++
	}
	end, liveEnd := len(desired), len(live)
	for end > first && liveEnd > first && Completes(live[liveEnd-1], desired[end-1]) {
		end, liveEnd = end-1, liveEnd-1
		take(end, liveEnd)
	}
	// In a longer part, elements match by position only.
	if (end-first)*(liveEnd-first) <= maxAligned {
		for _, pair := range commonSubsequence(desired[first:end], live[first:liveEnd]) {
			take(first+pair[0], first+pair[1])
		}
	}
	// Between two pairs, an element that another client changed is at the same position as before.
	alignRest(pairs, taken)
	return pairs, whole
}

// heldIn returns the elements of a desired list without their free fields. It returns an element that is entirely free
// unchanged. The result is a new list, and its elements are copies where the schema observes only a part of them.
func (l *List) heldIn(t *kinds.Node, desired []any) []any {
	held := slices.Clone(desired)
	for i := range min(len(held), len(l.Elements)) {
		// A change of a free field in the live list must not prevent the match.
		if of, some := restrict(l.Elements[i], t.Elem(), held[i]); some {
			held[i] = of
		}
	}
	return held
}

// alignRest pairs the remaining elements between two pairs, in order. A desired element takes the live element directly
// after the previous pair, if that has no partner. taken is as long as the live list.
func alignRest(pairs []int, taken []bool) {
	next := 0
	for i, k := range pairs {
		if k >= 0 {
			next = k + 1
			continue
		}
		if next < len(taken) && !taken[next] {
			pairs[i], taken[next] = next, true
			next++
		}
	}
}

// commonSubsequence returns the pairs of indices of a longest common subsequence. The tables take memory in proportion
// to the product of the lengths, which maxAligned limits. Completes is not symmetric: the live element can have more.
func commonSubsequence(desired, live []any) (pairs [][2]int) {
	if len(desired) == 0 || len(live) == 0 {
		return nil
	}
	covers := make([][]bool, len(desired))
	longest := make([][]int, len(desired)+1) // of the parts that begin at two indices
	longest[len(desired)] = make([]int, len(live)+1)
	for i := len(desired) - 1; i >= 0; i-- {
		covers[i], longest[i] = make([]bool, len(live)), make([]int, len(live)+1)
		for k := len(live) - 1; k >= 0; k-- {
			covers[i][k] = Completes(live[k], desired[i])
			longest[i][k] = max(longest[i+1][k], longest[i][k+1])
			if covers[i][k] {
				longest[i][k] = max(longest[i][k], longest[i+1][k+1]+1)
			}
		}
	}
	for i, k := 0, 0; i < len(desired) && k < len(live); {
		// The walk prefers a pair to a skip if both are equally long. Therefore the first of several equal live
		// elements is taken.
		switch {
		case covers[i][k] && longest[i][k] == longest[i+1][k+1]+1:
			pairs = append(pairs, [2]int{i, k})
			i, k = i+1, k+1
		case longest[i+1][k] >= longest[i][k+1]:
			i++
		default:
			k++
		}
	}
	return pairs
}
