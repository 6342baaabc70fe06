package observer

import (
	"fmt"
	"slices"

	"holdfast.dev/holdfast/pkg/kinds"
)

// Pairing matches the elements of a schema list with live elements. It retains both lists, which must not change while
// it is used. For every i, Live[i] equals Want[i] if both exist. Every live index occurs at most once in Live, Want and
// Surplus together, except that Live repeats Want.
// Source: docs/semantics.md, "Lists".
type Pairing struct {
	// Live contains the index in the live list for each schema element, or -1. No live element is used twice.
	Live []int
	// Want contains the index in the live list for each element of the desired list, observed or not; -1 for a missing
	// one.
	Want []int
	// Surplus lists live elements with the same keys as an observed element that already has a live
	// element. They are in live order.
	Surplus []Surplus
	// ByPosition is true if only the position identifies elements. Aligned is true if their values do
	// first.
	ByPosition, Aligned bool
	// Keys are the list-map keys, if fields identify the elements.
	Keys []string
	// Warning describes elements that have the same keys, or is "".
	Warning string

	whole []bool // see IsWhole
	// id is nil if only the position, or first the value, identifies elements.
	id *elementKeys
	// desired and live are the lists, for labels. The fields below are computed on first use.
	desired, live []any
	wantNth       []int // see elementKeys.occurrences
	liveNth       []int
	repeated      map[string]bool // the keys of several elements
	apart         []string        // the keys that distinguish the elements of the desired list
}

// Surplus is a live element that repeats the keys of a desired one.
type Surplus struct {
	Live int
	// Of is the index of the desired element with the same keys.
	Of int
}

// Pair finds the live element of every element of the desired list, which contains the manifest's elements first and
// then learned elements. The identity of an element depends on the list:
//
//	list                                      a live element matches if
//	list-map keys, of the schema or the kind  its keys are equal, or else only those that the schema observes
//	set, or ByValue                           its value is equal, or completes the held fields
//	Aligned, without keys                     it completes the held fields, or is at the position between such elements
//	other                                     it is at the same position
//
// A schema element beyond the desired list has no known value yet. It takes the first live element that has no partner.
// It takes none while one of the manifest's elements is missing; own is the number of those. Pair never fails: an
// element without a partner has -1, and an unknown kind has lists without keys.
func (l *List) Pair(t *kinds.Node, desired, live []any, own int) Pairing {
	p := Pairing{id: l.identifier(t), desired: desired, live: live}
	taken := make([]bool, len(live))
	switch {
	case p.id == nil && l.Aligned:
		p.Aligned = true
		p.Want, p.whole = align(l.heldIn(t, desired), live, taken)
	case p.id == nil:
		p.ByPosition = true
		p.Want = l.byPosition(desired, live, taken)
	case len(p.id.keys) == 0:
		p.Want = p.id.match(l.heldIn(t, desired), live, taken)
		p.Surplus = p.id.surplus(l, &p, taken)
	default:
		p.Keys = p.id.keys
		p.Want = p.id.match(desired, live, taken)
		p.Surplus = p.id.surplus(l, &p, taken)
	}
	// The first schema elements describe the elements of the desired list. Further ones take the remaining live
	// elements.
	p.Live = make([]int, len(l.Elements))
	missing := copy(p.Live, p.Want) < len(p.Live) && l.misses(p.Want, own)
	next := 0
	for i := len(desired); i < len(p.Live); i++ {
		p.Live[i] = -1
		for next < len(live) && taken[next] {
			next++
		}
		switch {
		case missing:
		// Position i can be taken only by element i, so no check of taken is necessary.
		case p.ByPosition && i < len(live):
			p.Live[i] = i
		case !p.ByPosition && next < len(live):
			p.Live[i], taken[next] = next, true
		}
	}
	return p
}

// misses reports whether an observed element of the manifest has no live element. The manifest's elements are the first
// in the desired list. A free element does not count, because another client may have removed it.
func (l *List) misses(want []int, own int) bool {
	for i := range min(own, len(want), len(l.Elements)) {
		if want[i] < 0 && !l.Elements[i].IsPlaceholder() {
			return true
		}
	}
	return false
}

