package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// Sibling is a field beside a held one that neither the schema nor the manifest names: where
// an API allows one of several fields, it may be why the API server refuses ours.
type Sibling struct {
	path  *observer.Path
	value any
}

// Path returns the path of the field, as people read it.
func (s Sibling) Path() string { return s.path.String() }

// Siblings returns the fields that may be in the way of a unit, the nearest ones first. The
// live object must have its managedFields. If only drift is corrected, they are those that
// another client wrote; if the intent changes, also those that the API server added to our own
// write. Of an object that is about to be adopted, they are all: none of them may go, but see
// InTheWay. Of a shared object, there are none.
// Source: docs/semantics.md, "One of several fields".
func (p *Plan) Siblings(c Change, u Unit) []Sibling {
	res := c.resource
	switch {
	case res == nil || !res.policy.removes:
		return nil
	case res.policy.adopts():
		return res.beside(u)
	}
	foreign := foreignTo(p.in.Application, res.live)
	if foreign == nil {
		return nil
	}
	return slices.DeleteFunc(res.beside(u), func(s Sibling) bool {
		switch theirs := foreign(s.path); {
		case !c.Alters():
			return !theirs
		case res.policy.existed:
			return theirs
		}
		return false
	})
}

// HasSiblings reports whether anything at all is beside the fields of a unit.
func (c Change) HasSiblings(u Unit) bool {
	return c.resource != nil && c.resource.policy.removes && len(c.resource.beside(u)) > 0
}

// Adopts reports whether the change takes over an object that was there before: nothing of it
// is removed.
func (c Change) Adopts() bool { return c.resource != nil && c.resource.policy.adopts() }

// InTheWay returns what a message says about the fields without which the API server would
// take a refused adoption. It is empty if there are none.
func InTheWay(siblings []Sibling) string {
	if len(siblings) == 0 {
		return ""
	}
	var paths, items []string
	for _, s := range siblings {
		paths = append(paths, s.Path())
		items = append(items, fmt.Sprintf("{path: %q, mode: absent}", s.Path()))
	}
	return fmt.Sprintf("; the object has %s, which the manifest does not name and adoption does not remove: remove it yourself, or hold %s in spec.fields",
		strings.Join(paths, ", "), strings.Join(items, ", "))
}

// beside returns the free fields on the way from the fields of a unit up to it.
func (res *resource) beside(u Unit) (siblings []Sibling) {
	seen := map[string]bool{}
	for _, d := range u.Fields {
		if d.LivePath() == nil {
			continue
		}
		for at := d.LivePath().Parent(); at != nil && observer.IsUnder(at.String(), u.Path); at = at.Parent() {
			node, _ := res.entry.At(res.kind, res.desired, at)
			live, _ := valueAt(res.live, at).(map[string]any)
			if node == nil || node.Shape != observer.Map {
				continue
			}
			_, written := res.entry.At(res.kind, res.object.Content, at)
			manifest, _ := written.(map[string]any)
			for _, name := range slices.Sorted(maps.Keys(live)) {
				path := at.Field(name)
				isCorrected := slices.ContainsFunc(res.change.Fields, func(d delta.Difference) bool { return observer.IsUnder(d.Path, path.String()) })
				if _, wanted := manifest[name]; wanted || isCorrected || node.Field(name) != nil || seen[path.String()] || res.entry.Released(path.String()) != "" {
					continue
				}
				seen[path.String()] = true
				siblings = append(siblings, Sibling{path, live[name]})
			}
		}
	}
	return siblings
}

// valueAt returns what a live object has at a path, or nil.
func valueAt(live any, path *observer.Path) any {
	for _, step := range path.Chain() {
		switch at := live.(type) {
		case map[string]any:
			live = at[step.Name()]
		case []any:
			if step.Index() < 0 || step.Index() >= len(at) {
				return nil
			}
			live = at[step.Index()]
		default:
			return nil
		}
	}
	return live
}

// IsNamed reports whether the API server means the field, or one below it.
func (s Sibling) IsNamed(cause string) bool { return isBelow(cause, causeOf(s.path)) }

// Distance returns how many steps a field is away from the one that the API server means: it
// lies in it, or beside it. It is negative if it does neither.
func (s Sibling) Distance(cause string) int {
	field := causeOf(s.path)
	if around := cause[:max(0, strings.LastIndexByte(cause, '.'))]; isBelow(field, cause) {
		return strings.Count(field[len(cause):], ".")
	} else if field[:max(0, strings.LastIndexByte(field, '.'))] == around {
		return 0
	}
	return -1
}

// PatchOf returns the patch that writes only some of the differences of a change, and removes
// fields beside them.
func (c Change) PatchOf(units []Unit, siblings []Sibling) []delta.Op {
	var some delta.Comparison
	for _, u := range units {
		some.Differences = append(some.Differences, u.Fields...)
	}
	for _, s := range siblings {
		some.Differences = append(some.Differences, delta.Remove(s.path, s.value))
	}
	guards, ops := some.Patch(c.UID, c.ResourceVersion)
	return slices.Concat(guards, ops)
}

// Clear removes fields beside those that the API server refuses.
func (p *Plan) Clear(id manifest.ID, siblings []Sibling) RejectedLeaf {
	cleared := RejectedLeaf{Leaf: Leaf{ID: id}, conflicts: []string{}}
	for _, s := range siblings {
		cleared.conflicts = append(cleared.conflicts, s.path.String())
	}
	return cleared
}
