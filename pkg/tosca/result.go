package tosca

// Result is the result of a translation. After an error, only Warnings and Steps are set. Callers must not write a part
// of the manifests: a missing one looks like one that the user removed, and its object would be deleted.
type Result struct {
	// Objects are the manifests. A node's manifests follow those of the nodes that it requires. They consist of
	// map[string]any, []any, string, int64, float64, bool and nil, as manifest.Read returns them; nulls are kept. They
	// share nothing with each other. The controller normalizes them as it does spec.manifest, with manifest.Normalize.
	// They are not validated further than apiVersion, kind and a name.
	Objects []map[string]any
	// Texts are the evaluated specs, with Options.Raw.
	Texts []Text
	// Outputs of the template, in its order.
	Outputs []Output
	// Warnings are in the order of files and lines.
	Warnings []Warning
	// Metadata is the metadata of the template, if it is a map.
	Metadata map[string]any
	// Digest covers the source and every file that was read for it: "sha256:" and hexadecimal digits. The controller
	// compares it to find out whether a source has changed. It does not cover the values of inputs: package source adds
	// them, without secret ones.
	Digest string
	// Steps is the cost of the evaluation, as maxSteps counts it.
	Steps int
}

// Text is the evaluated spec of one node, before it is read as YAML.
type Text struct {
	Node string
	// Line is the line of the spec in the template.
	Line int
	// It can be a stream of several documents. For a spec that is a map or list, it is the YAML of the evaluated value.
	Text string
}

// Output is one output of the template. Name and Description are from the template. Package source publishes the
// Available ones in status.outputs.
type Output struct {
	Name, Description string
	// Value is nil unless the output is Available.
	Value any
	State OutputState
}

// OutputState describes whether an output has a value.
type OutputState string

// The states of outputs.
const (
	Available OutputState = "Available"
	// Unavailable: the value needs a running deployment.
	Unavailable OutputState = "Unavailable"
	// Hidden: the value depends on a sensitive input.
	Hidden OutputState = "Hidden"
)