// byPosition pairs elements by their position, and sets taken for the live elements in pairs.
func (l *List) byPosition(desired, live []any, taken []bool) []int {
	pairs := slices.Repeat([]int{-1}, len(desired))
	for i := range min(len(desired), len(live)) {
		if !l.inserted(i, desired, live) {
			pairs[i], taken[i] = i, true
		}
	}
	return pairs
}

// inserted reports whether element i of the manifest is new in a list that the API server has lengthened. The element
// is then inserted before the server-added elements, and does not replace one of them. For example, an admission plugin
// appends a volume to [a], and the manifest then becomes [a, b]. Live is [a, plugin], and b must not overwrite the
// plugin's volume.
func (l *List) inserted(i int, desired, live []any) bool {
	isNew := l.Known > 0 && i >= l.Known && i < len(l.Elements) && l.Max > len(l.Elements)
	return isNew && !Covers(live[i], desired[i])
}

// IsWhole reports whether the live element of element i of an aligned list completes all its held fields. It returns
// false for lists that are not aligned.
func (p *Pairing) IsWhole(i int) bool { return i < len(p.whole) && p.whole[i] }

// Free returns the indices of the live elements that match no schema element, in order. These are the elements of other
// clients, unless they were left over from an earlier manifest.
func (p *Pairing) Free() []int {
	taken := make([]bool, len(p.live))
	for _, k := range p.Live {
		if k >= 0 {
			taken[k] = true
		}
	}
	for _, s := range p.Surplus {
		taken[s.Live] = true
	}
	var indices []int
	for k, t := range taken {
		if !t {
			indices = append(indices, k)
		}
	}
	return indices
}

// Label returns the name of a schema element, or of an element of the desired list, in paths: [name=web],
// [=a], [0].
func (p *Pairing) Label(i int) string {
	switch {
	case p.id == nil:
		return positionLabel(i)
	case i < len(p.desired):
		return p.id.label(p.desired[i], p.desiredOccurrences()[i], i)
	case i < len(p.Live) && p.Live[i] >= 0:
		return p.LiveLabel(p.Live[i])
	default:
		return positionLabel(i)
	}
}

// desiredOccurrences returns elementKeys.occurrences of the desired list.
func (p *Pairing) desiredOccurrences() []int {
	if p.wantNth == nil {
		p.wantNth = p.id.occurrences(p.desired)
	}
	return p.wantNth
}

// LiveLabel returns the name of a live element in paths.
func (p *Pairing) LiveLabel(k int) string {
	if p.id == nil {
		return positionLabel(k)
	}
	if p.liveNth == nil {
		p.liveNth = p.id.occurrences(p.live)
	}
	return p.id.label(p.live[k], p.liveNth[k], k)
}

// KeyText returns the keys of a live element as Keys match them, or "" if it has none.
func (p *Pairing) KeyText(k int) string {
	if p.id == nil {
		return ""
	}
	return p.id.text(p.live[k])
}

// Repeats reports whether another element, desired or live, has the same keys as a desired element. Only live elements
// in Surplus count. A guard of a patch cannot test the keys of such an element, because they do not identify it.
func (p *Pairing) Repeats(i int) bool {
	if p.id == nil || i >= len(p.desired) {
		return false
	}
	if p.repeated == nil {
		p.repeated = map[string]bool{}
		for k, nth := range p.desiredOccurrences() {
			if nth > 1 {
				p.repeated[p.id.key(p.desired[k], p.id.keys)] = true
			}
		}
		for _, s := range p.Surplus {
			p.repeated[p.id.key(p.live[s.Live], p.id.keys)] = true
		}
	}
	return len(p.repeated) > 0 && p.repeated[p.id.key(p.desired[i], p.id.keys)]
}

