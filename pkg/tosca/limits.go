package tosca

import "holdfast.dev/holdfast/pkg/tosca/csar"

// limits bound the cost of a translation. Sizes are in bytes. They were measured together: to raise one, measure all
// again. A template comes from users who need not be trusted, and the controller translates the templates of all
// namespaces in one process. Exceeding Steps, Stack, Nesting, Nodes, Expanded, Objects or one of the totals ends the
// translation with LimitExceeded. A file or pattern beyond its limit is one error among others.
type limits struct {
	// Template is the maximum size of the template, and of each other YAML file. An archive has its own limit for YAML
	// files, with the same value: csar.Limits.YAML.
	Template int
	// Files, Depth and Imported limit the imports: their number, how deeply they import each other, and their total
	// size.
	Files, Depth, Imported int
	// Nesting limits the depth of maps and lists. Nodes limits the number of values in all files, and Expanded that of
	// one file with its aliases followed. Expanded is necessary in addition, because a few nested aliases multiply the
	// number of values: see guard.
	Nesting, Nodes, Expanded int
	// Steps limits the evaluation. A step is a value, or 256 bytes of text. Work that is not proportional to values is
	// converted to steps by textPerStep, comparisonsPerStep, and the constants next to the calls of spend.
	Steps int
	// Stack limits how deeply properties refer to each other.
	Stack int
	// Manifest limits the size of one spec, Manifests that of all, and Objects the number of objects. The API server
	// rejects an object of more than 1.5 MiB, and the status must have room for the record of all objects.
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
