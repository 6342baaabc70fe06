package observer

import "holdfast.dev/holdfast/pkg/kinds"

// Desired returns the desired state of a resource before hooks: a copy of the manifest, with the previous desired value
// of every observed path that the manifest does not set. previous can be nil, and is not changed. For a default schema,
// it returns the manifest itself, because such a schema observes only fields that the manifest sets and never learns.
// previous is status.lastAppliedManifest. The controller passes it for every reconcile, so learned values survive a
// restart.
// Source: docs/semantics.md, "Desired state".
func (e *Schema) Desired(t *kinds.Node, content, previous map[string]any) map[string]any {
	if e.Default {
		return content
	}
	desired := CopyMap(content)
	if previous == nil {
		return desired
	}
	carryMap(e.Root, t, desired, previous, true)
	return desired
}

// carryMap adds the observed previous values that a map lacks to it. root is true for the map of the object, whose
// status is never held.
//
//	want      previous     result
//	set       is set       want, with previous values below it
//	set       is unset     want
//	unset     is set       the observed part of previous
//	unset     is unset     none
//
// It changes want, which must be a copy.
func carryMap(node *Node, t *kinds.Node, want, previous map[string]any, root bool) {
	for _, f := range node.Fields {
		if root && isStatus(f.Name) {
			continue
		}
		before, had := previous[f.Name]
		if !had {
			continue
		}
		now, set := want[f.Name]
		if set {
			want[f.Name] = carry(f.Node, t.Field(f.Name), now, before)
			continue
		}
		if kept, ok := restrict(f.Node, t.Field(f.Name), before); ok {
			want[f.Name] = kept
		}
	}
}

// carry adds previous values to a value that the manifest sets. If both have different types, the manifest's value is
// unchanged.
func carry(node *Node, t *kinds.Node, want, previous any) any {
	switch node.Shape {
	case Map:
		if w, p, ok := bothOf[map[string]any](want, previous); ok {
			carryMap(node, t, w, p, false)
		}
	case Sequence:
		if w, p, ok := bothOf[[]any](want, previous); ok {
			return carryList(node.List, t, w, p)
		}
	}
	return want
}

// carryList adds previous values to the elements of a list, and appends previous elements. A previous element that
// matches no element of want was learned, or has left the manifest. It is kept while the schema has a further element
// for it. It changes the elements of want, and returns want or a longer list. For a schema with three elements and
// keys:
//
//	want      previous     result
//	[a]       [a, b]       [a, b]: b was learned, or has left the manifest
//	[a, c]    [a, b]       [a, c, b]
//	[a, c, d] [a, b]       [a, c, d]: no schema element is left for b
func carryList(list *List, t *kinds.Node, want, previous []any) []any {
	used := make([]bool, len(previous))
	for i, k := range list.Identities(t, want, previous) {
		if k < 0 {
			continue
		}
		used[k] = true
		if i < len(list.Elements) {
			want[i] = carry(list.Elements[i], t.Elem(), want[i], previous[k])
		}
	}
	for k, before := range previous {
		// Elements of the manifest are first, and the next schema element describes the next learned element.
		if i := len(want); !used[k] && i < len(list.Elements) {
			if kept, ok := restrictElement(list, t, list.Elements[i], before); ok {
				want = append(want, kept)
			}
		}
	}
	return want
}

// Learn adds live values to desired, at observed paths whose value is not known yet. It changes desired and reports
// whether it learned anything. It never overwrites a known value. It learns nothing with a default schema, because
// all values of that are known. manifest is the part of desired that was not learned, or nil if that is unknown. The
// learned values are copies, so desired does not share them with live.
func (e *Schema) Learn(t *kinds.Node, desired, manifest, live map[string]any) bool {
	if e.Default {
		return false
	}
	if manifest == nil {
		manifest = desired
	}
	return learnMap(e.Root, t, desired, manifest, live, true)
}

