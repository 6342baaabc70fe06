package intent

import (
	"errors"
	"fmt"

	"holdfast.dev/holdfast/internal/footprint"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/slice"
)

// UnsupportedProblem returns a Problem for an Application with fields or values that this version does not know, and
// nil otherwise. Any of them may change what to write or delete, so nothing is written or deleted. It happens after a
// downgrade of the controller, or if the CustomResourceDefinitions are newer.
func UnsupportedProblem(app *v1alpha1.Application) *Problem {
	if len(app.Unknown) == 0 {
		return nil
	}
	return unsupportedProblem("", app.Unknown)
}

// unsupportedProblem returns the Problem of unknown fields and values in an Application or in another object. where is
// the beginning of the message, such as "HoldProfile x: ", or "".
func unsupportedProblem(where string, unknown []string) *Problem {
	return &Problem{
		Reason:  v1alpha1.ReasonSpecNotSupported,
		Message: fmt.Sprintf("%sthis version of Holdfast does not know %s, so it creates, corrects and deletes nothing", where, FirstNames(unknown)),
		Remedy:  v1alpha1.Remedy{Text: "Upgrade Holdfast, or remove what it does not know"},
	}
}

// IncompleteProblem returns a Problem for an Application whose slices have not been merged into it, and nil otherwise.
// The caller must merge them first. Without its manifests, everything that the Application created would be deleted.
// Without its record, the controller does not know what it created. Code that writes or deletes must call it before.
func IncompleteProblem(app *v1alpha1.Application) *Problem {
	if len(app.Status.RecordSlices) == 0 && !slice.InSpec(&app.Spec) {
		return nil
	}
	return SliceProblem(app, &slice.Unavailable{Name: slice.Names(app)[0]})
}

// SliceProblem returns the Problem of a slice that cannot be used, with a remedy: submitting the
// Application again writes the slices of the spec, but only a backup has those of the status.
//
//	the slice          of the spec                              of the status
//	does not exist     submit the Application again             restore it, or continue without it
//	has other content  delete it, and submit again              restore it, or continue without it
//	is too large       split the Application                    continue without it
func SliceProblem(app *v1alpha1.Application, cause *slice.Unavailable) *Problem {
	problem := &Problem{Reason: v1alpha1.ReasonSliceUnavailable, Message: cause.Error() + ": until it exists, nothing is created, corrected or deleted"}
	if cause.Cause != nil {
		problem.Message = cause.Error() + ": nothing is created, corrected or deleted"
	}
	_, isExcess := errors.AsType[*footprint.Excess](cause.Cause)
	if isExcess {
		problem.Reason = v1alpha1.ReasonTooLarge
	}
	switch {
	case isExcess && len(app.Status.RecordSlices) == 0:
		problem.Remedy = splitIt
	case len(app.Status.RecordSlices) > 0:
		problem.Remedy = v1alpha1.Remedy{
			Text: "It contains the inventory: restore it from a backup, or continue without it (values are learned again, and objects that left the manifests are kept)",
			Command: "kubectl patch hfapp " + app.Name + " -n " + app.Namespace +
				" --subresource=status --type=json -p '[{\"op\":\"remove\",\"path\":\"/status/recordSlices\"}]'",
		}
	case cause.Wrong, cause.Cause != nil:
		problem.Remedy = v1alpha1.Remedy{Text: "Delete that ApplicationSlice, and submit the Application again"}
	default:
		problem.Remedy = v1alpha1.Remedy{Text: "Submit the Application again, or apply its slices"}
	}
	return problem
}
