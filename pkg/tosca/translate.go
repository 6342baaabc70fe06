package tosca

import (
	"context"
)

// Translate makes manifests of a template or archive. It reads nothing but what
// it is given and what options.Resolver returns, and depends on nothing else.
//
// The error joins one *Error for each mistake, sorted by place: those of one
// stage (reading files, checking definitions, evaluating). Then the Result has
// warnings only. If ctx ends, the error is its cause.
func Translate(ctx context.Context, source Source, inputs map[string]Input, options Options) (Result, error) {
	return translate(ctx, source, inputs, options, false)
}

// Validate finds what Translate would find wrong, where not all inputs are known
// yet: a required input without a value is no mistake, and what is made of it is
// not checked. The Result has warnings, the inputs, and the digest.
func Validate(ctx context.Context, source Source, inputs map[string]Input, options Options) (Result, error) {
	result, err := translate(ctx, source, inputs, options, true)
	return Result{Inputs: result.Inputs, Warnings: result.Warnings, Digest: result.Digest, Metadata: result.Metadata, Steps: result.Steps}, err
}

func translate(ctx context.Context, source Source, inputs map[string]Input, options Options, lenient bool) (result Result, err error) {
	s := &session{
		ctx: ctx, options: options, limits: options.Limits.lowered(), lenient: lenient, name: source.Name,
		faults: faults{quote: options.QuoteFetched}, regexps: map[string]pattern{},
	}
	defer func() {
		if problem := recover(); problem != nil {
			result, err = Result{}, s.stopped(problem)
		}
		result.Warnings, result.Steps = s.sortedWarnings(), s.steps
	}()
	return run(s, source, inputs)
}

// run is the list of the phases: each is given what the one before has made. One
// begins only if nothing was found wrong before: what follows from a mistake would
// hide it.
func run(s *session, source Source, inputs map[string]Input) (Result, error) {
	s.step(s.ctx)
	sources := newLoader(s)
	entry := sources.load(s.ctx, source)
	if s.lenient && entry != nil {
		s.validateFiles(sources.files, entry)
	}
	if !s.faults.empty() {
		return Result{}, s.faults.err()
	}
	types := newLibrary(s, sources.files, entry)
	types.readAllTypes()
	m := &model{library: types, templates: map[string]*template{}, inputs: map[string]*input{}}
	m.readTopology()
	m.readInputs(inputs)
	e := &evaluator{model: m, sources: sources, values: map[property]value{}}
	if s.lenient {
		validator{e}.validateTypes()
	}
	m.checkTopology()
	e.resolveInputs()
	if !s.faults.empty() {
		return Result{}, s.faults.err()
	}
	e.checkNodes()
	result := e.render()
	result.Outputs = e.outputs()
	result.Inputs = e.givenInputs()
	if s.lenient && s.faults.empty() {
		validator{e}.validateTopology()
	}
	if !s.faults.empty() {
		return Result{}, s.faults.err()
	}
	result.Digest = digestOf(sources.digest.Sum(nil))
	if metadata, ok := types.literal(entry.root.get("metadata")).any.(map[string]any); ok {
		result.Metadata = metadata
	}
	return result, nil
}
