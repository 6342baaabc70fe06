package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/writer"
)

// Sibling is a live field next to a held field that neither the schema nor the manifest names. If an API allows
// only one of several fields, the sibling may cause the API server to reject the held field.
type Sibling struct {
	path  *observer.Path
	value any // the live value, which a patch tests before it removes the field
}

// Path returns the readable path of the field.
func (s Sibling) Path() string { return s.path.String() }

// Siblings returns the fields that may conflict with a unit, the nearest ones first. The live object must have
// its managedFields. If the change only corrects drift, Siblings returns the fields that another client wrote.
// If the desired state changes, it also returns the fields that the API server added to the controller's own
// write; for an object that was adopted, only these. For an object that is being adopted, it returns all siblings.
// None of them may be removed, but InTheWay reports them. A shared object has no siblings.
// Source: docs/semantics.md, "One of several fields".
func (p *Plan) Siblings(c Change, u Unit) []Sibling {
	res := c.resource
	switch {
	case res == nil || !res.policy.Removes:
		return nil
	case res.policy.Adopts():
		return res.freeSiblings(u)
	}
	foreign := writer.ForeignTo(p.in.Application, res.live)
	if foreign == nil {
		return nil
	}
	return slices.DeleteFunc(res.freeSiblings(u), func(s Sibling) bool {
		switch theirs := foreign(s.path); {
		case !c.Alters():
			return !theirs
		// An adopted object keeps the fields of other clients, because it may have had them before.
		case res.policy.Existed:
			return theirs
		}
		return false
	})
}

// HasSiblings reports whether the fields of a unit have any siblings, regardless of who wrote them.
func (c Change) HasSiblings(u Unit) bool {
	return c.resource != nil && c.resource.policy.Removes && len(c.resource.freeSiblings(u)) > 0
}

// Adopts reports whether the change adopts an existing object. Adoption removes no fields.
func (c Change) Adopts() bool { return c.resource != nil && c.resource.policy.Adopts() }

// InTheWay returns the text that is appended to the message of a rejected adoption. It lists the fields without
// which the API server would accept the adoption, and the remedy. It returns "" if there are no such fields.
func InTheWay(siblings []Sibling) string {
	if len(siblings) == 0 {
		return ""
	}
	var paths, items []string
	for _, s := range siblings {
		paths = append(paths, s.Path())
		items = append(items, fmt.Sprintf("{path: %q, mode: absent}", s.Path()))
	}
	return fmt.Sprintf("; the object has %s, which is not in the manifest, and which adoption does not remove: remove it, or hold %s in spec.fields",
		strings.Join(paths, ", "), strings.Join(items, ", "))
}

// freeSiblings returns the free fields in the maps from the fields of a unit up to the unit itself, the nearest ones
// first. It omits fields that spec.fields frees, because a user has decided about them, and those that other
// Applications hold.
func (res *resource) freeSiblings(u Unit) (siblings []Sibling) {
	seen := map[string]bool{}
	for _, d := range u.Fields {
		if d.LivePath() == nil {
			continue
		}
		// Top-level fields have no siblings: the root is not visited.
		for at := d.LivePath().Parent(); at != nil && observer.IsUnder(at.String(), u.Path); at = at.Parent() {
			node, _ := res.entry.At(res.kind, res.desired, at)
			live, _ := at.Live(res.live).(map[string]any)
			if node == nil || node.Shape != observer.Map {
				continue
			}
			_, written := res.entry.At(res.kind, res.object.Content, at)
			manifest, _ := written.(map[string]any)
			for _, name := range slices.Sorted(maps.Keys(live)) {
				path := at.Field(name)
				isCorrected := slices.ContainsFunc(res.change.Fields, func(d delta.Difference) bool { return observer.IsUnder(d.Path, path.String()) })
				isDecided := isCorrected || node.Field(name) != nil || res.entry.Released(path.String()) != "" || res.compared.IsClaimed(path)
				if _, wanted := manifest[name]; wanted || isDecided || seen[path.String()] {
					continue
				}
				seen[path.String()] = true
				siblings = append(siblings, Sibling{path, live[name]})
			}
		}
	}
	return siblings
}

// IsNamed reports whether the cause of an API server error names the field, or one below it.
func (s Sibling) IsNamed(cause string) bool { return isBelow(cause, causeOf(s.path)) }

// Distance returns the number of path elements between the sibling and the field that the cause of an API
// server error names. The sibling is in that field or next to it; otherwise, the distance is negative. For the cause
// spec.a, the distance of spec.b is 0, that of spec.a.b is 1, and that of spec.c.d is negative.
func (s Sibling) Distance(cause string) int {
	field := causeOf(s.path)
	if around := cause[:max(0, strings.LastIndexByte(cause, '.'))]; isBelow(field, cause) {
		return strings.Count(field[len(cause):], ".")
	} else if field[:max(0, strings.LastIndexByte(field, '.'))] == around {
		return 0
	}
	return -1
}

// PatchOf returns a patch that writes only the given units of a change, and removes the given siblings. It contains the
// guards of these fields, so that a failed guard can be distinguished from a rejection.
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

// Clear returns a RejectedLeaf with which Replan removes siblings: fields that conflict with a rejected field,
// or aliases of a written field that did not change.
func Clear(id manifest.ID, siblings []Sibling) RejectedLeaf {
	cleared := RejectedLeaf{Leaf: Leaf{ID: id}, conflicts: []string{}}
	for _, s := range siblings {
		cleared.conflicts = append(cleared.conflicts, s.path.String())
	}
	return cleared
}
