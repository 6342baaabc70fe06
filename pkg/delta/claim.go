package delta

import (
	"cmp"
	"maps"
	"slices"

	"holdfast.dev/holdfast/pkg/observer"
)

// matchRenamed matches missing elements to live elements that have other keys than desired. It looks for:
//
//	equal except for its keys, if the match only has the       another client has replaced the list
//	observed keys in common
//	the accepted form of the keys                              the API server rewrites them
//	the keys of the previous manifest                          the manifest changes them
//	other keys, in the element that is equal otherwise         another client has changed them
//	other keys, at the position of the missing element         the API server rejects the addition
//
// The keys are then corrected like any field, so the schema must observe all keys that differ.
// Source: docs/semantics.md, "Lists".
func (c elementMatcher) matchRenamed(l *listCursor) {
	c.replaceFreeMatches(l)
	missing := l.missing()
	if len(missing) == 0 || len(l.free) == 0 {
		return
	}
	// Each step takes elements from unclaimed and from missing, so the most certain matches are first.
	unclaimed := l.unclaimed()
	missing = slices.DeleteFunc(missing, func(i int) bool { return l.take(i, c.inForm(l, i, unclaimed), unclaimed) })
	// Elements with other keys belong to other clients.
	if c.in.Shared {
		return
	}
	missing = c.matchPrevious(l, missing, unclaimed)
	if l.isOpenSet() {
		return // an element with another value belongs to another client
	}
	path := func(i int) *observer.Path { return l.path.Element(l.pairing.Label(i), -1).Desired(i) }
	// An element that the API server drops is not missing.
	missing = slices.DeleteFunc(missing, func(i int) bool { return !listComparer(c).mustBeThere(l, i, path(i)) })
	candidates := unclaimed
	if l.list.Open {
		candidates = c.candidates(l, unclaimed)
		missing = c.matchEqual(l, missing, candidates, unclaimed)
	}
	// With two missing elements, it is unknown which of them the live element was.
	if len(missing) == 1 && l.take(missing[0], c.successor(l, missing[0], candidates), unclaimed) {
		return
	}
	only := slices.Collect(maps.Keys(candidates))
	for _, i := range missing {
		// The position, or being the only candidate, counts only after the API server has rejected the addition.
		k := i
		if l.list.Open && len(only) == 1 {
			k = only[0]
		}
		if c.in.Refused != nil && unclaimed[k] && l.observesChange(i, l.liveList[k]) && c.in.Refused(path(i).String()) {
			l.take(i, k, unclaimed)
		}
	}
}

// replaceFreeMatches replaces the match of an element that was found by its observed keys alone, and agrees in no other
// observed field, if one other live element agrees in all of them. Otherwise the correction could give both elements
// the same name, which the API server rejects.
func (c elementMatcher) replaceFreeMatches(l *listCursor) {
	for i := range l.list.Elements {
		if i >= len(l.at) || l.at[i] < 0 || len(l.free) == 0 || l.pairing.Alike(l.wantList[i], l.liveList[l.at[i]]) {
			continue
		}
		if same, other := c.agreement(l, i, l.at[i], false); same > 0 || other == 0 {
			continue
		}
		if k, count := c.alike(l, i, c.candidates(l, l.unclaimed())); count == 1 {
			l.free = append(l.free, l.at[i])
			l.take(i, k, nil)
			slices.Sort(l.free)
		}
	}
}

// matchPrevious matches missing elements whose keys the manifest changes to live elements with the previous keys. It
// returns the elements that are still missing. With Prune, the live elements are removed instead.
func (c elementMatcher) matchPrevious(l *listCursor, missing []int, unclaimed map[int]bool) []int {
	if c.in.Prune {
		return missing
	}
	// Both lists are matched with the previous one, whose elements had the previous keys at the same index.
	live := l.list.Identities(l.t, l.beforeList, l.liveList)
	want := l.list.Identities(l.t, l.beforeList, l.wantList)
	return slices.DeleteFunc(missing, func(i int) bool {
		// An element of the desired list may still have the previous keys.
		if i >= len(live) || want[i] >= 0 || !unclaimed[live[i]] {
			return false
		}
		k := live[i]
		if !l.observesChange(i, l.liveList[k]) {
			// A free key cannot be written, so the element is removed, and the new one is added.
			l.replaced = append(l.replaced, k)
			return false
		}
		return l.take(i, k, unclaimed)
	})
}

// maxRenamed limits the comparisons of matchEqual. In longer lists, matchEqual matches no elements.
const maxRenamed = 10_000

// candidates returns the unclaimed elements of an open list whose keys another client may have changed. They neither
// match an element of the previous manifest nor were additions before.
func (c elementMatcher) candidates(l *listCursor, unclaimed map[int]bool) map[int]bool {
	candidates := maps.Clone(unclaimed)
	for _, k := range l.list.Identities(l.t, l.beforeList, l.liveList) {
		delete(candidates, k)
	}
	maps.DeleteFunc(candidates, func(k int, _ bool) bool {
		return len(c.in.Additions) > 0 && slices.Contains(c.in.Additions, l.path.Element(l.pairing.LiveLabel(k), k).String())
	})
	return candidates
}

