package delta

import (
	"maps"
	"reflect"
	"slices"

	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/observer"
)

// Input is one resource to compare.
type Input struct {
	Entry *observer.Schema
	// Type is the typed schema of its kind; nil if nothing is known of it.
	Type *kinds.Node
	// Desired is the desired state; Manifest the part of it that is written
	// down (the manifest and what hooks made of it), without learned values.
	Desired, Manifest map[string]any
	Live              map[string]any
	// Previous is the last desired state on record, or nil.
	Previous map[string]any
	// Prune removes what Previous has and Desired has not: it is true where
	// both belong to default entries, so that all of Previous was written by us.
	Prune bool
	// Shared is true for an object that is another owner's: an element is found by its keys
	// alone, or by their accepted form, and nobody's is taken for one of ours.
	Shared   bool
	Accepted Accepted
	// Begins returns, for a list that is held as one value from now on, so that its accepted
	// form is not known yet, what decides whether a live list is that form. It returns nil
	// for every other list.
	Begins func(path *observer.Path) func(live, want any) bool
	// Normal returns the desired state in the normal form of the API server, or nil if that is
	// not known. If there is no Normal, spellings are not looked at.
	Normal func() map[string]any
	// CompareOnly is true if nothing is written: then another spelling of a value is in place.
	CompareOnly bool
	// HeldBack reports whether the leaf at a path must wait: it is contested, or the
	// API server has refused this change of it.
	HeldBack func(d Difference) bool
	// Conflicting are the paths of fields that the schema does not name, and that have to go
	// so that the API server takes a held field beside them.
	Conflicting []string
	// Claimed are the pointers of what others hold of the live object: an element or a key
	// that has one of them in it is not surplus, counts for no length, and is never removed.
	Claimed []string
	// Refused reports whether the API server has refused to add what is missing at a path.
	Refused func(path string) bool
	// Foreign reports whether another client wrote at or below a path of the live
	// object. nil: taken to be so whenever something of unknown origin is there.
	Foreign func(path *observer.Path) bool
}

// Compare finds the drift of a resource, by the table of docs/semantics.md:
//
//	desired   live                 accepted form   result
//	absent    any                                  nothing (see observer.Learn)
//	present   equal                                in place
//	present   different or absent  the live value  in place
//	present   absent               none            Missing
//	present   different            none, another   Changed
//
// Comparing a desired state with itself finds nothing.
func Compare(in Input) Comparison { return Walk(in, nil) }

type comparer struct {
	in          Input
	visit       func(Field) // nil: nobody wants to know
	visited     int         // how many fields were visited
	ruleContext *observer.RuleContext
	out         Comparison
}

// cursor is one place of the walk: the same path in the schema, the desired
// state, the manifest and the live object.
type cursor struct {
	node     *observer.Node
	t        *kinds.Node
	path     *observer.Path
	desired  Value
	live     Value
	written  Value // in the manifest
	previous any   // in the previous desired state
	guards   []Op  // keys of the list elements on the way
	watched  bool  // below status
	// loose is true below a list element that only its position identifies, exact below
	// one whose keys another one has, too.
	loose, exact bool
	// orphan says that the map around it is not there, whole that it comes or goes with the
	// element that it is in, free fields included.
	orphan, whole bool
	// closed is true in an element without keys that is not as we wrote it: fields that
	// another client added make it another element, so they are removed.
	closed bool
}

func (c *comparer) compare(s cursor) {
	if s.node.Rule != nil && !s.watched {
		c.compareRule(s)
		return
	}
	if !s.desired.Set {
		c.unknown(s)
		return
	}
	c.keepForm(s)
	if !s.live.Set {
		c.missing(s)
		return
	}
	switch s.node.Shape {
	case observer.Map:
		if isMap(s.desired.Any) && isMap(s.live.Any) {
			c.compareMap(s, false)
			return
		}
	case observer.Sequence:
		if isList(s.desired.Any) && isList(s.live.Any) {
			c.compareList(s)
			return
		}
	}
	c.changed(s)
}

// unknown looks at what nobody desires anything of: below it are lists, perhaps, whose
// lengths hold all the same.
func (c *comparer) unknown(s cursor) {
	switch {
	case s.node.Shape == observer.Map && (isMap(s.live.Any) || !s.live.Set) && !s.node.IsPlaceholder():
		c.compareMap(s, false)
	case s.node.Shape == observer.Sequence && (isList(s.live.Any) || !s.live.Set):
		c.compareList(s)
	case s.node.IsPlaceholder():
		c.free(s)
	default:
		c.visitField(s, s.state(), nil)
	}
}

