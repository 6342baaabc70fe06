package delta

import (
	"maps"
	"slices"

	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/observer"
)

// Input is one resource to compare.
type Input struct {
	// Entry is the schema of the resource. It is not changed.
	Entry *observer.Schema
	// Type is the typed schema of the kind; nil if it is unknown.
	Type *kinds.Node
	// Desired is the desired state. Manifest is the part of it that the manifest and hooks set, without
	// learned values.
	Desired, Manifest map[string]any
	// Live is the live object. It is never changed.
	Live map[string]any
	// Previous is the last-applied state, or nil.
	Previous map[string]any
	// Prune removes fields that are in Previous and not in Desired. It is true if both states have default
	// schemas, because the Application then wrote all of Previous.
	Prune bool
	// Dropped reports whether the previous schema held an element of Previous. It is nil unless the manifest's
	// elements leave open lists although Prune is false: the schema also holds fields that the manifest does not
	// set.
	Dropped func(path *observer.Path) bool
	// Additions lists the paths of the elements that the previous comparison reported as additions. They are never
	// taken for elements of the manifest.
	Additions []string
	// Shared is true for a shared object. Its list elements are matched only by their keys, or by the
	// accepted form of the keys, so that no element of another client is taken for a desired element.
	Shared bool
	// Accepted contains the recorded accepted forms. Those that still apply are in Comparison.AcceptedUsed.
	Accepted Accepted
	// Begins reports whether a live list is the accepted form of a desired list that the Application begins to hold
	// as one value. It is false for every other list, because the accepted form of that list is known.
	Begins func(path *observer.Path, live, want any) bool
	// Normal returns the desired state in the normalized form of the API server, or nil if that form is
	// unknown. If the function is nil, values are not checked for equivalence.
	Normal func() map[string]any
	// CompareOnly is true if nothing is written. A value that is equivalent to the desired value is then in
	// sync.
	CompareOnly bool
	Limits
}

// Limits are what restricts the corrections of an object.
type Limits struct {
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
	// Owners has the owners of the live fields. If it is nil, every value of unknown origin is assumed to be another
	// client's, and every value of Previous to be the Application's, unless the object Existed.
	Owners Owners
	// Existed is true for an object that the Application did not create.
	Existed bool
}

// Owners knows from managedFields who owns the fields of a live object: see package writer.
type Owners interface {
	IsForeign(path *observer.Path) bool
	IsApplied(path *observer.Path) bool
	IsOwned(path *observer.Path, unchanged, existed bool) bool
}

// comparer walks the schema, the desired state and the live object together.
type comparer struct {
	in      Input
	visit   func(Field) // nil for Compare
	visited int         // number of visited fields
	// ruleContext contains the object for rules in CEL, and limits their cost. It is computed when a rule needs it.
	ruleContext *observer.RuleContext
	out         Comparison // the result so far
}

// The parts of the walk. Each groups the methods for one kind of node or decision.
type (
	listComparer   struct{ *comparer } // a list
	elementMatcher struct{ *comparer } // which live element a desired element is
	lengthControl  struct{ *comparer } // how many elements a list may have
	ruleComparer   struct{ *comparer } // a field with a rule
	remover        struct{ *comparer } // what the manifest no longer has
	formFinder     struct{ *comparer } // which live values are the accepted form of a desired value
)

// cursor is one position of the walk: the same path in the schema, the desired state, the manifest and the
// live object.
type cursor struct {
	// node is nil for a field that the schema does not name.
	node *observer.Node
	// t is the type of the value; nil if it is unknown.
	t        *kinds.Node
	path     *observer.Path
	desired  Value
	live     Value
	written  Value     // in the manifest
	previous any       // in the previous desired state
	keyTests []keyTest // of the list elements in the path
	inStatus bool      // below status
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
	// StateReported: the field is recorded or report-only, and never corrected.
	StateReported State = "reported"
	// StateFree: the field is not observed.
	StateFree State = "free"
	// StateAllowed: a rule limits the allowed values, and any of them is kept.
	StateAllowed State = "allowed"
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

// visitField calls the visitor, if there is one, with the field at a position. The root has no field.
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
	case s.inStatus:
		return StateReported
	case s.node.Rule != nil:
		return ruleStates[s.node.Rule.Mode]
	case s.node.Keys != nil && !s.written.Set:
		return StateAbsent
	case !s.written.Set:
		return StateLearned
	default:
		return StateHeld
	}
}

// add completes a difference and records it.
func (c *comparer) add(path *observer.Path, d Difference) *Difference {
	d.Path, d.livePath, d.Unit = path.String(), path, unitOf(c.in.Type, path)
	// Last, because the decision may depend on the path and the unit.
	d.HeldBack = c.in.HeldBack != nil && c.in.HeldBack(d)
	c.out.Differences = append(c.out.Differences, d)
	return &d
}

