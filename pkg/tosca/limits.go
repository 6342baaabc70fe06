package tosca

import "holdfast.dev/holdfast/pkg/tosca/csar"

// limits bound what a translation may cost. Sizes are in bytes. They were measured
// together: to raise one, measure all again.
type limits struct {
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

// defaultLimits returns the limits of docs/tosca.md.
func defaultLimits() limits {
	return limits{
		Template: 512 << 10,
		Files:    32, Depth: 8, Imported: 4 << 20,
		Nesting: 64, Nodes: 50_000, Expanded: 200_000,
		Steps: 100_000, Stack: 64,
		Manifest: 1 << 20, Manifests: 4 << 20, Objects: 500,
		Pattern: 1 << 10,
		Archive: csar.DefaultLimits(),
	}
}
