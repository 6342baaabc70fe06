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
	// Type is the typed schema of the kind; nil if it is unknown.
	Type *kinds.Node
	// Desired is the desired state. Manifest is the part of it that the manifest and hooks set, without
	// learned values.
	Desired, Manifest map[string]any
	Live              map[string]any
	// Previous is the last-applied state, or nil.
	Previous map[string]any
	// Prune removes fields that are in Previous and not in Desired. It is true if both states have default
	// schemas, because the Application then wrote all of Previous.
	Prune bool
	// Shared is true for a shared object. Its list elements are matched only by their keys, or by the
	// accepted form of the keys, so that no element of another client is taken for a desired element.
	Shared   bool
	Accepted Accepted
	// Begins returns a function that decides whether a live list is the accepted form of a desired list. It
	// returns a function only for a list that the Application begins to hold as one value, because the
	// accepted form of that list is not known yet. For every other list it returns nil.
	Begins func(path *observer.Path) func(live, want any) bool
	// Normal returns the desired state in the normalized form of the API server, or nil if that form is
	// unknown. If the function is nil, values are not checked for equivalence.
	Normal func() map[string]any
	// CompareOnly is true if nothing is written. A value that is equivalent to the desired value is then in
	// sync.
	CompareOnly bool
	// HeldBack reports whether the correction of a leaf is deferred: the leaf is contested, or the API server
	// has rejected this change.
	HeldBack func(d Difference) bool
	// Conflicting lists the paths of fields that the schema does not name, and that must be removed so that
	// the API server accepts a held field next to them.
	Conflicting []string
	// Claimed lists the JSON pointers of live fields that other Applications hold, or that the Application
	// releases. A list element or key that contains such a field is never removed, and does not count toward
	// the length of its list.
	Claimed []string
	// Refused reports whether the API server has rejected the addition of a missing value at a path.
	Refused func(path string) bool
	// Foreign reports whether another client wrote at or below a path of the live object. If it is nil, every
	// value of unknown origin is assumed to be written by another client.
	Foreign func(path *observer.Path) bool
}

// Compare finds the drift of a resource according to this table from docs/semantics.md:
//
//	desired   live                 accepted form   result
//	absent    any                                  nothing (see observer.Schema.Learn)
//	present   equal                                in sync
//	present   different or absent  the live value  in sync
//	present   absent               none            Missing
//	present   different            none, another   Changed
//
// Comparing a desired state with itself finds nothing.
func Compare(in Input) Comparison { return Walk(in, nil) }

type comparer struct {
	in          Input
	visit       func(Field) // nil for Compare
	visited     int         // number of visited fields
	ruleContext *observer.RuleContext
	out         Comparison
}

// cursor is one position of the walk: the same path in the schema, the desired state, the manifest and the
// live object.
type cursor struct {
	node     *observer.Node
	t        *kinds.Node
	path     *observer.Path
	desired  Value
	live     Value
	written  Value // in the manifest
	previous any   // in the previous desired state
	guards   []Op  // tests of the keys of the list elements in the path
	watched  bool  // below status
	// loose is true below a list element that only its position identifies. exact is true below a list
	// element that shares its keys with another element.
	loose, exact bool
	// orphan is true if the map that contains the field is missing. whole is true if the field is added or
	// removed together with the list element that contains it, free fields included.
	orphan, whole bool
	// closed is true in an element without keys that differs from the written element. Fields that another
	// client added make it a different element, so they are removed.
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

// unknown compares a node without a desired value. The lists below it may have length bounds, which still
// apply.
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
		c.visitField(s, s.state(), nil) // the map itself, because it has no fields
	}
	paths := s.path.Fields(s.node.Fields)
	for i, f := range s.node.Fields {
		at := cursor{
			node: f.Node, t: s.t.Field(f.Name), path: &paths[i],
			desired: member(want, f.Name), live: member(live, f.Name), written: member(written, f.Name), previous: before[f.Name],
			guards: s.guards, watched: s.watched, loose: s.loose, exact: s.exact, orphan: !isMap(s.live.Any), closed: s.closed,
		}
		if root && f.Name == "status" { // only recorded
			if c.visit == nil {
				continue
			}
			at.desired, at.written, at.watched = Value{}, Value{}, true
		}
		c.compare(at)
	}
	c.compareRest(s, before, want, live, written)
}