// correction returns the difference that replaces the live value, or adds the value if it is missing.
func correction(s cursor, value any) Difference {
	pointer := s.path.Pointer()
	d := Difference{
		Reason: Changed, Desired: NewValue(value), Live: s.live,
		ops: []Op{{Op: "replace", Path: pointer, Value: value}},
		// A test for null succeeds only while the field is missing, so that no value of another client is
		// overwritten.
		guards: s.guards(Op{Op: "test", Path: pointer, Value: s.live.Any}), versioned: s.exact,
	}
	if !s.live.Set {
		// The test for null also succeeds in every other element that lacks the field.
		d.Reason, d.ops[0].Op, d.versioned = Missing, "add", s.loose || s.exact
	}
	return d
}

// removal returns the difference that removes the live value.
func removal(s cursor, why Reason) Difference {
	pointer := s.path.Pointer()
	return Difference{
		Reason: why, Live: s.live,
		ops:    []Op{{Op: "remove", Path: pointer}},
		guards: s.guards(Op{Op: "test", Path: pointer, Value: s.live.Any}), versioned: s.exact,
	}
}

// wasOf returns the value of the previous desired state at the same path, or nil.
func wasOf(s cursor) *previous {
	if s.previous == nil {
		return nil
	}
	return &previous{s.path, s.previous}
}

// inPlace counts a leaf that is in sync, and visits it. Maps and lists are visited, and counted by their leaves.
func (c *comparer) inPlace(s cursor, state State) {
	if s.node.Shape == observer.Leaf {
		c.out.Held++
	}
	c.visitField(s, state, nil)
}

// keyTest is the test of one key of a list element. Its JSON pointer is only made for elements that have drifted.
type keyTest struct {
	element *observer.Path
	key     string
	value   any // in the live object
}

// guards returns the tests of the keys of the list elements in the path, and then more tests.
func (s cursor) guards(more ...Op) []Op {
	guards := make([]Op, 0, len(s.keyTests)+len(more))
	for _, t := range s.keyTests {
		guards = append(guards, Op{Op: "test", Path: t.element.Field(t.key).Pointer(), Value: t.value})
	}
	return append(guards, more...)
}

func isMap(v any) bool { _, ok := v.(map[string]any); return ok }

func isList(v any) bool { _, ok := v.([]any); return ok }

// HasChildren reports whether a value is a map or a list that is not empty.
func HasChildren(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) > 0
	case []any:
		return len(v) > 0
	}
	return false
}

// unionOf returns the keys of two maps, sorted.
func unionOf(a, b map[string]any) []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(names)
	return slices.Compact(names)
}

// Member returns the value of a member of a map, which can be nil. The value is not set if there is no such member.
func Member(m map[string]any, name string) Value {
	v, has := m[name]
	return Value{has, v}
}

// Item returns an element of a list. The value is not set if the index is out of range, such as -1.
func Item(l []any, i int) Value {
	if i < 0 || i >= len(l) {
		return Value{}
	}
	return NewValue(l[i])
}

// fieldOf returns a field of a value, or nil if the value is not a map.
func fieldOf(v any, name string) any {
	m, _ := v.(map[string]any)
	return m[name]
}

// ruleStates lists the states of leaves that have a rule and have not drifted, by the mode of the rule. Rules without
// a mode allow several values.
var ruleStates = map[observer.Mode]State{
	"": StateAllowed, observer.ModePush: StatePushed, observer.ModeReport: StateReported, observer.ModeAbsent: StateAbsent,
}

// restored reports whether a missing leaf gets its desired value. Some rules never write it, or only once.
func (s cursor) restored() bool {
	if s.node == nil || s.node.Rule == nil {
		return true
	}
	switch s.node.Rule.Mode {
	case observer.ModeReport, observer.ModeAbsent:
		return false
	case observer.ModePush:
		// The last-applied state contains the value that was written last.
		return s.desired.Set && (s.previous == nil || !observer.Same(s.t, s.desired.Any, s.previous))
	}
	return true
}

// field returns the cursor of a field that the schema of the map names.
func (s cursor) field(name string, node *observer.Node, path *observer.Path) cursor {
	at := s
	at.node, at.t, at.path, at.orphan = node, s.t.Field(name), path, !isMap(s.live.Any)
	at.desired, at.live, at.written, at.previous = s.desired.Field(name), s.live.Field(name), s.written.Field(name), fieldOf(s.previous, name)
	return at
}

// freeField returns the cursor of a field that the schema of the map does not name.
func (s cursor) freeField(name string) cursor {
	return cursor{
		t: s.t.Field(name), path: s.path.Field(name), live: s.live.Field(name), written: s.written.Field(name),
		keyTests: s.keyTests, exact: s.exact,
	}
}
