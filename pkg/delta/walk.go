package delta

import (
	"slices"

	"holdfast.dev/holdfast/pkg/observer"
)

// absent visits the observed fields of a missing value, each with the drift that it is part of. d is nil if the value
// need not exist.
func (c *comparer) absent(s cursor, d *Difference) {
	if c.visit == nil {
		return
	}
	// A value without observed fields is visited itself, so that its drift has a field.
	defer func(before int) {
		if d != nil && s.desired.Set && c.visited == before {
			c.visitField(s, s.state(), d) // the value is empty
		}
	}(c.visited)
	switch s.node.Shape {
	// Fields that only the desired value has are free, and are not visited below a missing value.
	case observer.Map:
		if s.desired.Set && !isMap(s.desired.Any) {
			break
		}
		for _, f := range s.node.Fields {
			c.absent(s.field(f.Name, f.Node, s.path.Field(f.Name)), d)
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

// absentList visits the elements of a missing list. Only the elements that the correction writes have the drift.
func (c *comparer) absentList(s cursor, want []any, d *Difference) {
	written, _ := s.written.Any.([]any)
	pairing := s.node.List.Pair(s.t, want, nil, len(written))
	// added contains the elements that the correction writes.
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
			node: node, t: s.t.Elem(), path: s.path.Element(pairing.Label(i), -1).Desired(i), inStatus: s.inStatus,
			desired: Item(want, i), written: Item(written, i), whole: true,
		}, of)
	}
	// Elements that the schema does not name are added only to reach the minimum length.
	for i := len(s.node.List.Elements); i < len(want); i++ {
		at := cursor{path: s.path.Element(pairing.Label(i), -1).Desired(i), desired: Item(want, i), written: Item(written, i)}
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
	// Values of different types in the object and the manifest are visited as one field.
	if isMap && (wasMap || !s.written.Set) && len(live)+len(written) > 0 {
		for _, name := range unionOf(live, written) {
			c.free(s.freeField(name))
		}
		return
	}
	// A list of scalars is visited as one value.
	liveList, isList := s.live.Any.([]any)
	writtenList, wasList := s.written.Any.([]any)
	if isList && (wasList || !s.written.Set) && slices.ContainsFunc(liveList, HasChildren) {
		// The schema has no list here, so the type determines how elements are matched with the manifest's.
		list := &observer.List{}
		labels := list.Labels(s.t, liveList)
		for k, w := range list.Identities(s.t, liveList, writtenList) {
			c.free(cursor{t: s.t.Elem(), path: s.path.Element(labels[k], k), live: NewValue(liveList[k]), written: Item(writtenList, w)})
		}
		return
	}
	c.visitField(s, StateFree, nil)
}
