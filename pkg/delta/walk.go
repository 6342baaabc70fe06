package delta

import (
	"maps"
	"slices"

	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/observer"
)

// State says what a field is.
// Source: docs/semantics.md, "Words".
type State string

const (
	// StateHeld: the manifest sets it, and drift is corrected.
	StateHeld State = "held"
	// StateLearned: observed, and not in the manifest.
	StateLearned State = "learned"
	// StateAccepted: held in the form that the API server made of it.
	StateAccepted State = "accepted"
	// StateWatched: recorded, and never compared or written.
	StateWatched State = "watched"
	// StateFree: not observed.
	StateFree State = "free"
	// StateAllowed: a rule says which values it may have, and any of them is left.
	StateAllowed State = "allowed"
	// StateSeeded: written when the object was created, and never again.
	StateSeeded State = "seeded"
	// StatePushed: written when the manifest's value changes.
	StatePushed State = "pushed"
	// StateAbsent: it is not to be there, and is not.
	StateAbsent State = "absent"
	// StateRemoved: it is to be removed, since the manifest has it no longer or a list is
	// longer than the schema allows.
	StateRemoved State = "removed"
)

// Field is one field that a walk has come to: a leaf of the schema, or a value that is
// free down to its single values.
type Field struct {
	Path  *observer.Path
	State State
	// Desired is the desired value of an observed field, Live the live one, Manifest what
	// the manifest has there.
	Desired, Live, Manifest Value
	// Difference is the drift of the field, or of what it lies in, with the operations
	// that correct it; nil if it is in place.
	Difference *Difference
	// Rule is that of the leaf; nil if it has none.
	Rule *observer.Rule
}

// Walk is Compare, and calls visit for every field: every one that Compare looks at, and
// those that are free. What Compare says and what visit is told cannot differ. Fields come
// in no particular order.
func Walk(in Input, visit func(Field)) Comparison {
	c := &comparer{in: in, visit: visit}
	c.ruleContext = observer.NewRuleContext(func() map[string]any { return in.Entry.Object(in.Type, in.Desired, in.Live) })
	c.out.AcceptedUsed = map[string]bool{}
	c.compareMap(cursor{
		node: in.Entry.Root, t: in.Type,
		desired: Some(in.Desired), live: Value{in.Live != nil, in.Live}, written: Some(in.Manifest), previous: in.Previous,
	}, true)
	c.keepHidden()
	c.out.holdBackRest()
	return c.out
}

// WalkFree visits every field of an object of which nothing is observed.
func WalkFree(t *kinds.Node, live map[string]any, visit func(Field)) {
	c := &comparer{visit: visit}
	c.free(cursor{t: t, live: Some(live)})
}

// visitField visits a field.
func (c *comparer) visitField(s cursor, state State, d *Difference) {
	if c.visit == nil || s.path == nil {
		return
	}
	c.visited++
	f := Field{Path: s.path, State: state, Live: s.live, Manifest: s.written, Difference: d}
	if state != StateFree {
		f.Desired = s.desired
	}
	if s.node != nil {
		f.Rule = s.node.Rule
	}
	c.visit(f)
}

// state is that of an observed leaf.
func (s cursor) state() State {
	switch {
	case s.watched:
		return StateWatched
	case s.node.Rule != nil:
		return stateOf(s.node.Rule)
	case s.node.Keys != nil && !s.written.Set:
		return StateAbsent
	case !s.written.Set:
		return StateLearned
	default:
		return StateHeld
	}
}

// absent tells of what the schema observes of a value that is not there, each leaf with
// the drift that it is part of.
func (c *comparer) absent(s cursor, d *Difference) {
	if c.visit == nil {
		return
	}
	defer func(before int) {
		if d != nil && s.desired.Set && c.visited == before {
			c.visitField(s, s.state(), d) // nothing is in it
		}
	}(c.visited)
	switch s.node.Shape {
	case observer.Map:
		want, isMap := s.desired.Any.(map[string]any)
		if s.desired.Set && !isMap {
			break
		}
		written, _ := s.written.Any.(map[string]any)
		for _, f := range s.node.Fields {
			c.absent(cursor{
				node: f.Node, t: s.t.Field(f.Name), path: s.path.Field(f.Name), watched: s.watched,
				desired: member(want, f.Name), written: member(written, f.Name), previous: fieldOf(s.previous, f.Name), whole: s.whole,
			}, d)
		}
		return
	case observer.Sequence:
		want, isList := s.desired.Any.([]any)
		if s.desired.Set && !isList {
			break
		}
		c.absentList(s, want, d)
		return
	}
	if !s.desired.Set || !s.whole && !s.restored() {
		d = nil
	}
	c.visitField(s, s.state(), d)
}

func (c *comparer) absentList(s cursor, want []any, d *Difference) {
	written, _ := s.written.Any.([]any)
	pairing := s.node.List.Pair(s.t, want, nil, len(written))
	added := map[int]bool{}
	if d != nil {
		added = absentElements(s, want)
	}
	for i, node := range s.node.List.Elements {
		of := d
		if !added[i] {
			of = nil
		}
		c.absent(cursor{
			node: node, t: s.t.Elem(), path: s.path.Element(pairing.Label(i), -1).Desired(i), watched: s.watched,
			desired: item(want, i), written: item(written, i), whole: true,
		}, of)
	}
	for i := len(s.node.List.Elements); i < len(want); i++ {
		at := cursor{path: s.path.Element(pairing.Label(i), -1).Desired(i), desired: item(want, i), written: item(written, i)}
		if added[i] {
			c.visitField(at, StateHeld, d)
		} else {
			c.visitField(at, StateFree, nil)
		}
	}
}

// free tells of what nobody observes, down to its single values.
func (c *comparer) free(s cursor) {
	if c.visit == nil || !s.live.Set && !s.written.Set {
		return
	}
	live, isMap := s.live.Any.(map[string]any)
	written, wasMap := s.written.Any.(map[string]any)
	if isMap && (wasMap || !s.written.Set) && len(live)+len(written) > 0 {
		for _, name := range unionOf(live, written) {
			c.free(s.freeField(name))
		}
		return
	}
	liveList, isList := s.live.Any.([]any)
	writtenList, wasList := s.written.Any.([]any)
	if isList && (wasList || !s.written.Set) && slices.ContainsFunc(liveList, hasChildren) {
		list := &observer.List{}
		labels := list.Labels(s.t, liveList)
		for k, w := range list.Identities(s.t, liveList, writtenList) {
			c.free(cursor{t: s.t.Elem(), path: s.path.Element(labels[k], k), live: Some(liveList[k]), written: item(writtenList, w)})
		}
		return
	}
	c.visitField(s, StateFree, nil)
}

// freeField is a field of a map of which nothing is observed there.
func (s cursor) freeField(name string) cursor {
	live, _ := s.live.Any.(map[string]any)
	written, _ := s.written.Any.(map[string]any)
	return cursor{t: s.t.Field(name), path: s.path.Field(name), live: member(live, name), written: member(written, name)}
}

// hasChildren reports whether anything is below a value.
func hasChildren(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) > 0
	case []any:
		return len(v) > 0
	}
	return false
}

func unionOf(a, b map[string]any) []string {
	names := slices.Collect(maps.Keys(a))
	for name := range b {
		if _, both := a[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func member(m map[string]any, name string) Value {
	v, has := m[name]
	return Value{has, v}
}

func item(l []any, i int) Value {
	if i < 0 || i >= len(l) {
		return Value{}
	}
	return Some(l[i])
}
