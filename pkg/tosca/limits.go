package tosca

import (
	"reflect"

	"holdfast.dev/holdfast/pkg/tosca/csar"
)

// Limits bound what a translation may cost. Sizes are in bytes. An operator may
// lower them; raising one has no effect, since the others were measured with it.
type Limits struct {
	// Template is how large the template, and each other YAML file, may be.
	Template int
	// Files, Depth and Imported bound the imports: how many files, how deep
	// they import each other, and how large they are together.
	Files, Depth, Imported int
	// Nesting is how deep maps and lists may be nested, Nodes how many values all
	// files may have, and Expanded how many one has once its aliases are followed.
	Nesting, Nodes, Expanded int
	// Steps is how much evaluation may do: a step is a value, or 256 bytes of text.
	Steps int
	// Stack is how deep properties may refer to each other.
	Stack int
	// Manifest is how large the text of one spec may be, Manifests that of all,
	// and Objects how many objects may come of it.
	Manifest, Manifests, Objects int
	// Pattern is how long the pattern of a constraint may be.
	Pattern int

	Archive csar.Limits
}

// DefaultLimits returns the limits of docs/tosca.md.
func DefaultLimits() Limits {
	return Limits{
		Template: 512 << 10,
		Files:    32, Depth: 8, Imported: 4 << 20,
		Nesting: 64, Nodes: 50_000, Expanded: 200_000,
		Steps: 100_000, Stack: 64,
		Manifest: 1 << 20, Manifests: 4 << 20, Objects: 500,
		Pattern: 1 << 10,
		Archive: csar.DefaultLimits(),
	}
}

// lowered returns the default limits with those of l that are lower; zero is none.
func (l Limits) lowered() Limits {
	limits := DefaultLimits()
	lower(reflect.ValueOf(&limits).Elem(), reflect.ValueOf(l))
	return limits
}

func lower(limits, wanted reflect.Value) {
	for i := range limits.NumField() {
		to, from := limits.Field(i), wanted.Field(i)
		switch {
		case to.Kind() == reflect.Struct:
			lower(to, from)
		case from.Int() > 0:
			to.SetInt(min(to.Int(), from.Int()))
		}
	}
}
