package delta

import (
	"maps"
	"reflect"
	"slices"

	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/observer"
)

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

// compare compares a node that the schema names. A type in the live object other than the schema's is drift of the
// whole value.
func (c *comparer) compare(s cursor) {
	if s.node.Rule != nil && !s.inStatus {
		ruleComparer{c}.compareRule(s)
		return
	}
	if !s.desired.Set {
		c.unknown(s)
		return
	}
	// Before any return, because a form must not be lost while the live value equals the desired one.
	formFinder{c}.keepForm(s)
	if !s.live.Set {
		c.missing(s)
		return
	}
	switch s.node.Shape {
	case observer.Map:
		if isMap(s.desired.Any) && isMap(s.live.Any) {
			c.compareMap(s)
			return
		}
	case observer.Sequence:
		if isList(s.desired.Any) && isList(s.live.Any) {
			listComparer{c}.compareList(s)
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
		c.compareMap(s)
	case s.node.Shape == observer.Sequence && (isList(s.live.Any) || !s.live.Set):
		listComparer{c}.compareList(s)
	case s.node.IsPlaceholder():
		c.free(s)
	default:
		c.visitField(s, s.state(), nil)
	}
}

// compareMap compares the fields of a map: those that the schema names, in its order, and then the others. Both maps
// may be missing.
func (c *comparer) compareMap(s cursor) {
	live, _ := s.live.Any.(map[string]any)
	if c.visit != nil && len(s.node.Fields)+len(live) == 0 {
		c.visitField(s, s.state(), nil) // the map itself, because it has no fields
	}
	// One allocation for all paths of the map.
	paths := s.path.Fields(s.node.Fields)
	for i, f := range s.node.Fields {
		at := s.field(f.Name, f.Node, &paths[i])
		if s.path == nil && f.Name == "status" { // of the object itself: it is only recorded
			if c.visit == nil {
				continue
			}
			at.desired, at.written, at.inStatus = Value{}, Value{}, true
		}
		c.compare(at)
	}
	c.compareRest(s, live)
}

// compareRest compares the fields that the schema does not name. It removes the fields that a closed map does
// not allow, conflicting fields, and, with Prune, those of the previous manifest. All others are free.
func (c *comparer) compareRest(s cursor, live map[string]any) {
	want, _ := s.desired.Any.(map[string]any)
	before, _ := s.previous.(map[string]any)
	var names []string
	switch {
	// A visitor gets every field. Otherwise, only the fields that may be removed are looked at.
	case c.visit != nil:
		written, _ := s.written.Any.(map[string]any)
		names = unionOf(live, written)
	case s.node.Keys != nil, s.closed, len(c.in.Conflicting) > 0:
		names = slices.Sorted(maps.Keys(live))
	case c.in.Prune && !isSame(before, want): // the same map has lost no field
		names = slices.Sorted(maps.Keys(before))
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
	isClosed := s.node.Keys.Removes(name) || s.closed && !still && c.isAddition(at)
	switch {
	case !at.live.Set:
		c.free(at)
	// A claim protects these here, and a dropped field in remove.
	case isClosed && !c.claimed(at.path):
		ruleComparer{c}.removeAbsent(at, Unwanted)
	case slices.Contains(c.in.Conflicting, at.path.String()) && !c.claimed(at.path):
		ruleComparer{c}.removeAbsent(at, Conflicting)
	case !c.in.Prune || !was:
		c.free(at)
	case still:
		at.previous = before[name]
		remover{c}.drop(at, want[name])
	default:
		at.previous = before[name]
		remover{c}.remove(at)
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

// changed compares a value as one unit, and adds a difference if the value has drifted.
func (c *comparer) changed(s cursor) {
	// Fields of other Applications below a leaf are no drift of the leaf.
	if c.claimed(s.path) && !slices.Contains(c.in.Claimed, s.path.Pointer()) {
		s.desired.Any = c.withClaimed(s.t, s.path, s.desired.Any, s.live.Any)
	}
	if observer.Same(s.t, s.desired.Any, s.live.Any) {
		c.inPlace(s, s.state())
		return
	}
	if s.node.Quantity && observer.SameAmount(s.desired.Any, s.live.Any) {
		c.inPlace(s, StateAccepted)
		return
	}
	// From here on, the live value has another type, or the node is a leaf.
	value, ok := observed(s)
	if l, wantsList := s.desired.Any.([]any); wantsList && len(l) == 0 && s.live.Any != nil {
		ok = true // an empty list allows any list, but no other value
	}
	if !ok {
		c.inPlace(s, s.state())
		return
	}
	if (formFinder{c}).accepted(s.path, s.t, NewValue(value), s.live) || (formFinder{c}).completed(s, value) {
		c.inPlace(s, StateAccepted)
		return
	}
	if d := c.drifted(s, value); d != nil {
		c.visitField(s, s.state(), d)
	}
}

// missing adds a difference for a field that is missing. The correction writes only the observed part of the
// value, because the API server may set defaults for the free fields.
func (c *comparer) missing(s cursor) {
	value, ok := observed(s)
	switch {
	// No element must exist, but the list may be shorter than its minimum.
	case !ok && s.node.Shape == observer.Sequence:
		listComparer{c}.compareList(s)
		return
	case !ok:
		c.compareMap(s)
		return
	case formFinder{c}.accepted(s.path, s.t, NewValue(value), Value{}):
		c.inPlace(s, StateAccepted)
		return
	}
	if d := c.drifted(s, value); d != nil {
		// A visitor gets each field below the missing value, all with the same difference.
		c.absent(s, d)
	}
}

// drifted adds the difference that corrects a value, and returns it. It returns nil for a value that is equivalent to
// the desired one, if nothing is written.
func (c *comparer) drifted(s cursor, value any) *Difference {
	spelling := formFinder{c}.spelling(s, value)
	if c.in.CompareOnly && spelling == observer.Respelled {
		c.inPlace(s, StateAccepted)
		return nil
	}
	d := correction(s, value)
	d.was, d.Spelling = wasOf(s), spelling
	return c.add(s.path, d)
}

// Walk compares like Compare, and calls visit for every field: each field that Compare examines, and each
// field that is free. Compare calls Walk, so their results cannot differ. The order of the fields is not
// specified.
func Walk(in Input, visit func(Field)) Comparison {
	c := &comparer{in: in, visit: visit}
	c.ruleContext = observer.NewRuleContext(func() map[string]any { return in.Entry.Object(in.Type, in.Desired, in.Live) })
	c.out.AcceptedUsed, c.out.claimed = map[string]bool{}, in.Claimed
	c.compareMap(cursor{
		node: in.Entry.Root, t: in.Type,
		desired: NewValue(in.Desired), live: Value{in.Live != nil, in.Live}, written: NewValue(in.Manifest), previous: in.Previous,
	})
	// Both need the complete list of differences.
	formFinder{c}.keepHidden()
	c.out.holdBackRest()
	return c.out
}

// WalkFree visits every field of an object that has no observed fields. All of them are StateFree.
func WalkFree(t *kinds.Node, live map[string]any, visit func(Field)) {
	c := &comparer{visit: visit}
	c.free(cursor{t: t, live: NewValue(live)})
}
