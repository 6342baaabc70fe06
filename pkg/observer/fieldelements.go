package observer

import (
	"fmt"
	"slices"
	"strings"

	"holdfast.dev/holdfast/pkg/kinds"
)

// elements applies the rest of a path to elements of the manifest's list. It replaces *node, and does not change the
// previous node, which other schemas may share. A list without held elements, and without keys, becomes nil. For hold:
// ["spec.containers[name=web].image"] and a manifest whose second container is web, the result is [{}, {image:
// observed}]: the first element is a placeholder.
//
// To free a field in some elements opens the list, because the maximum of the default schema would remove elements that
// another client adds.
func (c *fieldCompiler) elements(node **Node, p cursor, steps []pathStep) {
	l, _ := p.value.([]any)
	indices, err := elementsOf(p, l, steps[0])
	freed := ""
	if *node != nil && (*node).Keys != nil && c.rule.isFree() && len(steps) == 1 {
		freed = (*node).List.keyPattern(p, steps[0])
	}
	if err != nil && freed == "" {
		c.miss(err)
		return
	}
	seq, written := ownSequence(*node)
	opened := c.applyToElements(seq.List, indices, p, l, steps[1:])
	seq.List.Elements = withoutPlaceholders(seq.List.Elements, written) // placeholders at the end have no effect
	switch {
	// A written schema keeps its own lengths, and its placeholders until a path releases something.
	case opened && c.Written != nil:
		seq.List.Elements = withoutPlaceholders(seq.List.Elements, 0)
	case opened:
		seq.List.Min, seq.List.Max = 0, 0 // other clients can change the other elements
	}
	if freed != "" {
		c.freeKeys(seq, []string{freed})
	}
	if (*node == nil || opened) && isNeedless(seq, c.Written != nil) {
		seq = nil
	}
	*node = seq
}

// ownSequence returns a Sequence with the lengths, the keys and the elements of a node in slices of its own, and the
// number of these elements. It accepts nil.
func ownSequence(n *Node) (seq *Node, elements int) {
	if n == nil {
		return &Node{Shape: Sequence, List: &List{}}, 0
	}
	list := *n.List
	list.Elements = slices.Clone(list.Elements)
	return &Node{Shape: Sequence, List: &list, Keys: n.Keys}, len(list.Elements)
}

// applyToElements applies the rest of a path to the elements with these indices. It changes list. It reports whether an
// element is no longer observed.
func (c *fieldCompiler) applyToElements(list *List, indices []int, p cursor, values []any, steps []pathStep) (opened bool) {
	labels := list.Labels(p.t, values)
	for _, i := range indices {
		// A placeholder keeps the index of each element that no path matches.
		for len(list.Elements) <= i {
			list.Elements = append(list.Elements, &Node{Shape: Map})
		}
		var child *Node
		if held := list.Elements[i]; !held.IsPlaceholder() {
			child = held
		}
		had := child != nil
		c.applyAt(&child, cursor{values[i], true, p.t.Elem(), p.published.Elem(), p.path.Element(labels[i], i)}, steps)
		if child == nil {
			child, opened = &Node{Shape: Map}, opened || had
		}
		list.Elements[i] = child
	}
	return opened
}

// keyPattern returns the keys of the elements that a path element matches, as the keys of a closed list match them. It
// returns "" for an element without keys, and if the path element has other fields than keys. For the keys port and
// protocol, [port=80] is 80,*.
func (l *List) keyPattern(p cursor, step pathStep) string {
	id, name := l.identifier(p.t), elementName{}
	if id == nil || step.bracket == AllFields {
		return step.bracket
	}
	name, err := step.element(p)
	if err != nil || len(name.keys) == 0 {
		return ""
	}
	text := func(key string) (string, bool) {
		i := slices.IndexFunc(name.keys, func(k elementKey) bool { return k.name == key })
		if i < 0 {
			return AllFields, false
		}
		return fmt.Sprint(name.keys[i].value), true
	}
	if len(id.keys) == 0 {
		value, _ := text("")
		return value
	}
	values, found := make([]string, len(id.keys)), 0
	for i, key := range id.keys {
		value, isNamed := text(key)
		if values[i] = value; isNamed {
			found++
		}
	}
	if found < len(name.keys) {
		return ""
	}
	return strings.Join(values, ",")
}

// isNeedless reports whether a list observes nothing, so that it can be removed. In a written schema, the lengths and
// the keys of a list are observed, too.
func isNeedless(n *Node, isWritten bool) bool {
	list := n.List
	if isWritten {
		return len(list.Elements) == 0 && list.Min == 0 && list.Max == 0 && len(list.Keys) == 0 && !list.ByValue
	}
	return n.Keys == nil && !slices.ContainsFunc(list.Elements, func(n *Node) bool { return !n.IsPlaceholder() })
}

