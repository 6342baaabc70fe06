package observer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"holdfast.dev/holdfast/pkg/kinds"
)

// elementKeys reads the identity of a list element: the values of its keys, or the element itself in a set, which has
// no keys. For containerPorts, keys are containerPort and protocol, and the default of protocol is TCP.
type elementKeys struct {
	// keys are the list-map keys; empty if the value itself is the identity.
	keys []string
	// defaults maps a key to its value in elements that omit it, such as protocol to TCP. It can be nil.
	defaults map[string]any
	// observed lists the keys that every observed element observes, if these are some of the keys but not all. It is
	// nil otherwise, and if all keys identify the elements: see List.AllKeys.
	observed []string
}

// identifier returns nil if only the position identifies elements. The keys of the schema override those of the kind.
// t can be nil.
//
//	the schema declares value           by the value
//	the schema has list-map keys        by these, with the defaults of the kind
//	the kind is a map (list type)       by its keys
//	the kind is a set                   by the value
//	otherwise, or an unknown kind       by the position: nil
func (l *List) identifier(t *kinds.Node) *elementKeys {
	id := &elementKeys{keys: l.Keys}
	switch {
	case l.ByValue:
		return id
	// The schema can name other keys than the kind. Only the defaults of the kind are used then.
	case len(l.Keys) > 0 && t != nil:
		id.defaults = t.Defaults
	case len(l.Keys) > 0:
	case t != nil && t.List == kinds.Map:
		id.keys, id.defaults = t.Keys, t.Defaults
	case t != nil && t.List == kinds.Set:
		return id
	default:
		return nil
	}
	if !l.AllKeys {
		id.observed = l.observedKeys(id.keys)
	}
	return id
}

// observedKeys returns the keys that every observed element observes, or nil if these are all or none. An element that
// does not observe the protocol has a free protocol: another client can change it, and the element is still the same.
func (l *List) observedKeys(keys []string) []string {
	if len(keys) < 2 || len(l.Elements) == 0 {
		return nil
	}
	var observed []string
	for _, key := range keys {
		all := true
		for _, element := range l.Elements {
			all = all && (element.IsPlaceholder() || element.Observes(key))
		}
		if all {
			observed = append(observed, key)
		}
	}
	if len(observed) == len(keys) {
		return nil
	}
	return observed
}

// Observes reports whether a node holds a field of a map to one value. A leaf holds all fields. A field with a rule
// is not held to one value.
func (n *Node) Observes(name string) bool {
	child := n.Field(name)
	return n.Shape == Leaf || child != nil && child.Rule == nil
}

// key returns a comparable identity. A key that the element lacks, or that is not a scalar, counts as one distinct
// value. It is only compared, and never shown. Keys are separated by a NUL, which no value of Kubernetes contains.
func (d *elementKeys) key(element any, keys []string) string {
	if len(d.keys) == 0 {
		return wholeText(element)
	}
	m, _ := element.(map[string]any)
	if len(keys) == 1 {
		return d.keyOf(m, keys[0])
	}
	texts := make([]string, len(keys))
	for i, name := range keys {
		texts[i] = d.keyOf(m, name)
	}
	return strings.Join(texts, "\x00")
}

// keyOf returns the comparable value of a key, or of its default: see keyText.
func (d *elementKeys) keyOf(m map[string]any, name string) string {
	return keyText(d.value(m, name))
}

// value returns the value of a key, or its default. It returns nil if the element has neither.
func (d *elementKeys) value(m map[string]any, name string) any {
	if value, given := m[name]; given {
		return value
	}
	return d.defaults[name]
}

// keyText returns a scalar in comparable form: only equal scalars have the same text. It returns "-" for null, an absent
// value, maps and lists. Any other text begins with the letter of its type, so "80" and 80 differ. 1.0 and 1 have the
// same text, as they are equal values.
func keyText(v any) string {
	if i, ok := integer(v); ok {
		return "i" + strconv.FormatInt(i, 10)
	}
	switch v := v.(type) {
	case string:
		return "s" + v
	case bool:
		return "b" + strconv.FormatBool(v)
	case float64:
		return "f" + strconv.FormatFloat(v, 'g', -1, 64)
	}
	return "-"
}

// wholeText returns a comparable identity of an element that is identified by its value.
func wholeText(element any) string {
	if isContainer(element) {
		return "j" + jsonText(element)
	}
	return keyText(element)
}

// text returns the keys of an element as patterns match them: the value of its key, or all values with commas between
// them. It returns "" for an element without all its keys. For example, 80,TCP for a port. It is the form in which a
// user writes the keys of a closed list.
func (d *elementKeys) text(element any) string {
	if !d.whole(element) {
		return ""
	}
	if len(d.keys) == 0 {
		return fmt.Sprint(element)
	}
	m, _ := element.(map[string]any)
	values := make([]string, len(d.keys))
	for i, name := range d.keys {
		values[i] = fmt.Sprint(d.value(m, name))
	}
	return strings.Join(values, ",")
}

// whole reports whether an element has all its keys.
func (d *elementKeys) whole(element any) bool {
	if len(d.keys) == 0 {
		return wholeText(element) != "-"
	}
	m, _ := element.(map[string]any)
	for _, name := range d.keys {
		if d.keyOf(m, name) == "-" {
			return false
		}
	}
	return true
}

