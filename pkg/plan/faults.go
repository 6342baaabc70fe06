package plan

import (
	"errors"

	"holdfast.dev/holdfast/pkg/observer"
)

// Faults are the mistakes for which Decide refuses an input, one error each, so
// that a reader of files can point at them: a *manifest.Fault or an
// *observer.Fault says in which field it is. There are none if the input is
// not refused, or for another reason than a mistake in a field.
func Faults(in Input) []error {
	objects, _, err := objectsOf(in)
	var problem *Problem
	if errors.As(err, &problem) {
		return nil
	}
	entries, schemaErr := schemaOf(in.Application)
	if faults := append(unjoin(err), unjoin(schemaErr)...); len(faults) > 0 {
		return faults
	}
	_, err = observer.Assign(entries, objects)
	return unjoin(err)
}

// unjoin takes apart what errors.Join has joined.
func unjoin(err error) []error {
	var joined interface{ Unwrap() []error }
	switch {
	case err == nil:
		return nil
	case errors.As(err, &joined):
		return joined.Unwrap()
	default:
		return []error{err}
	}
}