// divides reports whether the path leads into an element of a set, which is held by its whole value. An element of a
// set has no key by which a part of it could be found again.
func (c *fieldCompiler) divides(node *Node, p cursor, steps []pathStep) bool {
	if node == nil || !node.List.ByValue || !node.List.Open || len(steps) == 1 {
		return false
	}
	c.why = wrongPath{fmt.Errorf("lies within an element of %s, which is a set of whole elements: end the path at the element", p.path)}
	return true
}

// withoutPlaceholders removes the placeholders at the end of elements, but keeps the first n elements.
func withoutPlaceholders(elements []*Node, n int) []*Node {
	for len(elements) > n && elements[len(elements)-1].IsPlaceholder() {
		elements = elements[:len(elements)-1]
	}
	return elements
}

// elementsOf returns the indices of the elements of a manifest's list that a path element matches.
//
//	[*]               all elements
//	[0]               the first
//	[name=web]        those with the key
//	[name=istio-*]    those with a key that matches
//	[name=web,#2]     the second of these
//	[=a], [a]         the element of a set
func elementsOf(p cursor, l []any, step pathStep) ([]int, error) {
	labels := (&List{}).Labels(p.t, l)
	if step.bracket == AllFields {
		return upTo(len(l)), nil
	}
	name, err := step.element(p)
	if err != nil {
		return nil, err
	}
	if len(name.keys) == 0 {
		if name.position < len(l) {
			return []int{name.position}, nil
		}
		return nil, fmt.Errorf("there is no element [%d]: %s of the manifest has %d", name.position, p.path, len(l))
	}
	var found []int
	for i, element := range l {
		if name.matches(element, p.t) {
			found = append(found, i)
		}
	}
	// #2 selects the second of the elements with these keys. Without a number, the path matches all of them.
	if name.nth > 1 {
		found = found[min(name.nth-1, len(found)):min(name.nth, len(found))]
	}
	if len(found) > 0 || step.isPattern() {
		return found, nil
	}
	return nil, noElement(p.path, step, labels)
}

// element reads the content of brackets as the name of a list element.
func (s pathStep) element(p cursor) (elementName, error) {
	name, rest, err := parseElement(s.bracket + "]")
	switch {
	case s.bracket == "":
		return name, fmt.Errorf("%s is a list: write %[1]s[0] for one element, or %[1]s[*] for all", p.path)
	// In a set, the brackets can contain the value without =, such as finalizers[a/b].
	case (err != nil || rest != "") && p.t != nil && p.t.List == kinds.Set:
		return elementName{keys: []elementKey{valueKey("", s.bracket)}}, nil
	case err != nil || rest != "":
		return name, fmt.Errorf("%s is a list, and [%s] is not an element: write [0], [name=web] or [=value]", p.path, s.bracket)
	}
	return name, nil
}

// upTo returns the integers from 0 to n-1.
func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// matches reports whether an element contains the keys in a name, or equals the value in it. An omitted key has its
// default, if t is known. Values that print alike are equal, so [port=80] also matches the string "80". In a key
// without quotes, * matches any text.
func (n elementName) matches(element any, t *kinds.Node) bool {
	m, isMap := element.(map[string]any)
	for _, key := range n.keys {
		value := element
		if key.name != "" {
			var set bool
			if value, set = m[key.name]; !set && t != nil {
				value = t.Defaults[key.name]
			}
		} else if isMap {
			return false
		}
		text := fmt.Sprint(value)
		if !Equal(value, key.value) && text != fmt.Sprint(key.value) && (key.pattern == "" || !MatchesPattern(key.pattern, text)) {
			return false
		}
	}
	return true
}

// ValueAt returns the value at a path in an object, and whether it exists. It finds a list element by its keys, so a
// path of the manifest also works for a live list in another order. Among several elements with the same keys, it takes
// the first. The nil path is the object itself.
func ValueAt(object map[string]any, path *Path) (any, bool) {
	if path == nil {
		return object, object != nil
	}
	parent, ok := ValueAt(object, path.Parent())
	if !ok {
		return nil, false
	}
	if path.IsElement() {
		l, _ := parent.([]any)
		i, _ := path.In(nil, l)
		return elementAt(l, i), i >= 0
	}
	m, _ := parent.(map[string]any)
	v, ok := m[path.Name()]
	return v, ok
}
