package tosca

import (
	"context"
	"fmt"
	"hash"

	"holdfast.dev/holdfast/pkg/tosca/csar"
)

// Result is what a template was translated to.
type Result struct {
	// Objects are the manifests in the order of their nodes' requirements: what a
	// node requires comes before it. They are made of map[string]any, []any,
	// string, int64, float64, bool and nil, as manifest.Read makes them; nulls are
	// kept. They share nothing with each other.
	Objects []map[string]any
	// Texts are the evaluated specs, with Options.Raw.
	Texts []Text
	// Outputs are those of the template, in its order.
	Outputs []Output
	// Inputs are the values that were given, each as the type of its input reads it.
	Inputs map[string]any
	// Warnings are in the order of files and lines.
	Warnings []Warning
	// Metadata is the metadata of the template, if it is a map.
	Metadata map[string]any
	// Digest is that of the source and of every file that was read for it:
	// "sha256:" and hexadecimal digits.
	Digest string
	// Steps is what evaluation cost, as Limits.Steps counts.
	Steps int
}

// Text is the evaluated spec of one node, before it is read as YAML.
type Text struct {
	Node string
	// Line is where the spec is in the template.
	Line int
	Text string
}

// Output is one output of the template.
type Output struct {
	Name, Description string
	// Value is nil unless the output is Available.
	Value any
	State OutputState
}

// OutputState says whether an output has a value.
type OutputState string

// The states of outputs.
const (
	Available OutputState = "Available"
	// Unavailable: the value needs a running deployment.
	Unavailable OutputState = "Unavailable"
	// Hidden: the value is made of a sensitive input.
	Hidden OutputState = "Hidden"
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

// translator is one translation on its way.
type translator struct {
	ctx     context.Context //nolint:containedctx // it is that of one call
	options Options
	limits  Limits
	lenient bool
	name    string

	faults   faults
	warnings []Warning

	archive     *csar.Archive
	archiveName string
	loaded      map[string]*file // by location
	files       []*file          // in the order they were read
	imported    int              // bytes
	nodes       int
	digest      hash.Hash
	contents    map[string]string // of artifacts, by location

	entry  *file
	inputs map[string]*input
	// inputNames and order are as the template has them.
	inputNames []string
	templates  map[string]*template
	order      []*template

	steps    int
	compared int // names, for suggestions
	weight   int // of all patterns
	schemas  map[*definition]map[string]*schema
	regexps  map[string]pattern
}

func translate(ctx context.Context, source Source, inputs map[string]Input, options Options, lenient bool) (result Result, err error) {
	t := &translator{
		ctx: ctx, options: options, limits: options.Limits.lowered(), lenient: lenient, name: source.Name,
		faults: faults{quote: options.QuoteFetched},
		loaded: map[string]*file{}, digest: newDigest(), regexps: map[string]pattern{}, schemas: map[*definition]map[string]*schema{}, contents: map[string]string{},
	}
	defer func() {
		if problem := recover(); problem != nil {
			result, err = Result{}, t.stopped(problem)
		}
		result.Warnings, result.Steps = t.sortedWarnings(), t.steps
	}()
	return t.run(ctx, source, inputs)
}

// run is the list of the stages. A stage begins only if the one before found
// nothing wrong: what follows from a mistake would hide it.
func (t *translator) run(ctx context.Context, source Source, inputs map[string]Input) (Result, error) {
	t.step(ctx)
	t.entry = t.load(ctx, source)
	if t.lenient && t.entry != nil {
		t.validateFiles()
	}
	if !t.faults.empty() {
		return Result{}, t.faults.err()
	}
	t.readAllTypes()
	t.readTopology()
	t.readInputs(inputs)
	e := &evaluator{translator: t, ctx: ctx, values: map[property]value{}}
	if t.lenient {
		validator{e}.validateTypes()
	}
	e.checkTopology()
	e.resolveInputs()
	if !t.faults.empty() {
		return Result{}, t.faults.err()
	}
	e.checkNodes()
	result := e.render()
	result.Outputs = e.outputs()
	result.Inputs = e.givenInputs()
	if t.lenient && t.faults.empty() {
		validator{e}.validateTopology()
	}
	if !t.faults.empty() {
		return Result{}, t.faults.err()
	}
	result.Digest = digestOf(t.digest.Sum(nil))
	if metadata, ok := e.literal(t.entry.root.get("metadata")).any.(map[string]any); ok {
		result.Metadata = metadata
	}
	return result, nil
}

// step counts work, and ends the translation when it is too much or ctx ends.
func (t *translator) step(ctx context.Context) { t.spend(ctx, 1) }

func (t *translator) spend(ctx context.Context, steps int) {
	const pause = 1000
	if t.steps/pause != (t.steps+steps)/pause || t.steps == 0 {
		if ctx.Err() != nil {
			panic(stop{context.Cause(ctx)})
		}
	}
	if t.steps += steps; t.steps > t.limits.Steps {
		t.steps = t.limits.Steps // what would follow is not done
		t.halt(fmt.Sprintf("evaluating the template takes more than %d steps", t.limits.Steps))
	}
}

// halt ends the translation over a limit that is that of the whole.
func (t *translator) halt(message string) {
	t.faults.addAt(&file{name: t.name}, 0, 0, LimitExceeded, message)
	panic(stop{t.faults.err()})
}

// stopped makes an error of what was recovered. A panic that is not ours may have
// a value in its text, which is left out.
func (t *translator) stopped(problem any) error {
	if ended, ok := problem.(stop); ok {
		return ended.err
	}
	return &Error{File: t.name, Code: Internal, Msg: "the template cannot be translated: this is a mistake in Holdfast; please report it with the template"}
}

func (t *translator) warn(p place, format string, args ...any) {
	var one faults
	one.quote = t.options.QuoteFetched
	one.add(p, "", format, args...)
	if len(t.warnings) < collected {
		t.warnings = append(t.warnings, *one.list[0])
	}
}
