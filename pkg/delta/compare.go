package delta

import (
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/observer"
)

// Input is one resource to compare.
type Input struct {
	Entry *observer.Entry
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
	Prune    bool
	Accepted Accepted
	// HeldBack tells whether the leaf at a path must wait: it is contested, or the
	// API server has refused this change of it.
	HeldBack func(path string, reason Reason) bool
	// Foreign tells whether somebody else wrote at or below a path of the live
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
func Compare(in Input) Comparison {
	c := &comparer{in: in}
	c.out.Relied = map[string]bool{}
	root := spot{
		node: in.Entry.Root, t: in.Type,
		want: Some(in.Desired), live: Some(in.Live), written: in.Manifest, before: in.Previous,
	}
	c.compareMap(root, true)
	c.keepHidden()
	return c.out
}

type comparer struct {
	in  Input
	out Comparison
}

// spot is one place of the walk: the same path in the schema, the desired
// state, the manifest and the live object.
type spot struct {
	node    *observer.Node
	t       *kinds.Node
	path    *observer.Path
	want    Value
	live    Value
	written any  // in the manifest
	before  any  // in the previous desired state
	guards  []Op // keys of the list elements on the way
	// loose is true below a list element that only its position identifies.
	loose bool
}

func (c *comparer) compare(s spot) {
	if !s.want.Set {
		return
	}
	c.keepForm(s)
	if !s.live.Set {
		c.missing(s)
		return
	}
	switch s.node.Shape {
	case observer.Map:
		if isMap(s.want.Any) && isMap(s.live.Any) {
			c.compareMap(s, false)
			return
		}
	case observer.Sequence:
		if isList(s.want.Any) && isList(s.live.Any) {
			c.compareList(s)
			return
		}
	}
	c.changed(s)
}

func (c *comparer) compareMap(s spot, root bool) {
	want, _ := s.want.Any.(map[string]any)
	live, _ := s.live.Any.(map[string]any)
	written, _ := s.written.(map[string]any)
	before, _ := s.before.(map[string]any)
	for _, f := range s.node.Fields {
		if root && f.Name == "status" {
			continue // watched only
		}
		w, wanted := want[f.Name]
		l, exists := live[f.Name]
		c.compare(spot{
			node: f.Node, t: s.t.Field(f.Name), path: s.path.Field(f.Name),
			want: Value{wanted, w}, live: Value{exists, l}, written: written[f.Name], before: before[f.Name],
			guards: s.guards, loose: s.loose,
		})
	}
	if c.in.Prune {
		c.prune(s, before, want, live)
	}
}

// changed reports a value that differs, whole.
func (c *comparer) changed(s spot) {
	if observer.Equal(s.want.Any, s.live.Any) {
		c.inPlace(s)
		return
	}
	value, ok := observed(s)
	if l, wantsList := s.want.Any.([]any); wantsList && len(l) == 0 && s.live.Any != nil {
		ok = true // an empty list is free to be any list, and nothing else
	}
	if !ok || c.accepted(s.path, Some(value), s.live) {
		c.inPlace(s)
		return
	}
	pointer := s.path.Pointer()
	c.add(s.path, Difference{
		Reason: Changed, Desired: Some(value), Observed: s.live, was: wasOf(s),
		ops:    []Op{{Op: "replace", Path: pointer, Value: value}},
		guards: withGuard(s.guards, Op{Op: "test", Path: pointer, Value: s.live.Any}),
	})
}

// missing reports a field that is not there. What is written back is the
// observed part only: what is free beside it is the API server's to default.
func (c *comparer) missing(s spot) {
	value, ok := observed(s)
	if !ok || c.accepted(s.path, Some(value), Value{}) {
		c.inPlace(s)
		return
	}
	pointer := s.path.Pointer()
	c.add(s.path, Difference{
		Reason: Missing, Desired: Some(value), was: wasOf(s),
		ops: []Op{{Op: "add", Path: pointer, Value: value}},
		// A test for null holds where nothing is: nobody's value is overwritten.
		guards: withGuard(s.guards, Op{Op: "test", Path: pointer, Value: nil}),
		// It holds in any element that lacks the field, too.
		versioned: s.loose,
	})
}

// wasOf is the value that our previous desired state has at a place.
func wasOf(s spot) *previous {
	if s.before == nil {
		return nil
	}
	return &previous{s.path, s.before}
}

func (c *comparer) inPlace(s spot) {
	if s.node.Shape == observer.Leaf {
		c.out.Held++
	}
}

// add completes a difference and records it. It tells whether it is corrected now.
func (c *comparer) add(path *observer.Path, d Difference) bool {
	d.Path, d.place = path.String(), path
	d.HeldBack = c.in.HeldBack != nil && c.in.HeldBack(d.Path, d.Reason)
	c.out.Differences = append(c.out.Differences, d)
	return !d.HeldBack
}

// observed is the part of a desired value that the schema observes, list
// elements whole (an element is created as a resource is: free fields
// included). It is false if nothing of it is to be there.
func observed(s spot) (any, bool) {
	switch want := s.want.Any.(type) {
	case map[string]any:
		if s.node.Shape == observer.Map {
			return observedFields(s, want)
		}
	case []any:
		if s.node.Shape == observer.Sequence {
			elements := absentElements(s, want)
			return elements, len(elements) > 0
		}
	}
	return s.want.Any, true
}

// observedFields is the observed part of a map. A map of which everything is
// observed is held as being there, though it be empty or have empty lists only.
func observedFields(s spot, want map[string]any) (any, bool) {
	written, _ := s.written.(map[string]any)
	out, seen := map[string]any{}, 0
	for _, f := range s.node.Fields {
		v, ok := want[f.Name]
		if !ok {
			continue
		}
		seen++
		if kept, ok := observed(spot{node: f.Node, t: s.t.Field(f.Name), want: Some(v), written: written[f.Name]}); ok {
			out[f.Name] = kept
		}
	}
	return out, len(out) > 0 || seen == len(want)
}

func withGuard(guards []Op, more ...Op) []Op {
	return append(guards[:len(guards):len(guards)], more...)
}

func isMap(v any) bool  { _, ok := v.(map[string]any); return ok }
func isList(v any) bool { _, ok := v.([]any); return ok }
