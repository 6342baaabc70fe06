package tosca

import (
	"context"
	"encoding/hex"
)

// Translate translates a template or archive to manifests. It depends only on its arguments, and on the
// files that options.Resolver returns.
//
// The error joins one *Error for each error of one stage (reading files, checking definitions, evaluating), sorted by
// position. The Result then contains only warnings. If ctx ends, the error is its cause. It never panics: a bug becomes
// an error with the code Internal. It can be called concurrently. A call allocates up to 100 MiB, so callers limit how
// many run at the same time.
func Translate(ctx context.Context, source Source, inputs map[string]Input, options Options) (Result, error) {
	return translate(ctx, source, inputs, options, false)
}

// Validate reports the errors that Translate would report, before all inputs are known. A required input without a
// value is no error, and values that depend on it are not checked. Validate reports the errors of all stages. The
// Result contains warnings and the digest. It is for authors, who check a template without a cluster. A file that
// contains only types is valid, with a warning.
func Validate(ctx context.Context, source Source, inputs map[string]Input, options Options) (Result, error) {
	result, err := translate(ctx, source, inputs, options, true)
	return Result{Warnings: result.Warnings, Digest: result.Digest, Metadata: result.Metadata, Steps: result.Steps}, err
}

// translate implements Translate and Validate. It converts every panic to an error, and returns the warnings also
// after one. After an error, run returns the zero Result.
func translate(ctx context.Context, source Source, inputs map[string]Input, options Options, lenient bool) (result Result, err error) {
	s := newSession(ctx, source, options)
	s.lenient = lenient
	err = s.protect(func() (err error) {
		result, err = run(s, source, inputs)
		return err
	})
	result.Warnings, result.Steps = s.sortedWarnings(), s.steps
	return result, err
}

// ReadInputs returns the given values as the template reads them. It reports only errors in the values, and reads no
// imports: values of inputs whose types are unknown are left out. The command line uses it to write typed values into
// spec.tosca.inputs: port: 80 instead of port: "80".
func ReadInputs(ctx context.Context, source Source, given map[string]Input) (read map[string]any, err error) {
	s := newSession(ctx, source, Options{})
	err = s.protect(func() error {
		sources := newLoader(s)
		entry := sources.load(source)
		if entry == nil {
			return s.faults.err()
		}
		types := newLibrary(s, sources.files, entry)
		types.readAllTypes()
		m := newModel(types)
		m.readInputs()
		// Only errors in the given values count here.
		s.faults.list = nil
		m.giveInputs(given)
		read = m.givenInputs()
		return s.faults.err()
	})
	return read, err
}

// run calls the phases in order: each uses the result of the previous one. A translation ends before the
// evaluation if the definitions have errors.
//
//	loader          files, imports, archives        errors end the translation
//	library         types of all files              errors of types are kept in the types
//	model           inputs and nodes                errors end it, except in Validate
//	evaluator       inputs, properties, specs       errors end it after the last manifest
//	outputs         outputs                         errors become warnings
func run(s *session, source Source, inputs map[string]Input) (Result, error) {
	s.step()
	sources := newLoader(s)
	entry := sources.load(source)
	if !s.faults.empty() {
		return Result{}, s.faults.err()
	}
	types := newLibrary(s, sources.files, entry)
	types.readAllTypes()
	m := newModel(types)
	m.readTopology()
	m.readInputs()
	m.giveInputs(inputs)
	e := &evaluator{navigator: &navigator{m}, sources: sources, values: map[property]value{}}
	// The types must be known before the inputs are evaluated: the default of an input can refer to nodes.
	m.checkTopology()
	e.resolveInputs()
	// Without valid definitions, the evaluation would report errors that only follow from them.
	if !s.faults.empty() && !s.lenient {
		return Result{}, s.faults.err()
	}
	for _, n := range e.order { // so that mistakes are found also in properties that no manifest uses
		if n.kubernetes {
			e.checkProperties(n)
		}
	}
	result := e.render()
	e.unneeded(func() { result.Outputs = e.outputs() })
	for _, name := range m.inputNames {
		e.demote(m.inputs[name].mistakes)
	}
	if !s.faults.empty() {
		return Result{}, s.faults.err()
	}
	result.Digest = "sha256:" + hex.EncodeToString(sources.digest.Sum(nil))
	if metadata, ok := types.literalOf(entry.root.get("metadata"), nil).any.(map[string]any); ok {
		result.Metadata = metadata
	}
	return result, nil
}
