package controller

import (
	"context"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// finalize deletes what an Application has made, in reverse order, and lets it
// go when everything is gone. With deletionPolicy Orphan it takes our marks off
// instead.
func (c *Controller) finalize(ctx context.Context, app *v1alpha1.Application) (time.Duration, error) {
	if !slices.Contains(app.Finalizers, v1alpha1.Finalizer) {
		return 0, nil
	}
	if err := c.options.Hooks.ApplicationPreDelete.Run(&hooks.Lifecycle{Application: app}); err != nil {
		return c.hookFailed(ctx, app, err)
	}
	g, err := c.gather(ctx, app)
	if err != nil || g.waiting {
		return 0, err
	}
	if over, after, err := c.shutDown(ctx, app, g); !over {
		return after, err
	}
	p := plan.Retire(g.input)
	outcomes := c.act(ctx, g, p)
	if forbidden(p, outcomes) && c.client.NamespaceEnds(ctx, app.Namespace) {
		g.leaveTo(app.Namespace)
		p = plan.Retire(g.input)
		outcomes = c.act(ctx, g, p)
	}
	if !released(p, outcomes) {
		return c.report(ctx, app, p, outcomes)
	}
	if problem := g.unseen(); problem != nil {
		return 0, problem
	}
	finalizers := slices.DeleteFunc(slices.Clone(app.Finalizers), func(f string) bool { return f == v1alpha1.Finalizer })
	written, err := c.client.WriteMetadata(ctx, app, finalizers, nil)
	if err != nil {
		return again(err)
	}
	c.announce(app, p.Conclude(outcomes, c.options.Now()).Event)
	c.deleted(ctx, app)
	return 0, c.letGo(written)
}

// deleted runs the hooks that come last of all. Nothing can be said about their
// errors in a status.
func (c *Controller) deleted(ctx context.Context, app *v1alpha1.Application) {
	if err := c.options.Hooks.ApplicationPostDelete.Run(&hooks.Lifecycle{Application: app}); err != nil {
		klog.FromContext(ctx).Error(err, "A hook has failed after the deletion")
	}
}

// forbidden tells whether the rights are missing to go on.
func forbidden(p *plan.Plan, outcomes map[manifest.ID]plan.Outcome) bool {
	for _, change := range p.Changes {
		problem := change.Problem
		if outcome, attempted := outcomes[change.ID]; attempted {
			problem = outcome.Problem
		}
		if problem != nil && problem.Reason == v1alpha1.ReasonForbidden {
			return true
		}
	}
	return false
}

// leaveTo leaves what is in a namespace that is being deleted to whoever deletes
// it. The rights to do so ourselves are often gone before the objects.
func (g *gathered) leaveTo(namespace string) {
	there := func(id manifest.ID) bool { return id.Namespace == namespace }
	maps.DeleteFunc(g.input.Live, func(id manifest.ID, _ map[string]any) bool { return there(id) })
	maps.DeleteFunc(g.input.Blocked, func(id manifest.ID, _ *plan.Problem) bool { return there(id) })
}

// letGo has the store know, before the watch does, that the Application is gone
// or that only somebody else's finalizers hold it: what the watches still have
// to say about its objects is of no interest.
func (c *Controller) letGo(app *v1alpha1.Application) error {
	c.forget(app.UID)
	if len(app.Finalizers) > 0 {
		return c.wroteApplication(app)
	}
	c.applications.Deleted(types.NamespacedName{Namespace: app.Namespace, Name: app.Name}, app.UID)
	return nil
}

// released tells whether nothing of the Application is left, or all of it was
// let go.
func released(p *plan.Plan, outcomes map[manifest.ID]plan.Outcome) bool {
	for _, id := range p.Gone() {
		if outcomes[id].Problem != nil {
			return false
		}
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