// label returns the name of an element in a path. nth counts the elements with the same keys.
//
//	[name=web]               one key
//	[port=80,protocol=TCP]   several keys, with defaults
//	[name=A,#2]              the second element with the key
//	[=a]                     an element of a set
//	[{kind=User,name=a}]     an element of a set that is a map
//	[0]                      an element without its keys
func (d *elementKeys) label(element any, nth, position int) string {
	if !d.whole(element) {
		return positionLabel(position)
	}
	name := elementName{nth: nth}
	m, isMap := element.(map[string]any)
	switch {
	case len(d.keys) == 0 && isMap:
		name.isWhole, name.keys = true, wholeKeys(m)
		return name.label()
	case len(d.keys) == 0:
		name.keys = []elementKey{{value: element}}
		return name.label()
	}
	for _, key := range d.keys {
		name.keys = append(name.keys, elementKey{name: key, value: d.value(m, key)})
	}
	return name.label()
}

// occurrences numbers the elements with the same keys: 1 for the first of them. For the keys a, b, a it returns 1, 1,
// 2.
func (d *elementKeys) occurrences(list []any) []int {
	seen := make(map[string]int, len(list))
	nths := make([]int, len(list))
	for i, element := range list {
		key := d.key(element, d.keys)
		seen[key]++
		nths[i] = seen[key]
	}
	return nths
}

// match returns, for each element of want, the index in have of the element with the same identity, or -1. It compares
// all keys first, and pairs repeated keys in order. It then compares the observed keys, if they distinguish the
// elements of want. If want repeats keys, and have contains them more or less often, match aligns these elements.
// Without keys, it finally pairs maps that complete those of want, because the API server may have added fields. It
// sets taken for the elements in pairs. It takes linear time unless keys are repeated. Elements without a key are
// compared as if all of them had one equal key.
func (d *elementKeys) match(want, have []any, taken []bool) []int {
	pairs := slices.Repeat([]int{-1}, len(want))
	left := d.matchBy(d.keys, want, have, pairs, taken)
	// If all elements have partners and both lists have the same length, no repeated key is missing.
	if len(want)-left < max(len(want), len(have)) {
		d.alignRepeated(want, have, pairs, taken)
	}
	if left > 0 && len(d.observed) > 0 && d.distinct(want, d.observed) {
		d.matchBy(d.observed, want, have, pairs, taken)
	}
	if left > 0 && len(d.keys) == 0 {
		matchCompleted(want, have, pairs, taken)
	}
	return pairs
}

// matchCompleted pairs the maps and lists without a partner, in order, with those that complete them. It gives up
// after maxAligned comparisons.
func matchCompleted(want, have []any, pairs []int, taken []bool) {
	compared := 0
	for i, element := range want {
		if pairs[i] >= 0 || !isContainer(element) {
			continue
		}
		for k := range have {
			if compared++; compared > maxAligned {
				return
			}
			if !taken[k] && Completes(have[k], element) {
				pairs[i], taken[k] = k, true
				break
			}
		}
	}
}

// matchBy pairs the elements without a partner by some keys. It returns how many elements of want remain. The first
// element with the keys is paired with the first, and so on.
func (d *elementKeys) matchBy(keys []string, want, have []any, pairs []int, taken []bool) (left int) {
	// first maps keys to the first remaining element with them; next chains the others. So repeated keys take linear
	// time.
	first := make(map[string]int, len(have))
	next := make([]int, len(have)) // the next element with the same keys
	for k := len(have) - 1; k >= 0; k-- {
		if taken[k] {
			continue
		}
		key := d.key(have[k], keys)
		next[k] = -1
		if other, more := first[key]; more {
			next[k] = other
		}
		first[key] = k
	}
	for i, element := range want {
		if pairs[i] >= 0 {
			continue
		}
		key := d.key(element, keys)
		if k, found := first[key]; found && k >= 0 {
			pairs[i], taken[k], first[key] = k, true, next[k]
			continue
		}
		left++
	}
	return left
}

// alignRepeated pairs the elements with repeated keys again. It pairs equal elements first, so that it
// finds the right element missing. The others keep their order.
func (d *elementKeys) alignRepeated(want, have []any, pairs []int, taken []bool) {
	places := func(list []any) map[string][]int {
		found := make(map[string][]int, len(list))
		for i, element := range list {
			key := d.key(element, d.keys)
			found[key] = append(found[key], i)
		}
		return found
	}
	wanted := places(want)
	// No keys are repeated.
	if len(wanted) == len(want) {
		return
	}
	at := func(list []any, places []int) (elements []any) {
		for _, i := range places {
			elements = append(elements, list[i])
		}
		return elements
	}
	present := places(have)
	for key, ours := range wanted {
		theirs := present[key]
		// Equally many elements are already paired in their order.
		if len(ours) < 2 || len(ours) == len(theirs) {
			continue
		}
		for _, k := range theirs {
			taken[k] = false
		}
		aligned, _ := align(at(want, ours), at(have, theirs), make([]bool, len(theirs)))
		for n, k := range aligned {
			if pairs[ours[n]] = -1; k >= 0 {
				pairs[ours[n]], taken[theirs[k]] = theirs[k], true
			}
		}
	}
}

// distinct reports whether the keys distinguish all elements. Elements without a key count as equal. If it returns
// false, the keys cannot tell which element a live element is.
func (d *elementKeys) distinct(list []any, keys []string) bool {
	seen := make(map[string]bool, len(list))
	for _, element := range list {
		key := d.key(element, keys)
		if seen[key] {
			return false
		}
		seen[key] = true
	}
	return true
}
