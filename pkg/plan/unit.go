package plan

import (
	"fmt"
	"slices"
	"strings"

	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/observer"
)

// Unit is what of an update is corrected together, or not at all.
type Unit struct {
	Path   string
	Fields []delta.Difference
}

// Units returns the parts of an update: an API server that refuses one of them may take the
// others.
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

// IsNamed reports whether the API server means a field of the unit, one below it, or the map
// or list around it. It often names no more than the spec, which says nothing.
func (u Unit) IsNamed(cause string) bool {
	if cause == "" || cause == "spec" || cause == "metadata" || cause == "status" {
		return false
	}
	return slices.ContainsFunc(u.causes(), func(field string) bool { return isBelow(cause, field) || isBelow(field, cause) })
}

// Around returns the unit of the map that has what the API server means, where that is more
// than the unit: one field of a binding's roleRef is not worth more than its subjects.
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

func (u Unit) causes() (fields []string) {
	for _, d := range u.Fields {
		if d.LivePath() != nil {
			fields = append(fields, causeOf(d.LivePath()))
		}
	}
	return fields
}

// causeOf returns a path as API servers write it in the causes of an error:
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

// isBelow reports whether a field is another one, or lies in it.
func isBelow(field, other string) bool {
	rest, ok := strings.CutPrefix(field, other)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
