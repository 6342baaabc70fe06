package controller

import (
	"context"
	"slices"
	"time"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
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
	g, err := c.gather(ctx, app)
	if err != nil || g.waiting {
		return 0, err
	}
	p := plan.Retire(g.input)
	outcomes := c.act(ctx, g, p)
	if !released(p, outcomes) {
		return c.report(ctx, app, p, outcomes)
	}
	finalizers := slices.DeleteFunc(slices.Clone(app.Finalizers), func(f string) bool { return f == v1alpha1.Finalizer })
	if _, err := c.client.WriteMetadata(ctx, app, finalizers, nil); err != nil {
		return again(err)
	}
	c.announce(app, p.Conclude(outcomes, c.options.Now()))
	return 0, nil
}

// released tells whether nothing of the Application is left, or all of it was
// let go.
func released(p *plan.Plan, outcomes map[manifest.ID]plan.Outcome) bool {
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