// matchEqual matches the missing elements of an open list to candidates that are equal apart from their keys, those
// with the most equal fields first. Otherwise an element whose keys another client changed would stay as an addition.
// A candidate for an element that has only keys is removed. matchEqual returns the elements that are still missing.
func (c elementMatcher) matchEqual(l *listCursor, missing []int, candidates, unclaimed map[int]bool) []int {
	if len(missing)*len(candidates) > maxRenamed {
		return missing
	}
	// i is an element of the desired list, k a live one, and same is the number of equal fields.
	type match struct{ i, k, same int }
	var matches []match
	// An element that is new in the manifest has not lost its keys.
	known := l.list.Identities(l.t, l.wantList, l.beforeList)
	for _, i := range missing {
		for _, k := range l.free {
			if known[i] < 0 || !candidates[k] {
				continue
			}
			same, other := c.agreement(l, i, k, false)
			if other == 0 && same > 0 && l.observesChange(i, l.liveList[k]) || l.hasOnlyKeys(i, k) {
				matches = append(matches, match{i, k, same})
			}
		}
	}
	// Stable, so that of equal matches the first in the manifest counts, and then the first live one.
	slices.SortStableFunc(matches, func(a, b match) int { return cmp.Compare(b.same, a.same) })
	matched := map[int]bool{}
	for _, m := range matches {
		switch {
		// Each element is matched once.
		case matched[m.i] || !candidates[m.k]:
			continue
		case m.same == 0:
			l.renamed = append(l.renamed, m.k)
		case !l.take(m.i, m.k, unclaimed):
			continue
		}
		matched[m.i] = true
		delete(candidates, m.k)
		delete(unclaimed, m.k)
	}
	return slices.DeleteFunc(missing, func(i int) bool { return matched[i] })
}

// hasOnlyKeys reports whether element i has only keys, and live element k only keys and empty values, or a field that
// the API server derives from a key, such as the target port of a Service.
func (l *listCursor) hasOnlyKeys(i, k int) bool {
	want, isMap := l.wantList[i].(map[string]any)
	live, alsoMap := l.liveList[k].(map[string]any)
	for name := range want {
		isMap = isMap && slices.Contains(l.pairing.Keys, name)
	}
	if !isMap || !alsoMap {
		return false
	}
	// An element with more fields than its keys is another one, unless a field repeats a key.
	only := true
	for name, value := range live {
		if slices.Contains(l.pairing.Keys, name) || observer.Empty(value) {
			continue
		}
		if slices.ContainsFunc(l.pairing.Keys, func(key string) bool { return observer.Equal(value, live[key]) || observer.Equal(value, want[key]) }) {
			return true
		}
		only = false
	}
	return only
}

// missing returns the manifest's observed elements that no live element matches by its keys.
func (l *listCursor) missing() []int {
	var missing []int
	for i, k := range l.at {
		if k < 0 && required(l.list, i, l.writtenList) {
			missing = append(missing, i)
		}
	}
	return missing
}

// unclaimed returns the free live elements that are not matched to an element of the desired list.
func (l *listCursor) unclaimed() map[int]bool {
	unclaimed := make(map[int]bool, len(l.free))
	for _, k := range l.free {
		unclaimed[k] = true
	}
	for _, k := range l.at {
		delete(unclaimed, k)
	}
	return unclaimed
}

// take matches live element k to element i of the desired list. It returns false if k is -1, or if the match
// would change the order of the elements with the same keys.
func (l *listCursor) take(i, k int, unclaimed map[int]bool) bool {
	if k < 0 || l.isOutOfOrder(i, k) {
		return false
	}
	l.at[i] = k
	delete(unclaimed, k)
	l.free = slices.DeleteFunc(l.free, func(f int) bool { return f == k })
	return true
}

// isOutOfOrder reports whether live element k is on the wrong side of another element that has the keys of
// element i.
func (l *listCursor) isOutOfOrder(i, k int) bool {
	if !l.pairing.Repeats(i) {
		return false
	}
	for j, at := range l.at {
		if at >= 0 && (j < i) != (at < k) && l.pairing.Alike(l.wantList[i], l.wantList[j]) {
			return true
		}
	}
	return false
}

// inForm returns the live element whose keys are the accepted form of the keys of element i, or -1.
func (c elementMatcher) inForm(l *listCursor, i int, unclaimed map[int]bool) int {
	want, isMap := l.wantList[i].(map[string]any)
	if len(c.in.Accepted) == 0 || !isMap {
		return -1
	}
	path, formed, known := l.path.Element(l.pairing.Label(i), -1), map[string]any{}, false
	for _, key := range l.pairing.Keys {
		// Keys without an accepted form are as desired.
		if v, has := want[key]; has {
			formed[key] = v
		}
		if form, ok := formFinder(c).acceptedForm(path.Field(key), Member(want, key)); ok && form.Accepted.Set {
			formed[key], known = form.Accepted.Any, true
		}
	}
	if !known {
		return -1
	}
	for _, k := range l.free {
		if unclaimed[k] && l.pairing.Alike(formed, l.liveList[k]) {
			return k
		}
	}
	return -1
}

