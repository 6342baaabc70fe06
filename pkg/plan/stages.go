package plan

import (
	"math"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
)

// firstAwaited returns the object of the earliest stage that has health expressions and is not current. Without
// expressions it may never become current: an object can need one of a later stage.
func (p *Plan) firstAwaited(resources []*resource) awaitedObject {
	first := awaitedObject{stage: math.MaxInt}
	for _, res := range resources {
		id, live := res.object.ID, p.in.Live[res.object.ID]
		stage := manifest.Stage(id.GroupKind())
		if stage >= first.stage || checkFor(p.in.Application, id.GroupKind(), res.object.Content) == nil {
			continue
		}
		if live == nil && p.isDone(res) {
			continue
		}
		if health, _ := healthOf(p.in.Application, live); health != healthCurrent {
			first = awaitedObject{id, stage}
		}
	}
	return first
}

// awaitsObject reports whether new objects of a stage wait for one of an earlier stage. An observe-only Application
// creates none.
func (p *Plan) awaitsObject(stage int) bool {
	return !p.IsObserveOnly() && p.awaited().stage < stage
}

// stageProblem returns the Problem of an object that waits for one of an earlier stage.
func (p *Plan) stageProblem(id manifest.ID) *Problem {
	return problemf(v1alpha1.ReasonWaiting, "%s is created when %s is current", id, p.awaited().id)
}
