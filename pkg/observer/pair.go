package observer

import (
	"fmt"
	"strings"

	"holdfast.dev/holdfast/pkg/kinds"
)

// Pairing says which live element each element of a schema list speaks of.
// Source: docs/semantics.md, "Lists".
type Pairing struct {
	// Live has the index in the live list for each schema element, -1 for one
	// that is not there.
	Live []int
	// Labels name each schema element in paths: [name=web], [=a], [0].
	Labels []string
	// Free are the live elements that no schema element speaks of, in order.
	Free []int
	// ByPosition is true if position is all that identifies elements.
	ByPosition bool
	// Keys are the fields that identify elements, if fields do.
	Keys []string
	// Warning says why a list with keys had to be paired by position.
	Warning string
}

// Pair finds the live element of every schema element. desired is the list in
// the desired state: the manifest's elements, then learned ones; a schema
// element beyond it is not known yet and takes a live element that nobody else
// takes, in live order.
func (l *List) Pair(t *kinds.Node, desired, live []any) Pairing {
	id := l.identifier(t)
	if id == nil {
		return l.pairByPosition(desired, live)
	}
	p, fault := l.pairByIdentity(id, desired, live)
	if fault == "" {
		return p
	}
	p = l.pairByPosition(desired, live)
	p.Warning = fault + ": its elements are taken by position"
	return p
}

// Identities tells elements of two lists of one kind apart and together: it
// returns, for each element of a, the index in b of the element that has the
// same identity, or -1. Without keys, position is identity.
func (l *List) Identities(t *kinds.Node, a, b []any) []int {
	matches := make([]int, len(a))
	id := l.identifier(t)
	index, fault := map[string]int(nil), "by position"
	if id != nil {
		index, fault = id.index(b, "")
	}
	for i, element := range a {
		matches[i] = -1
		if fault != "" {
			if i < len(b) {
				matches[i] = i
			}
			continue
		}
		if key, _, ok := id.of(element); ok {
			if k, found := index[key]; found {
				matches[i] = k
			}
		}
	}
	return matches
}

// ByIdentity tells whether elements have an identity other than position.
func (l *List) ByIdentity(t *kinds.Node) bool { return l.identifier(t) != nil }

// Label names an element in paths: by its identity if it has one, or else by its
// position.
func (l *List) Label(t *kinds.Node, element any, position int) string {
	if id := l.identifier(t); id != nil {
		if _, label, ok := id.of(element); ok {
			return label
		}
	}
	return positionLabel(position)
}

// identifier is nil if position is all that identifies elements.
func (l *List) identifier(t *kinds.Node) *identifier {
	if len(l.Keys) > 0 {
		id := &identifier{keys: l.Keys}
		if t != nil {
			id.defaults = t.Defaults
		}
		return id
	}
	if t == nil {
		return nil
	}
	switch t.List {
	case kinds.Map:
		return &identifier{keys: t.Keys, defaults: t.Defaults}
	case kinds.Set:
		return &identifier{}
	}
	return nil
}

// identifier reads the identity of a list element: the values of its keys, or
// of a set's element the value itself.
type identifier struct {
	keys     []string
	defaults map[string]any
}

// of returns an identity to compare and the label for paths.
func (d *identifier) of(element any) (key, label string, ok bool) {
	if len(d.keys) == 0 {
		text, ok := keyText(element)
		return text, "[=" + scalarText(element) + "]", ok
	}
	m, ok := element.(map[string]any)
	if !ok {
		return "", "", false
	}
	texts, labels := make([]string, len(d.keys)), make([]string, len(d.keys))
	for i, name := range d.keys {
		v, given := m[name]
		if !given {
			if v, given = d.defaults[name]; !given {
				return "", "", false
			}
		}
		text, ok := keyText(v)
		if !ok {
			return "", "", false
		}
		texts[i] = text
		labels[i] = name + "=" + scalarText(v)
	}
	return strings.Join(texts, "\x00"), "[" + strings.Join(labels, ",") + "]", true
}

// index maps identities to positions; the fault says why that is not possible.
func (d *identifier) index(list []any, whose string) (map[string]int, string) {
	index := make(map[string]int, len(list))
	for i, element := range list {
		key, label, ok := d.of(element)
		if !ok {
			return nil, fmt.Sprintf("element %d of the %s list lacks its key (%s)", i, whose, strings.Join(d.keys, ", "))
		}
		if first, twice := index[key]; twice {
			return nil, fmt.Sprintf("elements %d and %d of the %s list are both %s", first, i, whose, label)
		}
		index[key] = i
	}
	return index, ""
}

func (l *List) pairByIdentity(id *identifier, desired, live []any) (Pairing, string) {
	known, fault := id.index(desired, "desired")
	if fault != "" {
		return Pairing{}, fault
	}
	index, fault := id.index(live, "live")
	if fault != "" {
		return Pairing{}, fault
	}
	n := len(l.Elements)
	p := Pairing{Live: make([]int, n), Labels: make([]string, n), Keys: id.keys}
	taken := make([]bool, len(live))
	for key, i := range known {
		if i >= n {
			continue // the manifest has it, the schema does not speak of it
		}
		p.Live[i] = -1
		if k, found := index[key]; found {
			p.Live[i], taken[k] = k, true
		}
		_, p.Labels[i], _ = id.of(desired[i])
	}
	for i := len(desired); i < n; i++ {
		p.Live[i], p.Labels[i] = -1, positionLabel(i)
		if k := firstFree(taken); k >= 0 {
			p.Live[i], taken[k] = k, true
			_, p.Labels[i], _ = id.of(live[k])
		}
	}
	p.Free = free(taken)
	return p, ""
}

func (l *List) pairByPosition(desired, live []any) Pairing {
	n := len(l.Elements)
	p := Pairing{Live: make([]int, n), Labels: make([]string, n), ByPosition: true}
	taken := make([]bool, len(live))
	for i := range n {
		p.Live[i], p.Labels[i] = -1, positionLabel(i)
		if i < len(live) && !l.inserted(i, desired, live) {
			p.Live[i], taken[i] = i, true
		}
	}
	p.Free = free(taken)
	return p
}

// inserted tells whether element i of the manifest is new in a list that the
// API server has lengthened: it is then put before the API server's own
// elements, and does not replace one of them.
func (l *List) inserted(i int, desired, live []any) bool {
	isNew := l.Known > 0 && i >= l.Known && l.Max > len(l.Elements)
	return isNew && i < len(desired) && !Covers(live[i], desired[i])
}

func firstFree(taken []bool) int {
	for k, t := range taken {
		if !t {
			return k
		}
	}
	return -1
}

func free(taken []bool) []int {
	var indices []int
	for k, t := range taken {
		if !t {
			indices = append(indices, k)
		}
	}
	return indices
}
