package plan

import (
	"fmt"
	"slices"
	"strings"

	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/observer"
)

// Unit is a set of fields of an update that are corrected together or not at all.
type Unit struct {
	// Path is the path of an element, a map or a single field, or delta.Root for the top-level fields.
	Path string
	// Fields are the differences in the unit, in the order of the change.
	Fields []delta.Difference
}

// Units returns the units of an update, without deferred fields, in the order of their first fields. If the API
// server rejects one unit, it may accept the others.
// Source: docs/semantics.md, "What the API server refuses".
func (c Change) Units() []Unit {
	var units []Unit
	for _, d := range c.Fields {
		if d.HeldBack {
			continue
		}
		i := slices.IndexFunc(units, func(u Unit) bool { return u.Path == d.Unit })
		if i < 0 {
			i, units = len(units), append(units, Unit{Path: d.Unit})
		}
		units[i].Fields = append(units[i].Fields, d)
	}
	return units
}

// IsNamed reports whether the cause of an API server error names a field of the unit, a field below it, or a map
// or list around it. The API server often names only the spec, which does not identify a unit.
func (u Unit) IsNamed(cause string) bool {
	if cause == "" || cause == "spec" || cause == "metadata" || cause == "status" {
		return false
	}
	return slices.ContainsFunc(u.causes(), func(field string) bool { return isBelow(cause, field) || isBelow(field, cause) })
}

// Around returns the unit that a map belongs to, if a cause names the map and the map contains the whole unit
// u. For example, if the API server rejects a binding's roleRef, the subjects are in the unit around it.
func (u Unit) Around(causes []string) (unit string, ok bool) {
	for _, cause := range causes {
		if !u.IsNamed(cause) || strings.Contains(cause, "[") || slices.Contains(u.causes(), cause) || !isBelow(u.Path, cause) {
			continue
		}
		if i := strings.LastIndexByte(cause, '.'); i >= 0 {
			return cause[:i], true
		}
		return delta.Root, true
	}
	return "", false
}

// causes returns the fields of the unit in the form of error causes. Elements have their live index.
func (u Unit) causes() (fields []string) {
	for _, d := range u.Fields {
		if d.LivePath() != nil {
			fields = append(fields, causeOf(d.LivePath()))
		}
	}
	return fields
}

// causeOf returns a path in the form of error causes from the API server:
// spec.containers[0].env[1].value.
func causeOf(path *observer.Path) string {
	var b strings.Builder
	for _, step := range path.Chain() {
		if step.IsElement() {
			fmt.Fprintf(&b, "[%d]", step.Index())
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(step.Name())
	}
	return b.String()
}

// isBelow reports whether a field is the same as another one, or is inside it.
func isBelow(field, other string) bool {
	rest, ok := strings.CutPrefix(field, other)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