// compareRest compares the fields that the schema does not name. It removes the fields that a closed map does
// not allow, conflicting fields, and, with Prune, those of the previous manifest. All others are free.
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

// compareUnnamed compares one field that the schema does not name.
func (c *comparer) compareUnnamed(s cursor, name string, before, want map[string]any) {
	_, was := before[name]
	_, still := want[name]
	// The namespace is part of the identity, even if the manifest does not set it.
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

// isAddition reports whether a field of a closed element is neither set in the manifest nor released.
func (c *comparer) isAddition(at cursor) bool {
	return !at.written.Set && c.in.Entry.Released(at.path.String()) == ""
}

// isSame reports whether two maps are the same map, not only equal maps.
func isSame(a, b map[string]any) bool {
	return reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer()
}

// unnamed returns the previously desired fields that the schema does not name. Usually there are none. If the
// desired state is the same map as before, none of its fields are removed, and the result is nil.
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

// changed compares a value as one unit, and adds a difference if the value has drifted.
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
		ok = true // an empty list allows any list, but no other value
	}
	if !ok {
		c.inPlace(s, s.state())
		return
	}
	if c.accepted(s.path, s.t, NewValue(value), s.live) || c.completed(s, value) {
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

// missing adds a difference for a field that is missing. The correction writes only the observed part of the
// value, because the API server may set defaults for the free fields.
func (c *comparer) missing(s cursor) {
	value, ok := observed(s)
	switch {
	case !ok && s.node.Shape == observer.Sequence:
		c.compareList(s)
		return
	case !ok:
		c.compareMap(s, false)
		return
	case c.accepted(s.path, s.t, NewValue(value), Value{}):
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

// addition returns the difference that adds a missing value.
func addition(s cursor, value any) Difference {
	pointer := s.path.Pointer()
	return Difference{
		Reason: Missing, Desired: NewValue(value),
		ops: []Op{{Op: "add", Path: pointer, Value: value}},
		// A test for null succeeds only while the field is missing, so that no value of another client is
		// overwritten.
		guards: withGuard(s.guards, Op{Op: "test", Path: pointer, Value: nil}),
		// The test also succeeds in every other element that lacks the field.
		versioned: s.loose || s.exact,
	}
}

// replacement returns the difference that replaces the live value.
func replacement(s cursor, value any) Difference {
	pointer := s.path.Pointer()
	return Difference{
		Reason: Changed, Desired: NewValue(value), Live: s.live,
		ops:    []Op{{Op: "replace", Path: pointer, Value: value}},
		guards: withGuard(s.guards, Op{Op: "test", Path: pointer, Value: s.live.Any}), versioned: s.exact,
	}
}

// wasOf returns the value of the previous desired state at the same path, or nil.
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

// observed returns the part of a desired value that the schema observes. List elements include their free
// fields, because an element is created like a resource. It returns false if no part of the value must exist,
// or if a missing value is not restored.
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

// observedFields returns the observed part of a map. A map whose fields are all observed must exist, even if
// it is empty or has only empty lists.
func observedFields(s cursor, want map[string]any) (any, bool) {
	written, _ := s.written.Any.(map[string]any)
	out, seen := map[string]any{}, 0
	for _, f := range s.node.Fields {
		v, ok := want[f.Name]
		at := cursor{node: f.Node, t: s.t.Field(f.Name), desired: NewValue(v), written: member(written, f.Name), previous: fieldOf(s.previous, f.Name)}
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

// completed returns a value that is about to be written, together with the bounds that its rules set for
// missing fields. Without them, the next comparison would add them.
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

// fillIn adds the bounds that rules set for fields that are missing in a map.
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