func (c *comparer) compareMap(s cursor, root bool) {
	want, _ := s.desired.Any.(map[string]any)
	live, _ := s.live.Any.(map[string]any)
	written, _ := s.written.Any.(map[string]any)
	before, _ := s.previous.(map[string]any)
	if c.visit != nil && len(s.node.Fields)+len(live) == 0 {
		c.visitField(s, s.state(), nil) // that the map is there is all that can be said
	}
	paths := s.path.Fields(s.node.Fields)
	for i, f := range s.node.Fields {
		at := cursor{
			node: f.Node, t: s.t.Field(f.Name), path: &paths[i],
			desired: member(want, f.Name), live: member(live, f.Name), written: member(written, f.Name), previous: before[f.Name],
			guards: s.guards, watched: s.watched, loose: s.loose, exact: s.exact, orphan: !isMap(s.live.Any), closed: s.closed,
		}
		if root && f.Name == "status" { // watched only
			if c.visit == nil {
				continue
			}
			at.desired, at.written, at.watched = Value{}, Value{}, true
		}
		c.compare(at)
	}
	c.compareRest(s, before, want, live, written)
}

// compareRest looks at the fields that the schema does not name: what a closed map may not
// have, and what the previous manifest had, is removed, all else is free.
func (c *comparer) compareRest(s cursor, before, want, live, written map[string]any) {
	var names []string
	switch {
	case c.visit != nil:
		names = unionOf(live, written)
	case s.node.Keys != nil, s.closed, len(c.in.Conflicting) > 0:
		names = slices.Sorted(maps.Keys(live))
	case c.in.Prune:
		names = unnamed(s.node, before, want)
	}
	for _, name := range names {
		if s.node.Field(name) == nil {
			c.compareUnnamed(s, name, before, want)
		}
	}
}

// compareUnnamed is compareRest for one field.
func (c *comparer) compareUnnamed(s cursor, name string, before, want map[string]any) {
	_, was := before[name]
	_, still := want[name]
	// The namespace is part of the identity, written down or not.
	still = still || name == "namespace" && s.path.String() == "metadata"
	at := s.freeField(name)
	at.guards, at.exact = s.guards, s.exact
	isClosed := s.node.Keys.Removes(name) || s.closed && !still && c.isAddition(at)
	switch {
	case !at.live.Set:
		c.free(at)
	case isClosed && !c.claimed(at.path):
		c.removeAbsent(at, Unwanted)
	case slices.Contains(c.in.Conflicting, at.path.String()):
		c.removeAbsent(at, Conflicting)
	case !c.in.Prune || !was || still:
		c.free(at)
	default:
		at.previous = before[name]
		c.remove(at)
	}
}

// isAddition reports whether a field of a closed element is in no manifest, and not freed.
func (c *comparer) isAddition(at cursor) bool {
	return !at.written.Set && c.in.Entry.Released(at.path.String()) == ""
}

// isSame reports whether two maps are one, not only equal.
func isSame(a, b map[string]any) bool {
	return reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer()
}

