package reconcile

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// finalize deletes the objects of an Application in reverse order, and removes the finalizer when all of them are
// gone. With deletionPolicy Orphan, it removes the tracking metadata instead. It returns when to continue, 0 for when
// something changes. Without the controller's finalizer, it does nothing.
//
// The order matters. The workload is shut down before its objects are deleted. The finalizer is removed only when no
// object can appear any more. The hooks after the deletion are last, because they run once. Source:
// docs/semantics.md, "Suspending and deleting".
func (r *Reconciler) finalize(ctx context.Context, app *v1alpha1.Application, m *State, target Target) (time.Duration, error) {
	if !slices.Contains(app.Finalizers, v1alpha1.Finalizer) {
		return 0, nil
	}
	if err := r.Hooks.ApplicationPreDelete.Run(&hooks.Lifecycle{Application: app}); err != nil {
		return r.hookFailed(ctx, app, m, err)
	}
	// A source that is not available does not prevent the deletion: the inventory is sufficient.
	source := r.source(ctx, app, target)
	s, p, err := Decide(ctx, target, r.request(app, m, target, source.Translation))
	if errors.Is(err, ErrNotSeen) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if r.BeforeDeletes != nil {
		if over, after, err := r.BeforeDeletes(ctx, app, target, s.Input.Live); !over {
			return after, err
		}
	}
	a := r.act(ctx, target, s, p)
	// NamespaceEnds can send a request, so it is called only if rights are missing.
	if forbidden(p, a.result) && target.NamespaceEnds(ctx, app.Namespace) {
		s.leaveToNamespace(app.Namespace)
		p = plan.DecideDeletion(s.Input)
		a = r.act(ctx, target, s, p)
	}
	if !released(p, a.result) {
		return r.report(ctx, app, m, p, a.result)
	}
	// Objects of this kind may exist that the inventory lacks. The error keeps the finalizer, and retries.
	if problem := s.unannounced(); problem != nil {
		return 0, problem
	}
	finalizers := slices.DeleteFunc(slices.Clone(app.Finalizers), func(f string) bool { return f == v1alpha1.Finalizer })
	// The write fails if another client has changed the Application in the meantime.
	written, err := r.applications().WriteMetadata(ctx, app, finalizers, nil)
	if err != nil {
		return Again(err)
	}
	// No status is left to write.
	r.applications().Announce(app, p.Summarize(a.result, r.Now()).Event)
	if err := r.Hooks.ApplicationPostDelete.Run(&hooks.Lifecycle{Application: app}); err != nil {
		klog.FromContext(ctx).Error(err, "A hook has failed after the deletion") // no status is left to report it
	}
	return 0, r.applications().Forget(written)
}

// forbidden reports whether a change has failed, or cannot be attempted, because rights are missing.
func forbidden(p *plan.Plan, outcomes map[manifest.ID]plan.Outcome) bool {
	for _, change := range p.Changes {
		problem := change.Problem
		if outcome, attempted := outcomes[change.ID]; attempted {
			problem = outcome.Problem
		}
		if problem != nil && problem.Disposition() == v1alpha1.DispositionGrant {
			return true
		}
	}
	return false
}

// leaveToNamespace drops the objects in a namespace that is being deleted from the snapshot, because they are deleted
// with the namespace. The controller's rights to delete them are often removed before the objects. Objects in other
// namespaces remain.
func (s *Snapshot) leaveToNamespace(namespace string) {
	maps.DeleteFunc(s.Input.Live, func(id manifest.ID, _ map[string]any) bool { return id.Namespace == namespace })
	maps.DeleteFunc(s.Input.Blocked, func(id manifest.ID, _ *plan.Problem) bool { return id.Namespace == namespace })
}

// released reports whether all objects of the Application are deleted or released. A change that needs no request
// counts, unless it has a problem. A deleted object with finalizers does not count.
func released(p *plan.Plan, outcomes map[manifest.ID]plan.Outcome) bool {
	if slices.ContainsFunc(p.Removed(), func(id manifest.ID) bool { return outcomes[id].Problem != nil }) {
		return false
	}
	for _, change := range p.Changes {
		outcome, attempted := outcomes[change.ID]
		switch {
		case !attempted && !change.Writes() && change.Problem == nil:
		case attempted && outcome.Problem == nil && (outcome.Gone || outcome.Action == plan.Update || outcome.Action == plan.Unchanged):
		default:
			return false
		}
	}
	return true
}