// observesChange reports whether the schema observes every key in which element i and a live element differ,
// so that the keys can be written. An element of a set is its own key, so a leaf must observe it.
func (l *listCursor) observesChange(i int, live any) bool {
	node := l.list.Elements[i]
	return (len(l.pairing.Keys) > 0 || node.Shape == observer.Leaf) &&
		!slices.ContainsFunc(l.pairing.Differing(l.wantList[i], live), func(key string) bool { return !node.Observes(key) })
}

// successor returns the live element that replaced element i, or -1. It is the only live element that agrees
// with element i in all other observed fields that both have. Or it is the element at the same position of a
// list of the same length, if it agrees in at least one field. If these are two elements, the match is
// ambiguous, and the result is -1. An element that is new in the manifest has no successor. A live element
// that matches one of the previous manifest is never a successor: successor removes it from unclaimed.
func (c elementMatcher) successor(l *listCursor, i int, unclaimed map[int]bool) int {
	if (l.list.Open || isList(l.previous)) && l.list.Identities(l.t, l.wantList[i:i+1], l.beforeList)[0] < 0 {
		return -1
	}
	for _, k := range l.list.Identities(l.t, l.beforeList, l.liveList) {
		delete(unclaimed, k)
	}
	alike, candidates := c.alike(l, i, unclaimed)
	here := -1
	// An equal length suggests that no element was added or removed, so that the position identifies the element.
	if len(l.liveList) == len(l.wantList) && unclaimed[i] && l.observesChange(i, l.liveList[i]) {
		if same, _ := c.agreement(l, i, i, true); same > 0 {
			here = i
		}
	}
	switch {
	case candidates != 1:
		return here
	case here >= 0 && here != alike:
		return -1
	}
	return alike
}

// alike returns the last of the unclaimed live elements that agree with element i in all other observed
// fields that both have, and the number of these elements.
func (c elementMatcher) alike(l *listCursor, i int, unclaimed map[int]bool) (last, candidates int) {
	last = -1
	for _, k := range l.free {
		if !unclaimed[k] || !l.observesChange(i, l.liveList[k]) {
			continue
		}
		if same, other := c.agreement(l, i, k, false); same > 0 && other == 0 {
			last = k
			candidates++
		}
	}
	return last, candidates
}

// agreement counts the observed fields that element i of the desired list and live element k both have: those
// with the same value, and the others. It includes the keys of the elements only if keys is true.
func (c elementMatcher) agreement(l *listCursor, i, k int, keys bool) (same, other int) {
	node := l.list.Elements[i]
	at := cursor{t: l.t.Elem(), path: l.path.Element(l.pairing.Label(i), k), desired: NewValue(l.wantList[i]), live: NewValue(l.liveList[k])}
	count := func(name string, node *observer.Node) {
		if !keys && slices.Contains(l.pairing.Keys, name) {
			return
		}
		s, o := c.agree(at.field(name, node, at.path.Field(name)))
		same, other = same+s, other+o
	}
	// A leaf over the element observes all of its fields.
	if want, _ := l.wantList[i].(map[string]any); node.Shape == observer.Leaf {
		for name := range want {
			count(name, node)
		}
	}
	for _, f := range node.Fields {
		count(f.Name, f.Node)
	}
	return same, other
}

// agree counts the leaves below a field that have the same value in both elements, and the others. Absent values and
// fields with rules count as neither.
func (c elementMatcher) agree(s cursor) (same, other int) {
	if !s.desired.Set || !s.live.Set || s.node.Rule != nil {
		return 0, 0 // a rule may allow any of the values
	}
	if s.node.Shape == observer.Map && isMap(s.desired.Any) && isMap(s.live.Any) {
		for _, f := range s.node.Fields {
			a, b := c.agree(s.field(f.Name, f.Node, s.path.Field(f.Name)))
			same, other = same+a, other+b
		}
		return same, other
	}
	wantList, isList := s.desired.Any.([]any)
	liveList, alsoList := s.live.Any.([]any)
	if s.node.Shape == observer.Sequence && isList && alsoList {
		pairing := s.node.List.Pair(s.t, wantList, liveList, len(wantList))
		for i, node := range s.node.List.Elements {
			a, b := c.agree(cursor{
				node: node, t: s.t.Elem(), path: s.path.Element(pairing.Label(i), pairing.Live[i]),
				desired: Item(wantList, i), live: Item(liveList, pairing.Live[i]),
			})
			same, other = same+a, other+b
		}
		return same, other
	}
	if observer.Same(s.t, s.desired.Any, s.live.Any) || c.isForm(s) {
		return 1, 0
	}
	return 0, 1
}

// isForm reports whether the live value is the accepted form of the desired one.
func (c elementMatcher) isForm(s cursor) bool {
	if len(c.in.Accepted) == 0 {
		return false
	}
	form, known := c.in.Accepted[s.path.String()]
	return known && form.Desired.Equal(s.desired) && form.Accepted.Equal(s.live)
}
