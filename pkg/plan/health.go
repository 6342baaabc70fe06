package plan

import (
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/health"
)

// healthOf returns the health of a live object, and a Problem if it is not Current. The Problem stalls nothing: see
// conditionWriter.healthy.
func healthOf(app *v1alpha1.Application, live map[string]any) (string, *Problem) {
	if live == nil {
		return health.NotFound, nil // another Problem reports that it is missing
	}
	state, message := health.Compute(app, live)
	switch state {
	case health.Current:
		return state, nil
	case health.Unknown, health.Failed:
		return state, &Problem{Reason: v1alpha1.ReasonUnhealthy, Message: message}
	}
	return state, &Problem{Reason: v1alpha1.ReasonProgressing, Message: message}
}
