package delta

import (
	"slices"

	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/observer"
)

// Location is the position of a path in a live object.
type Location struct {
	// Path contains the live indices of list elements.
	Path *observer.Path
	// Value is not set if the field is missing.
	Value Value

	guards    []Op // tests of the keys of the list elements in the path
	versioned bool // an element in the path has no keys
}

// Locate finds a path, in the format of Difference.Path, in a live object. It returns false if the path is
// invalid, or if a parent of the field is missing. If only the field is missing, the result has a path and no value.
// t is the type of the object, or nil.
func Locate(t *kinds.Node, live map[string]any, text string) (Location, bool) {
	typed, err := observer.ParsePath(text)
	if err != nil || typed == nil {
		return Location{}, false
	}
	at := Location{Value: NewValue(live)}
	for _, step := range typed.Chain() {
		if !step.IsElement() {
			m, isMap := at.Value.Any.(map[string]any)
			if !isMap {
				return Location{}, false
			}
			at.Path, at.Value, t = at.Path.Field(step.Name()), Member(m, step.Name()), t.Field(step.Name())
			continue
		}
		list, isList := at.Value.Any.([]any)
		if !isList {
			return Location{}, false
		}
		k, keys := step.In(t, list)
		at.Path, at.Value, t = at.Path.Element(step.Label(), k), Item(list, k), t.Elem()
		element, _ := at.Value.Any.(map[string]any)
		for _, key := range keys {
			if v, has := element[key]; has {
				at.guards = append(at.guards, Op{Op: "test", Path: at.Path.Field(key).Pointer(), Value: v})
			}
		}
		// Without keys to test, only the version proves that the index still is the element.
		at.versioned = at.versioned || len(keys) == 0
	}
	return at, true
}

// Restore returns the difference that sets a field to its original value. The map or list that contains the field
// must exist.
func (p Location) Restore(value any) Difference {
	pointer := p.Path.Pointer()
	d := Difference{
		Path: p.Path.String(), Reason: Restored, Desired: NewValue(value), Live: p.Value, livePath: p.Path,
		// A test for null would succeed in any element without the field, so the version is tested.
		ops: []Op{{Op: "add", Path: pointer, Value: value}}, guards: p.guards, versioned: true,
	}
	if p.Value.Set {
		d.ops[0].Op, d.versioned = "replace", p.versioned
		d.guards = append(slices.Clip(p.guards), Op{Op: "test", Path: pointer, Value: p.Value.Any})
	}
	return d
}

// Remove returns the difference that removes a field that did not exist before the first hold. ours lists the
// locations, at and below the field, that the Application is known to hold. The request contains no other
// values below the field, such as defaults of the API server, so that only the version proves that they are
// unchanged.
func (p Location) Remove(ours []Location) Difference {
	d := Difference{
		Path: p.Path.String(), Reason: Restored, Live: p.Value, livePath: p.Path,
		ops:        []Op{{Op: "remove", Path: p.Path.Pointer()}},
		guards:     slices.Clip(p.guards), // so that append copies
		structural: p.Path.IsElement(), versioned: p.versioned || p.Path.IsElement(),
	}
	for _, o := range ours {
		d.guards = append(d.guards, Op{Op: "test", Path: o.Path.Pointer(), Value: o.Value.Any})
		d.versioned = d.versioned || o.Path.String() != d.Path
	}
	return d
}
