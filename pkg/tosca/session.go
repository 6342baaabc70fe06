package tosca

import (
	"context"
	"slices"

	"holdfast.dev/holdfast/internal/suggest"
)

// maxCompared limits the number of names that one translation compares for suggestions. A template with thousands of
// mistakes and thousands of names would need millions of comparisons.
const maxCompared = 10_000

// textPerStep is the number of bytes of text that cost a step.
const textPerStep = 256

// session is the state that every phase of one translation uses: the mistakes and the work done. It is used by one
// goroutine. Each phase embeds the previous one, so all share one session. Fields that count work never decrease.
type session struct {
	ctx     context.Context //nolint:containedctx // it is that of one call
	options Options
	// lenient is set by Validate: missing inputs are no errors.
	lenient bool
	// name is the name of the source, for errors without a position.
	name string

	// faults lists the errors of the current stage. faults is replaced during collect, so that the caller of a check
	// can decide whether its errors count.
	faults faults
	// warnings can be unsorted and repeated: see sortedWarnings.
	warnings []Warning

	// nodes counts the YAML values in all files.
	nodes    int // of YAML
	broken   int // what may begin a value, in files with syntax errors
	steps    int
	compared int // names, for suggestions
	weight   int // of all patterns
	// regexps contains the compiled patterns, by their text.
	regexps map[string]pattern
}

// newSession returns the session of one translation.
func newSession(ctx context.Context, source Source, options Options) *session {
	return &session{
		ctx: ctx, options: options, name: source.Name,
		faults: faults{quote: options.QuoteFetched}, regexps: map[string]pattern{},
	}
}

// protect returns the error of run, or the error of a panic in it. It is the only recover for code of this package.
// Every exported function must call it. The text of another panic than a stop can contain a value, and is omitted. The
// stack of a panic is dropped. Fuzz tests find such a bug, and the template reproduces it.
func (t *session) protect(run func() error) (err error) {
	defer func() {
		switch problem := recover().(type) {
		case nil:
		case stop:
			err = problem.err
		default:
			err = &Error{File: t.name, Code: Internal, Msg: "the template cannot be translated because of a bug in Holdfast: please report it with the template"}
		}
	}()
	return run()
}

// didYouMean suggests the name that is nearest to a mistyped one. The result is the end of a message, such as `: did
// you mean port?`, or "" if no name is near.
func (t *session) didYouMean(typed string, names []string) string {
	if t.compared += len(names); t.compared > maxCompared {
		return ""
	}
	return suggest.DidYouMean(typed, names)
}

// near calls didYouMean with names that are collected only if needed.
func (t *session) near(typed string, names func() []string) string {
	if t.compared > maxCompared {
		return ""
	}
	return t.didYouMean(typed, names())
}

// step counts work, and ends the translation when it is too much or ctx ends.
func (t *session) step() { t.spend(1) }

// spend adds steps, and ends the translation above the limit. It checks the context about every thousand steps. Call it
// before the work, with an estimate that depends on the size of the operands.
func (t *session) spend(steps int) {
	const pause = 1000
	if t.steps/pause != (t.steps+steps)/pause || t.steps == 0 {
		t.ongoing()
	}
	if t.steps += steps; t.steps > maxSteps {
		t.steps = maxSteps // what would follow is not done
		t.halt("evaluating the template takes more than %d steps", maxSteps)
	}
}

// ongoing ends the translation if ctx has ended.
func (t *session) ongoing() {
	if t.ctx.Err() != nil {
		panic(stop{context.Cause(t.ctx)})
	}
}

// halt ends the translation because of a limit that concerns all of it.
func (t *session) halt(format string, args ...any) {
	t.haltAt((&file{name: t.name}).position(0, 0), LimitExceeded, format, args...)
}

// haltAt adds an error at a value, and ends the translation. Errors that were found before are reported, too.
func (t *session) haltAt(p fileNode, code Code, format string, args ...any) {
	t.faults.add(p, code, format, args...)
	panic(stop{t.faults.err()})
}

// fail adds an error at an expression, and returns the unknown value.
func (t *session) fail(p fileNode, code Code, format string, args ...any) value {
	t.faults.add(p, code, format, args...)
	return unknown
}

// tooLarge ends the translation because a value at p exceeds the limit of one manifest. what names the value.
func (t *session) tooLarge(p fileNode, what string) {
	t.haltAt(p, LimitExceeded, "the %s is larger than %d bytes", what, maxManifest)
}

// collect returns the mistakes that a check finds, instead of adding them. It can be nested. A stop within check passes
// through it, and loses the errors that were collected outside of check.
func (t *session) collect(check func()) []*Error {
	before := t.faults
	t.faults = faults{quote: before.quote}
	check()
	found := t.faults.list
	t.faults = before
	return found
}

// unneeded checks a part of the template that no manifest needs. Mistakes in it become warnings.
func (t *session) unneeded(check func()) { t.demote(t.collect(check)) }

// demote adds mistakes as warnings. It does not change the mistakes. A warning has no code, so equal warnings of
// different codes are one.
func (t *session) demote(mistakes []*Error) {
	for _, mistake := range mistakes {
		warning := *mistake
		warning.Code = ""
		t.addWarning(warning)
	}
}

// warn adds a warning at a value.
func (t *session) warn(p fileNode, format string, args ...any) {
	t.addWarning(*t.faults.errorAt(p, "", format, args...))
}

// addWarning adds a warning, unless there are too many.
func (t *session) addWarning(warning Warning) {
	if len(t.warnings) < collected {
		t.warnings = append(t.warnings, warning)
	}
}

// sortedWarnings returns the warnings by position, without repetitions.
func (t *session) sortedWarnings() []Warning {
	slices.SortStableFunc(t.warnings, func(a, b Warning) int { return byPosition(&a, &b) })
	return slices.Compact(t.warnings)
}
