package tosca

// The limits bound the cost of a translation. Sizes are in bytes. They were measured together: to raise one, measure
// all again. A template comes from users who need not be trusted, and the controller translates the templates of all
// namespaces in one process. Exceeding maxSteps, maxStack, maxNesting, maxNodes, maxExpanded, maxObjects or one of the
// totals ends the translation with LimitExceeded. A file or pattern beyond its limit is one error among others.
// docs/tosca.md lists them. csar.DefaultLimits has those of an archive.
const (
	// maxTemplate is the maximum size of the template, and of each other YAML file. An archive has its own limit for
	// YAML files, with the same value: csar.Limits.YAML.
	maxTemplate = 512 << 10
	// maxFiles, maxDepth and maxImported limit the imports: their number, how deeply they import each other, and their
	// total size.
	maxFiles, maxDepth, maxImported = 32, 8, 4 << 20
	// maxNesting limits the depth of maps and lists. maxNodes limits the number of values in all files, and maxExpanded
	// that of one file with its aliases followed. maxExpanded is necessary in addition, because a few nested aliases
	// multiply the number of values: see guard.
	maxNesting, maxNodes, maxExpanded = 64, 50_000, 200_000
	// maxSteps limits the evaluation. A step is a value, or 256 bytes of text. Work that is not proportional to values is
	// converted to steps by textPerStep, comparisonsPerStep, and the constants next to the calls of spend.
	maxSteps = 100_000
	// maxStack limits how deeply properties refer to each other.
	maxStack = 64
	// maxManifest limits the size of one spec, maxManifests that of all, and maxObjects the number of objects. The API
	// server rejects an object of more than 1.5 MiB, and the status must have room for the record of all objects.
	maxManifest, maxManifests, maxObjects = 1 << 20, 4 << 20, 500
	// maxPattern is the maximum length of the pattern of a constraint.
	maxPattern = 1 << 10
)
