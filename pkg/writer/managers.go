package writer

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"holdfast.dev/holdfast/pkg/observer"
)

// entry is one decoded item of managedFields.
type entry struct {
	Writer
	// leaves contains the paths that the field manager owns and below which it owns nothing more.
	leaves *fieldpath.Set
	// keys contains the names of the keys of list elements, by the set of these elements.
	keys map[*fieldpath.Set][]string
	nth  int // index in managedFields
}

// newEntry returns the entry of a writer that owns a set of fields.
func newEntry(w Writer, owned *fieldpath.Set, nth int) entry {
	e := entry{w, owned.Leaves(), map[*fieldpath.Set][]string{}, nth}
	findKeys(e.leaves, e.keys)
	return e
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
		e := newEntry(Writer{Manager: f.Manager, Operation: f.Operation, Subresource: f.Subresource}, set, i)
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

// reachOf returns how near to a location the entry has a leaf.
func (e *entry) reachOf(steps []observer.Step) ownershipReach {
	switch leaf, parts := e.depthsOf(steps); {
	case leaf == len(steps), parts == len(steps):
		return reachSelf
	case leaf > 0:
		return reachAncestor
	}
	return reachNone
}

// depthsOf returns how many steps of a path the leaf of the entry shares that is at the path or at a parent, or 0 if there
// is none, and how many those leaves share that are below the path, or below one of its parents.
func (e *entry) depthsOf(steps []observer.Step) (leaf, parts int) {
	leaves := e.leaves
	for i, step := range steps {
		isLeaf, below := e.lookUp(leaves, step)
		if isLeaf {
			leaf = i + 1
		}
		if below == nil {
			break
		}
		leaves, parts = below, i+1
	}
	return leaf, parts
}

// lookUp reports whether a set of leaves has one at a step, and returns its leaves below it, or nil.
func (e *entry) lookUp(leaves *fieldpath.Set, step observer.Step) (isLeaf bool, below *fieldpath.Set) {
	for _, element := range e.elementsFor(leaves, step) {
		isLeaf = isLeaf || leaves.Members.Has(element)
		if below == nil {
			below, _ = leaves.Children.Get(element)
		}
	}
	return isLeaf, below
}

// elementsFor returns what a set can have for a step of a live object. managedFields identify a list element by its
// index, its value or its keys.
func (e *entry) elementsFor(leaves *fieldpath.Set, step observer.Step) []fieldpath.PathElement {
	if !step.IsElement {
		return []fieldpath.PathElement{fieldpath.FieldNameElement(step.Field)}
	}
	elements := []fieldpath.PathElement{fieldpath.IndexElement(step.Index), fieldpath.ValueElement(value.NewValueInterface(step.Element))}
	m, _ := step.Element.(map[string]any)
	var key value.FieldList
	for _, name := range e.keys[leaves] {
		v, has := m[name]
		if !has {
			return elements
		}
		key = append(key, value.Field{Name: name, Value: value.NewValueInterface(v)})
	}
	if key != nil {
		elements = append(elements, fieldpath.PathElement{Key: &key})
	}
	return elements
}

// findKeys finds the keys of the lists in a set. All elements of a list have the same.
func findKeys(leaves *fieldpath.Set, found map[*fieldpath.Set][]string) {
	add := func(e fieldpath.PathElement) {
		if e.Key == nil || found[leaves] != nil {
			return
		}
		for _, field := range *e.Key {
			found[leaves] = append(found[leaves], field.Name)
		}
	}
	leaves.Members.Iterate(add)
	leaves.Children.Iterate(func(e fieldpath.PathElement) {
		add(e)
		below, _ := leaves.Children.Get(e)
		findKeys(below, found)
	})
}
