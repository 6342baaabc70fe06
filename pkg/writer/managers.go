package writer

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"holdfast.dev/holdfast/pkg/observer"
)

// entry is one decoded item of managedFields.
type entry struct {
	Writer
	// leaves has the paths that the field manager owns and below which it owns nothing more.
	leaves *fieldpath.Set
	nth    int // index in managedFields
}

// managersOf decodes the managedFields of a live object. It returns none for an object from a watch that dropped them.
func managersOf(live map[string]any) []entry {
	metadata, _ := live["metadata"].(map[string]any)
	raw, err := json.Marshal(metadata["managedFields"])
	if err != nil {
		return nil
	}
	return managersIn(raw)
}

// managersIn decodes the JSON of managedFields. It skips entries that cannot be decoded.
func managersIn(raw []byte) []entry {
	var fields []metav1.ManagedFieldsEntry
	if json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	var entries []entry
	for i, f := range fields {
		// Such an entry owns nothing.
		if f.FieldsV1 == nil {
			continue
		}
		set := &fieldpath.Set{}
		if set.FromJSON(f.FieldsV1.GetRawReader()) != nil {
			continue
		}
		e := entry{Writer{Manager: f.Manager, Operation: f.Operation, Subresource: f.Subresource}, set.Leaves(), i}
		if f.Time != nil {
			e.At = f.Time.Time
		}
		entries = append(entries, e)
	}
	return entries
}

// ownershipReach is how near to a location a field manager owns something.
type ownershipReach int

const (
	reachNone ownershipReach = iota
	// reachAncestor: it owns a parent as one value, such as an atomic list or map.
	reachAncestor
	// reachSelf: it owns the location itself, or something below it.
	reachSelf
)

// reachOf returns how near to a location a set has a leaf.
func reachOf(leaves *fieldpath.Set, steps []observer.Step) ownershipReach {
	switch depthOf(leaves, steps) {
	case 0:
		return reachNone
	case len(steps):
		return reachSelf
	}
	return reachAncestor
}

// depthOf returns how many steps of a path the nearest leaf of a set shares: all of them for a leaf at or below it, 0 for
// none on its way.
func depthOf(leaves *fieldpath.Set, steps []observer.Step) (depth int) {
	for i, step := range steps {
		isLeaf, below := lookUp(leaves, step)
		switch {
		case (isLeaf || below != nil) && i == len(steps)-1:
			return len(steps)
		case isLeaf:
			depth = i + 1
		}
		if below == nil {
			break
		}
		leaves = below
	}
	return depth
}

// lookUp reports whether a set of leaves has one at a step, and returns its leaves below it, or nil. It cannot look up
// list elements, because managedFields and the steps identify them in different ways.
func lookUp(leaves *fieldpath.Set, step observer.Step) (isLeaf bool, below *fieldpath.Set) {
	if !step.IsElement {
		name := fieldpath.FieldNameElement(step.Field)
		below, _ = leaves.Children.Get(name)
		return leaves.Members.Has(name), below
	}
	leaves.Members.Iterate(func(e fieldpath.PathElement) { isLeaf = isLeaf || sameStep(e, step) })
	leaves.Children.Iterate(func(e fieldpath.PathElement) {
		if below == nil && sameStep(e, step) {
			below, _ = leaves.Children.Get(e)
		}
	})
	return isLeaf, below
}

// sameStep reports whether a path element of managedFields and a step of a live object are the same. An element of a
// list with keys is the same if it has the values of all keys.
func sameStep(e fieldpath.PathElement, s observer.Step) bool {
	switch {
	case e.FieldName != nil:
		return !s.IsElement && *e.FieldName == s.Field
	case e.Index != nil:
		return s.IsElement && *e.Index == s.Index
	// An element of a set.
	case e.Value != nil:
		return s.IsElement && observer.Equal((*e.Value).Unstructured(), s.Element)
	case e.Key != nil:
		m, ok := s.Element.(map[string]any)
		for _, field := range *e.Key {
			v, has := m[field.Name]
			ok = ok && has && observer.Equal(v, field.Value.Unstructured())
		}
		return ok
	}
	return false
}
