package plan

import (
	"cmp"
	"errors"
	"math"
	"slices"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/observer"
)

// Faults are the mistakes for which Decide refuses an input, one error each, so
// that a reader of files can point at them: a *manifest.Fault or an
// *observer.Fault says in which field it is. There are none if the input is
// not refused, or for another reason than a mistake in a field.
func Faults(in Input) []error {
	if nullsDropped(in.Application) != nil {
		return nil
	}
	objects, _, err := objectsOf(in)
	var problem *Problem
	if errors.As(err, &problem) {
		return nil
	}
	e := readEntries(in)
	if err != nil {
		return append(unjoin(err), e.unread...)
	}
	e.assign(in, objects)
	faults, _ := e.validate(in.Application)
	return faults
}

// validate are the mistakes of a schema, in its order, and the warnings that those become
// that earlier versions let pass.
func (e entries) validate(app *v1alpha1.Application) (faults []error, late []string) {
	faults = slices.Concat(e.unread, e.unfit)
	slices.SortStableFunc(faults, func(a, b error) int { return cmp.Compare(entryIn(a), entryIn(b)) })
	if !isAccepted(app) {
		return faults, nil
	}
	faults = slices.DeleteFunc(faults, func(err error) bool {
		var fault *observer.ValidationError
		if !errors.As(err, &fault) || !fault.Late {
			return false
		}
		late = append(late, fault.Error()+". It is refused as soon as the spec changes")
		return true
	})
	return faults, late
}

// entryIn is the entry that a fault is in; -1 for one of the schema as a whole.
func entryIn(err error) int {
	if fault := (*observer.ValidationError)(nil); errors.As(err, &fault) {
		return fault.Entry
	}
	if fault := (*observer.FieldPathError)(nil); errors.As(err, &fault) {
		return math.MaxInt // spec.fields comes after spec.observerSchema
	}
	return -1
}

// isAccepted reports whether this very spec was accepted before.
func isAccepted(app *v1alpha1.Application) bool {
	c := apimeta.FindStatusCondition(app.Status.Conditions, v1alpha1.ConditionRendered)
	return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == app.Generation
}