// learnMap adds live values to a map. written is the manifest's part of it; nil if the manifest does not set the map.
//
//	desired   live         result
//	set       is set       desired, with live values below it
//	set       is unset     desired: the field has drifted
//	unset     is set       the observed part of live: it is learned
//	unset     is unset     none
func learnMap(node *Node, t *kinds.Node, desired, written, live map[string]any, root bool) bool {
	learned := false
	for _, f := range node.Fields {
		if root && isStatus(f.Name) {
			continue
		}
		now, exists := live[f.Name]
		if !exists {
			continue
		}
		known, set := desired[f.Name]
		if !set {
			if value, ok := restrict(f.Node, t.Field(f.Name), now); ok {
				desired[f.Name] = value
				learned = true
			}
			continue
		}
		value, more := learn(f.Node, t.Field(f.Name), known, written[f.Name], now)
		if more {
			desired[f.Name] = value
			learned = true
		}
	}
	return learned
}

// learn adds live values below a known value. It returns the value, which for a list can be a longer one, and reports
// whether it learned anything. Values of different types are unchanged.
func learn(node *Node, t *kinds.Node, known, written, live any) (any, bool) {
	switch node.Shape {
	case Map:
		if k, l, ok := bothOf[map[string]any](known, live); ok {
			w, _ := written.(map[string]any)
			return k, learnMap(node, t, k, w, l, false)
		}
	case Sequence:
		if k, l, ok := bothOf[[]any](known, live); ok {
			w, _ := written.([]any)
			return learnList(node.List, t, k, w, l)
		}
	}
	return known, false
}

// learnList adds live values to a list. It does not add an element while an element of the manifest is missing,
// because the live element may be the missing one, with another key. It changes the elements of known, and returns
// the list, to which it may have appended.
func learnList(list *List, t *kinds.Node, known, written, live []any) (any, bool) {
	learned := false
	p := list.Pair(t, known, live, len(written))
	// Elements of known are updated in place. Further schema elements describe elements that are not known yet.
	for i, k := range p.Live {
		if k < 0 {
			continue
		}
		if i < len(known) {
			value, more := learn(list.Elements[i], t.Elem(), known[i], elementAt(written, i), live[k])
			known[i] = value
			learned = learned || more
			continue
		}
		value, ok := restrictElement(list, t, list.Elements[i], live[k])
		if !ok {
			break // the next element must not take the index of this one
		}
		known = append(known, value)
		learned = true
	}
	return known, learned
}

// restrict returns the observed part of a value, without the length dictionaries of a projection. It returns false if
// no observed field exists. The result shares nothing with value, except for keys of elements that are not observed. A
// value of another type than the node is not observed.
func restrict(node *Node, t *kinds.Node, value any) (any, bool) {
	switch node.Shape {
	case Map:
		m, ok := value.(map[string]any)
		if !ok {
			return nil, false
		}
		out := map[string]any{}
		for _, f := range node.Fields {
			if v, exists := m[f.Name]; exists {
				if kept, ok := restrict(f.Node, t.Field(f.Name), v); ok {
					out[f.Name] = kept
				}
			}
		}
		return out, len(out) > 0
	case Sequence:
		l, ok := value.([]any)
		if !ok {
			return nil, false
		}
		// With no known element, the first live elements are learned, one for each schema element.
		kept, learned := learnList(node.List, t, nil, nil, l)
		return kept, learned
	}
	if node.Rule != nil {
		return nil, false // a value that the rule allows is not learned: another client can choose it
	}
	return Copy(value), true
}

// restrictElement returns the observed part of a list element. It keeps the element's keys, observed or
// not, because they identify the element later.
func restrictElement(list *List, t *kinds.Node, node *Node, value any) (any, bool) {
	kept, ok := restrict(node, t.Elem(), value)
	if !ok {
		return nil, false
	}
	id := list.identifier(t)
	if id == nil {
		return kept, true
	}
	source, _ := value.(map[string]any)
	if m, isMap := kept.(map[string]any); isMap {
		for _, name := range id.keys {
			if v, exists := source[name]; exists {
				m[name] = v
			}
		}
	}
	return kept, true
}
