package delta

import (
	"maps"
	"slices"

	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/observer"
)

// State is the state of a field.
// Source: docs/semantics.md, "Words".
type State string

const (
	// StateHeld: the manifest sets the field, and drift is corrected.
	StateHeld State = "held"
	// StateLearned: the field is observed, and not set in the manifest.
	StateLearned State = "learned"
	// StateAccepted: the field is held in its accepted form.
	StateAccepted State = "accepted"
	// StateWatched: the field is recorded or report-only, and never corrected.
	StateWatched State = "watched"
	// StateFree: the field is not observed.
	StateFree State = "free"
	// StateAllowed: a rule limits the allowed values, and any of them is kept.
	StateAllowed State = "allowed"
	// StateSeeded: the field is written when the object is created, and never again.
	StateSeeded State = "seeded"
	// StatePushed: the field is written when the manifest's value changes.
	StatePushed State = "pushed"
	// StateAbsent: the field must be missing, and is missing.
	StateAbsent State = "absent"
	// StateRemoved: the field is removed, because the manifest no longer has it, the schema does not allow
	// it, or its list is too long.
	StateRemoved State = "removed"
)

// Field is one field that a walk visits: a leaf of the schema, or a single value that is free.
type Field struct {
	Path  *observer.Path
	State State
	// Desired is the desired value of an observed field, Live the live value, and Manifest the value in the
	// manifest.
	Desired, Live, Manifest Value
	// Difference is the drift of the field, or of a value that contains it, with the operations that correct
	// it. It is nil if the field is in sync.
	Difference *Difference
	// Rule is the rule of the leaf; nil if it has none.
	Rule *observer.Rule
}

// Walk compares like Compare, and calls visit for every field: each field that Compare examines, and each
// field that is free. Compare calls Walk, so their results cannot differ. The order of the fields is not
// specified.
func Walk(in Input, visit func(Field)) Comparison {
	c := &comparer{in: in, visit: visit}
	c.ruleContext = observer.NewRuleContext(func() map[string]any { return in.Entry.Object(in.Type, in.Desired, in.Live) })
	c.out.AcceptedUsed = map[string]bool{}
	c.compareMap(cursor{
		node: in.Entry.Root, t: in.Type,
		desired: NewValue(in.Desired), live: Value{in.Live != nil, in.Live}, written: NewValue(in.Manifest), previous: in.Previous,
	}, true)
	c.keepHidden()
	c.out.holdBackRest()
	return c.out
}

// WalkFree visits every field of an object that has no observed fields.
func WalkFree(t *kinds.Node, live map[string]any, visit func(Field)) {
	c := &comparer{visit: visit}
	c.free(cursor{t: t, live: NewValue(live)})
}

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

// state returns the state of an observed leaf.
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

// absent visits the observed fields of a missing value, each with the drift that it is part of.
func (c *comparer) absent(s cursor, d *Difference) {
	if c.visit == nil {
		return
	}
	defer func(before int) {
		if d != nil && s.desired.Set && c.visited == before {
			c.visitField(s, s.state(), d) // the value is empty
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

// free visits the single values of a field that is not observed.
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
			c.free(cursor{t: s.t.Elem(), path: s.path.Element(labels[k], k), live: NewValue(liveList[k]), written: item(writtenList, w)})
		}
		return
	}
	c.visitField(s, StateFree, nil)
}

// freeField returns the cursor of a field that the schema of the map does not name.
func (s cursor) freeField(name string) cursor {
	live, _ := s.live.Any.(map[string]any)
	written, _ := s.written.Any.(map[string]any)
	return cursor{t: s.t.Field(name), path: s.path.Field(name), live: member(live, name), written: member(written, name)}
}

// hasChildren reports whether a value is a map or a list that is not empty.
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
	return NewValue(l[i])
}
