package plan

import (
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/slice"
)

// incompleteProblem refuses an Application of which something is in slices still: whoever
// decides puts them together first. Without its manifests all that it made would be
// deleted, and without its record nobody knows what that is.
func incompleteProblem(app *v1alpha1.Application) *Problem {
	if len(app.Status.RecordSlices) == 0 && !slice.InSpec(&app.Spec) {
		return nil
	}
	return SliceProblem(app, &slice.Unavailable{Name: slice.Names(app)[0]})
}

// SliceProblem is that a slice of an Application cannot be used, and what to do: another
// submit writes those of the spec, and nobody has those of the status but a backup.
func SliceProblem(app *v1alpha1.Application, cause *slice.Unavailable) *Problem {
	problem := &Problem{Reason: v1alpha1.ReasonSliceUnavailable, Message: cause.Error() + ": nothing is created, corrected or deleted meanwhile"}
	switch {
	case len(app.Status.RecordSlices) > 0:
		problem.Remedy = v1alpha1.Remedy{
			Text: "It has what is on record: restore it from a backup, or go on without (what was learned is learned again, and what is no longer desired stays)",
			Command: "kubectl patch hfapp " + app.Name + " -n " + app.Namespace +
				" --subresource=status --type=json -p '[{\"op\":\"remove\",\"path\":\"/status/recordSlices\"}]'",
		}
	case cause.Wrong:
		problem.Remedy = v1alpha1.Remedy{Text: "Delete that ApplicationSlice, and submit the Application again"}
	default:
		problem.Remedy = v1alpha1.Remedy{Text: "Submit the Application again, or apply its slices"}
	}
	return problem
}
