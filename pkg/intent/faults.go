package intent

import (
	"cmp"
	"errors"
	"math"
	"slices"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// Faults returns the validation errors for which Render rejects an input, one error for each, so that a tool that reads
// files can locate them: a *manifest.ValidationError, an *observer.ValidationError or an *observer.FieldPathError names
// the field. It returns nil if Render accepts the input, or rejects it for another reason: the source is missing, nulls
// were dropped, or too many objects match. The command line calls it for files. It does not run hooks, so an error of a
// hook is not among them.
func Faults(in Input) []error {
	if nullsDropped(in.Application) != nil {
		return nil
	}
	if faults := healthCheckFaults(in.Application); len(faults) > 0 {
		return faults
	}
	objects, _, err := objectsOf(in)
	if _, isProblem := errors.AsType[*Problem](err); isProblem {
		return nil
	}
	e := readEntries(in)
	if err != nil {
		return manifest.First(append(manifest.Unjoin[error](err), e.unread...))
	}
	e.assign(in, objects)
	faults, _ := e.validate(in.Application)
	return manifest.First(faults)
}

// validate returns the validation errors of a schema, in its order. Late errors become warnings if this generation of
// the spec was accepted before. late has these warnings. They follow the spec: errors of the whole schema, then those of
// each item, then those of spec.fields.
// Source: docs/semantics.md, "What is refused".
func (e entries) validate(app *v1alpha1.Application) (faults []error, late []string) {
	faults = slices.Concat(e.unread, e.unfit)
	slices.SortStableFunc(faults, func(a, b error) int { return cmp.Compare(entryIn(a), entryIn(b)) })
	if !isAccepted(app) {
		return faults, nil
	}
	faults = slices.DeleteFunc(faults, func(err error) bool {
		fault, ok := errors.AsType[*observer.ValidationError](err)
		if !ok || !fault.Late {
			return false
		}
		late = append(late, fault.Error()+". It is invalid as soon as the spec changes")
		return true
	})
	return faults, late
}

// entryIn returns the index of the schema that has a validation error, or -1 for an error of the whole observer schema.
// It is only for sorting.
func entryIn(err error) int {
	if fault, ok := errors.AsType[*observer.ValidationError](err); ok {
		return fault.Entry
	}
	if _, ok := errors.AsType[*observer.FieldPathError](err); ok {
		return math.MaxInt // spec.fields comes after spec.observerSchema
	}
	return -1
}

// isAccepted reports whether this generation of the spec was accepted before, as the condition Rendered records it.
// After an upgrade of Holdfast, an Application with a late error keeps working until the user changes its spec.
func isAccepted(app *v1alpha1.Application) bool {
	c := apimeta.FindStatusCondition(app.Status.Conditions, v1alpha1.ConditionRendered)
	return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == app.Generation
}
