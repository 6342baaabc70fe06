package plan

import (
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/sets"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/record"
)

// originalObject returns the live object without the values of the Applications that hold fields of it: with the
// recorded original values, and without the maps and elements that were created for fields. A held field without a
// baseline was in sync when it was first held, so it has the held value. Drift is not an original value.
func (p baselinePass) originalObject(res *resource) original {
	o := original{object: observer.CopyMap(res.live), kind: res.kind, live: res.live, fieldWriters: newFieldWriters(p.in.Application, res.live)}
	recorded := record.Baseline(p.statuses[res.object.ID], res.live)
	for _, leaf := range slices.Sorted(maps.Keys(p.heldValues(res))) {
		hasBaseline := slices.ContainsFunc(recorded, func(b v1alpha1.BaselineField) bool { return observer.IsUnder(leaf, b.Path) })
		before, _ := delta.Locate(res.kind, res.previous.Desired, leaf)
		at, _ := delta.Locate(res.kind, o.object, leaf)
		isOmitted := !at.Value.Set && observer.Empty(before.Value.Any) // the API server omits such values
		if !hasBaseline && !isOmitted {
			o.put(leaf, before.Value.Any)
		}
	}
	// Copies count, too: their holder may have left the value. holderStatus trusts only Applications in the same namespace.
	others := claim.OtherHolders(p.in.Application, res.live)
	for _, name := range slices.Sorted(maps.Keys(others)) {
		recorded = append(recorded, record.Baseline(p.holderStatus(name, others[name], res.object.ID), res.live)...)
	}
	o.recorded = slices.DeleteFunc(recorded, func(b v1alpha1.BaselineField) bool { return !record.IsAsHeld(res.kind, res.live, b) })
	for _, b := range o.recorded {
		if b.Value == nil {
			o.remove(b)
		}
	}
	for _, b := range o.recorded {
		if value := record.Original(b); value.Set {
			o.put(b.Path, value.Any)
		}
	}
	compact(o.object)
	return o
}

// original is a copy of a live object in which the held fields get their original values. A removed list element is
// replaced by gone{}, so that the indexes are equal to the live ones. compact removes it in the end.
type original struct {
	object map[string]any
	kind   *kinds.Node
	live   map[string]any
	fieldWriters
	// recorded contains the baselines of the fields whose live values an Application has written.
	recorded []v1alpha1.BaselineField
}

// gone is a list element to remove.
type gone struct{}

// remove removes a field that did not exist, and the content of the maps and elements that were created for it, except
// for the values of other clients. It finds them in the live object, because the keys of an element may be removed.
func (o original) remove(b v1alpha1.BaselineField) {
	if at, _ := delta.Locate(o.kind, o.live, b.Path); at.Value.Set {
		o.replace(at.Path, gone{})
	}
	at, _ := delta.Locate(o.kind, o.live, b.From)
	if at.Value.Set && !claim.IsMetadataMap(b.From) && o.empties(at.Path, at.Path.Live(o.object)) {
		o.replace(at.Path, gone{})
	}
}

// put sets a value, with the missing maps around it.
func (o original) put(text string, value any) {
	path, _ := observer.ParsePath(text) // valid: a path of a schema, or see record.Baseline
	at, ok := delta.Locate(o.kind, o.object, text)
	for ; !ok && path.Parent() != nil && !path.IsElement(); at, ok = delta.Locate(o.kind, o.object, path.String()) {
		value, path = map[string]any{path.Name(): value}, path.Parent()
	}
	if ok {
		o.replace(at.Path, value)
	}
}

// replace sets or removes the value at a path. It does nothing for a list element that does not exist.
func (o original) replace(path *observer.Path, value any) {
	switch parent := path.Parent().Live(o.object).(type) {
	case map[string]any:
		if parent[path.Name()] = value; value == any(gone{}) {
			delete(parent, path.Name())
		}
	case []any:
		if i := path.Index(); i >= 0 && i < len(parent) {
			parent[i] = value
		}
	}
}

// empties removes the content of a value that no other client wrote, and reports whether nothing remains. Without
// managedFields, that is all of it.
func (o original) empties(path *observer.Path, value any) bool {
	switch value := value.(type) {
	case gone:
		return true
	case map[string]any:
		maps.DeleteFunc(value, func(name string, child any) bool { return o.empties(path.Field(name), child) })
		return len(value) == 0
	case []any:
		isEmpty := true
		for i, child := range value {
			if o.empties(path.Element("["+strconv.Itoa(i)+"]", i), child) {
				value[i] = gone{}
			} else {
				isEmpty = false
			}
		}
		return isEmpty
	}
	return o.foreign == nil || !o.isForeignValue(o.kind, o.live, path, value)
}

// compact removes the elements that are gone from all lists of a value.
func compact(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for name, child := range value {
			value[name] = compact(child)
		}
	case []any:
		left := slices.DeleteFunc(value, func(child any) bool { return child == any(gone{}) })
		for i := range left {
			left[i] = compact(left[i])
		}
		return left
	}
	return value
}

// field returns the baseline of a field, without its value, and the value; not set if the field did not exist. From is
// then the topmost missing map or element around it. If a value above the field has another type, the baseline is of
// that value. Held contains the known digests of the live value.
func (o original) field(text string) (b v1alpha1.BaselineField, value delta.Value) {
	b.Path = text
	at, ok := delta.Locate(o.kind, o.object, text)
	if !ok {
		path, _ := observer.ParsePath(text) // valid: it is a path of the schema
		for _, step := range path.Chain() {
			above := at.Value
			if at, ok = delta.Locate(o.kind, o.object, step.String()); !ok { // above is not a map, or not a list
				b.Path, at.Value = step.Parent().String(), above
				break
			}
			if !at.Value.Set {
				b.From = step.String()
				break
			}
		}
	}
	for _, known := range o.recorded {
		if known.Path == b.Path {
			b.Held = append(b.Held, known.Held...)
		}
	}
	return b, at.Value
}

// heldValues returns the fields that were held with a value, according to the status.
func (f *facts) heldValues(res *resource) sets.Set[string] {
	status := f.statuses[res.object.ID]
	if res.previous == nil || res.isFirstAdoption() || !record.Describes(status, res.live) || res.policy.Claims && !f.recordedPolicy(res).Claims {
		return nil
	}
	leaves, _ := res.previousLeaves()
	return sets.New(slices.DeleteFunc(slices.Clone(leaves), func(leaf string) bool {
		before, _ := delta.Locate(res.kind, res.previous.Desired, leaf)
		return !before.Value.Set || slices.ContainsFunc(status.Waits, func(other string) bool { return claim.Overlap(other, leaf) })
	})...)
}