// Differing returns the keys that distinguish the elements of the desired list and that have different values in a and
// b. These are the observed keys, if they suffice. It returns nil without keys. An element whose key has drifted is
// corrected in place, and these are the keys to write.
func (p *Pairing) Differing(a, b any) []string {
	if p.id == nil {
		return nil
	}
	if p.apart == nil {
		p.apart = p.id.keys
		if len(p.id.observed) > 0 && p.id.distinct(p.desired, p.id.observed) {
			p.apart = p.id.observed
		}
	}
	x, _ := a.(map[string]any)
	y, _ := b.(map[string]any)
	return slices.DeleteFunc(slices.Clone(p.apart), func(key string) bool { return p.id.keyOf(x, key) == p.id.keyOf(y, key) })
}

// Alike reports whether two elements have the same keys. It returns false if the position identifies elements.
func (p *Pairing) Alike(a, b any) bool {
	return p.id != nil && p.id.key(a, p.id.keys) == p.id.key(b, p.id.keys)
}

// Identities returns, for each element of a, the index in b of the element with the same identity, or -1. Without keys,
// elements are identified by position, also if both are the same list. It changes neither list. Pair is for a live
// list, and also considers positions, values and free fields. Identities is for two states of one author.
func (l *List) Identities(t *kinds.Node, a, b []any) []int {
	if isSame := len(a) > 0 && len(a) == len(b) && &a[0] == &b[0]; !isSame {
		if id := l.identifier(t); id != nil {
			return id.match(a, b, make([]bool, len(b)))
		}
	}
	matches := slices.Repeat([]int{-1}, len(a))
	for i := range min(len(a), len(b)) {
		matches[i] = i
	}
	return matches
}

// Origins returns, for each live element, the index in desired of the element with the same identity, or -1. A
// live element can have more fields than the desired one. It is the inverse of Identities.
func (l *List) Origins(t *kinds.Node, desired, live []any) []int {
	origins := slices.Repeat([]int{-1}, len(live))
	for i, k := range l.Identities(t, desired, live) {
		if k >= 0 {
			origins[k] = i
		}
	}
	return origins
}

// ByIdentity reports whether elements have an identity other than their position.
func (l *List) ByIdentity(t *kinds.Node) bool { return l.identifier(t) != nil }

// Labels returns the names of the elements of a list in paths: their identity if they have one, or their
// position.
func (l *List) Labels(t *kinds.Node, elements []any) []string {
	p := Pairing{id: l.identifier(t), live: elements}
	labels := make([]string, len(elements))
	for k := range elements {
		labels[k] = p.LiveLabel(k)
	}
	return labels
}

// Same reports whether two values are equal, regardless of the order of sets and of lists whose elements have keys. The
// order of a list without keys has a meaning, so it counts.
func Same(t *kinds.Node, a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, v := range a {
			if w, ok := b[name]; !ok || !Same(t.Field(name), v, w) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i, k := range (&List{}).Identities(t, a, b) {
			if k < 0 || !Same(t.Elem(), a[i], b[k]) {
				return false
			}
		}
		return true
	}
	return Equal(a, b)
}

// surplus finds the remaining live elements that have the keys of an observed element, and adds a warning. It sets
// taken for them, so that they match no other schema element. Kubernetes accepts duplicate keys in some lists, such as
// env and ports. A merge by keys would be ambiguous.
func (d *elementKeys) surplus(l *List, p *Pairing, taken []bool) []Surplus {
	// Almost every list ends here. Only a remaining element can be surplus, and only if another one has its keys.
	if !slices.Contains(taken, false) || d.distinct(p.live, d.keys) {
		return nil
	}
	last := map[string]int{}
	for i := range min(len(p.desired), len(l.Elements)) {
		if k := p.Want[i]; k >= 0 && !l.Elements[i].IsPlaceholder() && d.whole(p.live[k]) {
			last[d.key(p.live[k], d.keys)] = i
		}
	}
	var found []Surplus
	for k, element := range p.live {
		i, ours := last[d.key(element, d.keys)]
		if taken[k] || !ours {
			continue
		}
		taken[k] = true
		found = append(found, Surplus{Live: k, Of: i})
		// One warning for each list is enough, because the elements can be many.
		if p.Warning == "" {
			p.Warning = fmt.Sprintf("elements %d and %d of the live list are both %s: only the first is held, and the second gets the same values until it is removed",
				p.Want[i], k, d.label(element, 1, k))
		}
	}
	return found
}