// unnamed are the fields of what was desired before that a schema does not name: as a rule there
// are none, and none that matters if the very same is desired now.
func unnamed(node *observer.Node, before, want map[string]any) (names []string) {
	if isSame(before, want) {
		return nil
	}
	for name := range before {
		if node.Field(name) == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// changed reports a value that differs, whole.
func (c *comparer) changed(s cursor) {
	if c.claimed(s.path) && !slices.Contains(c.in.Claimed, s.path.Pointer()) {
		s.desired.Any = c.withClaimed(s.t, s.path, s.desired.Any, s.live.Any)
	}
	if observer.Same(s.t, s.desired.Any, s.live.Any) {
		c.inPlace(s, s.state())
		return
	}
	value, ok := observed(s)
	if l, wantsList := s.desired.Any.([]any); wantsList && len(l) == 0 && s.live.Any != nil {
		ok = true // an empty list is free to be any list, and nothing else
	}
	if !ok {
		c.inPlace(s, s.state())
		return
	}
	if c.accepted(s.path, s.t, Some(value), s.live) || c.completed(s, value) {
		c.inPlace(s, StateAccepted)
		return
	}
	spelling := c.spelling(s, value)
	if c.in.CompareOnly && spelling == observer.Respelled {
		c.inPlace(s, StateAccepted)
		return
	}
	d := replacement(s, value)
	d.was, d.Spelling = wasOf(s), spelling
	c.visitField(s, s.state(), c.add(s.path, d))
}

// missing reports a field that is not there. What is written back is the
// observed part only: what is free beside it is the API server's to default.
func (c *comparer) missing(s cursor) {
	value, ok := observed(s)
	switch {
	case !ok && s.node.Shape == observer.Sequence:
		c.compareList(s)
		return
	case !ok:
		c.compareMap(s, false)
		return
	case c.accepted(s.path, s.t, Some(value), Value{}):
		c.inPlace(s, StateAccepted)
		return
	}
	spelling := c.spelling(s, value)
	if c.in.CompareOnly && spelling == observer.Respelled {
		c.inPlace(s, StateAccepted)
		return
	}
	d := addition(s, value)
	d.was, d.Spelling = wasOf(s), spelling
	c.absent(s, c.add(s.path, d))
}

// addition adds a value that is not there.
func addition(s cursor, value any) Difference {
	pointer := s.path.Pointer()
	return Difference{
		Reason: Missing, Desired: Some(value),
		ops: []Op{{Op: "add", Path: pointer, Value: value}},
		// A test for null holds where nothing is: nobody's value is overwritten.
		guards: withGuard(s.guards, Op{Op: "test", Path: pointer, Value: nil}),
		// It holds in any element that lacks the field, too.
		versioned: s.loose || s.exact,
	}
}

// replacement puts a value in the place of another one.
func replacement(s cursor, value any) Difference {
	pointer := s.path.Pointer()
	return Difference{
		Reason: Changed, Desired: Some(value), Live: s.live,
		ops:    []Op{{Op: "replace", Path: pointer, Value: value}},
		guards: withGuard(s.guards, Op{Op: "test", Path: pointer, Value: s.live.Any}), versioned: s.exact,
	}
}

// wasOf is the value that our previous desired state has at a place.
func wasOf(s cursor) *previous {
	if s.previous == nil {
		return nil
	}
	return &previous{s.path, s.previous}
}

func (c *comparer) inPlace(s cursor, state State) {
	c.held(s)
	c.visitField(s, state, nil)
}

func (c *comparer) held(s cursor) {
	if s.node.Shape == observer.Leaf {
		c.out.Held++
	}
}

// add completes a difference and records it.
func (c *comparer) add(path *observer.Path, d Difference) *Difference {
	d.Path, d.livePath, d.Unit = path.String(), path, unitOf(c.in.Type, path)
	d.HeldBack = c.in.HeldBack != nil && c.in.HeldBack(d)
	c.out.Differences = append(c.out.Differences, d)
	return &d
}

// observed is the part of a desired value that the schema observes, list
// elements whole (an element is created as a resource is: free fields
// included). It is false if nothing of it is to be there, or nobody puts it back.
func observed(s cursor) (any, bool) {
	if !s.restored() {
		return nil, false
	}
	switch want := s.desired.Any.(type) {
	case map[string]any:
		if s.node.Shape == observer.Map {
			return observedFields(s, want)
		}
	case []any:
		if s.node.Shape == observer.Sequence {
			elements := make([]any, 0, len(want))
			take := absentElements(s, want)
			for i, element := range want {
				if take[i] {
					elements = append(elements, completedElement(s.node.List, i, element))
				}
			}
			return elements, len(elements) > 0
		}
	}
	return s.desired.Any, true
}

// observedFields is the observed part of a map. A map of which everything is
// observed is held as being there, though it be empty or have empty lists only.
func observedFields(s cursor, want map[string]any) (any, bool) {
	written, _ := s.written.Any.(map[string]any)
	out, seen := map[string]any{}, 0
	for _, f := range s.node.Fields {
		v, ok := want[f.Name]
		at := cursor{node: f.Node, t: s.t.Field(f.Name), desired: Some(v), written: member(written, f.Name), previous: fieldOf(s.previous, f.Name)}
		if !ok || !at.restored() {
			continue
		}
		seen++
		if kept, ok := observed(at); ok {
			out[f.Name] = kept
		}
	}
	if len(out) == 0 && seen < len(want) {
		return nil, false
	}
	fillIn(s.node, out)
	return out, true
}

// completed is a value that is about to be written, with what the rules of its entry ask for
// where it has nothing: it would be added next.
func completed(node *observer.Node, value any) any {
	switch v := value.(type) {
	case map[string]any:
		filled := maps.Clone(v)
		for name, child := range v {
			if at := node.Field(name); at != nil {
				filled[name] = completed(at, child)
			}
		}
		fillIn(node, filled)
		return filled
	case []any:
		if node.Shape != observer.Sequence {
			break
		}
		filled := make([]any, len(v))
		for i, element := range v {
			filled[i] = completedElement(node.List, i, element)
		}
		return filled
	}
	return value
}

func completedElement(list *observer.List, i int, element any) any {
	if i >= len(list.Elements) {
		return element
	}
	return completed(list.Elements[i], element)
}

// fillIn adds the bounds of what is not in a map.
func fillIn(node *observer.Node, m map[string]any) {
	for _, f := range node.Fields {
		if least, ok := f.Node.Rule.Fallback(); ok {
			if _, has := m[f.Name]; !has {
				m[f.Name] = least
			}
		}
	}
}

func withGuard(guards []Op, more ...Op) []Op {
	return append(guards[:len(guards):len(guards)], more...)
}

func isMap(v any) bool  { _, ok := v.(map[string]any); return ok }
func isList(v any) bool { _, ok := v.([]any); return ok }
