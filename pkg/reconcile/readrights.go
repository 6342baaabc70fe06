package reconcile

import (
	"context"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// summarize returns the result of a plan without the objects that the ServiceAccount may no longer read, and the plan of
// that result: see withoutUnreadable.
func (s *Snapshot) summarize(ctx context.Context, target Target, app *v1alpha1.Application, p *plan.Plan, outcomes map[manifest.ID]plan.Outcome, now time.Time) (*plan.Plan, plan.Result) {
	result := p.Summarize(outcomes, now)
	readable := s.withoutUnreadable(ctx, target, app, p, outcomes, result)
	if readable != p {
		result = readable.Summarize(outcomes, now)
	}
	return readable, result
}

// withoutUnreadable decides again without the objects that the ServiceAccount may no longer read, if the result reports
// something new about them. A watch has the rights of the controller, so these rights can end while the objects
// are watched. It returns the given plan if all of them may be read. It removes the others from the snapshot and from
// the outcomes, and blocks them until the right is checked again.
//
// A response to a request of this reconciliation is proof: it was sent as the ServiceAccount. Nothing is asked while
// the result reports nothing new. Source: docs/limits.md, "Permission to read".
func (s *Snapshot) withoutUnreadable(ctx context.Context, target Target, app *v1alpha1.Application, p *plan.Plan, outcomes map[manifest.ID]plan.Outcome, result plan.Result) *plan.Plan {
	if p.Invalid != nil {
		return p
	}
	unreadable := false
	for _, id := range manifest.SortedIDs(s.newlyReported(app, result)) {
		outcome, attempted := outcomes[id]
		problem := outcome.Problem
		if s.proven[id] || s.Input.Live[id] == nil || attempted && problem == nil || outcome.Object != nil {
			continue
		}
		at, verb := s.locate(id)
		// A request that was rejected with 403 shows that rights have changed.
		again, err := target.MayRead(ctx, at, verb, problem != nil && problem.Disposition() == v1alpha1.DispositionGrant)
		if err == nil {
			continue
		}
		blocked := target.Problem(err, at, verb)
		blocked.RetryAfter = again
		s.Input.Blocked[id] = blocked
		delete(s.Input.Live, id)
		delete(outcomes, id)
		delete(s.memory.permits, id) // it must be read as the ServiceAccount before it is used again
		unreadable = true
	}
	if !unreadable {
		return p
	}
	return plan.Decide(s.decided) // which contains the same maps
}

// locate returns the location of a live object, and the verb with which the ServiceAccount may read it: spec.select
// needs the right to list.
func (s *Snapshot) locate(id manifest.ID) (cluster.Location, string) {
	at := cluster.Location{ID: id, Shared: s.shared[id], ReadOnly: observes(s.Input.Application)}
	if kind := s.kinds.first[id.GroupKind()]; kind != nil {
		at.Mapping = kind.Mapping
	}
	if _, selected := s.memory.selected[id]; selected {
		at.Shared = true
		return at, "list"
	}
	return at, "get"
}

// newlyReported returns the objects of which a result reports something that the latest status does not: a value, a change,
// or, unless the Application has created the object, its health.
func (s *Snapshot) newlyReported(app *v1alpha1.Application, result plan.Result) map[manifest.ID]struct{} {
	before, after := &s.memory.withPendingStatus(app).Status, &result.Status
	reported := map[manifest.ID]struct{}{}
	add := func(of v1alpha1.ResourceReference) { reported[manifest.IDFromReference(of)] = struct{}{} }
	for _, h := range result.NewHistory {
		reported[h.ID] = struct{}{}
	}
	addNew(before.Resources, after.Resources, func(r v1alpha1.ResourceStatus) v1alpha1.ResourceStatus {
		if r.LastCorrection = nil; r.Origin == v1alpha1.OriginCreated {
			r.Health, r.Reason, r.Message, r.Remedy = "", "", "", nil
		}
		return r
	}, func(r v1alpha1.ResourceStatus) { add(r.ResourceReference) })
	addNew(before.Accepted, after.Accepted, nil, func(f v1alpha1.AcceptedField) { add(f.Resource) })
	addNew(before.Contested, after.Contested, nil, func(f v1alpha1.ContestedField) { add(f.Resource) })
	addNew(before.Reported, after.Reported, nil, func(f v1alpha1.ReportedField) { add(f.Resource) })
	recorded := func(raw runtime.RawExtension) {
		if content, err := manifest.DecodeRaw(raw); err == nil {
			if id, ok := manifest.Identify(content, app.Namespace, s.kinds); ok {
				reported[id] = struct{}{}
			}
		}
	}
	addNew(before.LastAppliedManifest, after.LastAppliedManifest, nil, recorded)
	for i, id := range result.Observed {
		if i >= len(before.LastObservedManifest) || !manifest.SameJSON(before.LastObservedManifest[i].Raw, after.LastObservedManifest[i].Raw) {
			reported[id] = struct{}{}
		}
	}
	return reported
}

// addNew calls add for each item that differs from the former one at its position. of returns the part that is
// compared; nil compares the items.
func addNew[T any](before, after []T, of func(T) T, add func(T)) {
	if of == nil {
		of = func(item T) T { return item }
	}
	for i, item := range after {
		if i >= len(before) || !apiequality.Semantic.DeepEqual(of(before[i]), of(item)) {
			add(item)
		}
	}
}
