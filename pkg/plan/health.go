package plan

import (
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/health"
	"holdfast.dev/holdfast/pkg/manifest"
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

// firstAwaited returns the object of the earliest stage that is not current, among those for which
// spec.healthCheckExprs has expressions; nil if there is none. No other object stops later stages, not even one
// with built-in expressions: it may need an object of a later stage to become current.
func (p decider) firstAwaited(resources []*resource) (first *manifest.ID) {
	if len(p.in.Application.Spec.HealthCheckExprs) == 0 {
		return nil
	}
	for _, res := range resources {
		id, live := res.object.ID, p.in.Live[res.object.ID]
		isLater := first != nil && manifest.Stage(id.GroupKind()) >= manifest.Stage(first.GroupKind())
		// A finished Job that is gone counts as current. Otherwise it would block later stages forever.
		if isLater || !health.HasExpressions(p.in.Application, id.GroupKind()) || live == nil && p.isDone(res) {
			continue
		}
		if state, _ := healthOf(p.in.Application, live); state != health.Current {
			first = &id
		}
	}
	return first
}

// awaitsObject reports whether new objects of a stage wait for one of an earlier stage. Existing objects are
// corrected without waiting. An observe-only Application creates none.
// Source: docs/semantics.md, "Who writes".
func (p decider) awaitsObject(stage int) bool {
	return !p.IsObserveOnly() && p.awaited != nil && manifest.Stage(p.awaited.GroupKind()) < stage
}
