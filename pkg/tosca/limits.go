package tosca

import "holdfast.dev/holdfast/pkg/tosca/csar"

// limits bound the cost of a translation. Sizes are in bytes. They were measured together: to raise one, measure all
// again.
type limits struct {
	// Template is the maximum size of the template, and of each other YAML file.
	Template int
	// Files, Depth and Imported limit the imports: their number, how deeply they import each other, and their total
	// size.
	Files, Depth, Imported int
	// Nesting limits the depth of maps and lists. Nodes limits the number of values in all files, and Expanded that
	// of one file with its aliases followed.
	Nesting, Nodes, Expanded int
	// Steps limits the evaluation. A step is a value, or 256 bytes of text.
	Steps int
	// Stack limits how deeply properties refer to each other.
	Stack int
	// Manifest limits the size of one spec, Manifests that of all, and Objects the number of objects.
	Manifest, Manifests, Objects int
	// Pattern is the maximum length of the pattern of a constraint.
	Pattern int

	// Archive limits an archive before any of its files is read.
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
