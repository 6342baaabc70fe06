package controller

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/plan"
)

// reconcile brings one Application's objects to their desired state: gather,
// decide, act, report. It returns when to do so again, 0 for when something
// changes.
func (c *Controller) reconcile(ctx context.Context, key types.NamespacedName) (time.Duration, error) {
	app, err := c.application(key)
	if app == nil {
		return 0, err
	}
	if app.DeletionTimestamp != nil {
		return c.finalize(ctx, app)
	}
	after, err := c.bring(ctx, app)
	if err != nil {
		return 0, err
	}
	return after, c.finishCompleted(ctx, key)
}

// bring brings the objects of an Application that is not being deleted to their
// desired state.
func (c *Controller) bring(ctx context.Context, app *v1alpha1.Application) (time.Duration, error) {
	if err := c.options.Hooks.ApplicationPreReconcile.Run(&hooks.Lifecycle{Application: app}); err != nil {
		return c.hookFailed(ctx, app, err)
	}
	g, p, err := c.decide(ctx, app)
	if err != nil || g.waiting {
		return 0, err
	}
	after, err := c.execute(ctx, app, g, p)
	if err == nil && !g.poll.IsZero() {
		after = sooner(after, max(g.poll.Sub(c.options.Now()), time.Millisecond))
	}
	if problem := g.unseen(); err == nil && problem != nil && problem.RetryAfter > 0 {
		after = sooner(after, problem.RetryAfter)
	}
	return after, err
}

// execute acts on a plan and reports.
func (c *Controller) execute(ctx context.Context, app *v1alpha1.Application, g *gathered, p *plan.Plan) (time.Duration, error) {
	if p.Suspended() || p.Refused != nil {
		return c.report(ctx, app, p, nil)
	}
	app, err := c.protect(ctx, app, p, g)
	if err != nil {
		return again(err)
	}
	if app, err = c.recordAhead(ctx, app, p); err != nil {
		return again(err)
	}
	outcomes := c.act(ctx, g, p)
	if g.told {
		app = c.latest(app)
	}
	after, err := c.report(ctx, app, p, outcomes)
	if err == nil && g.untold != nil {
		return again(g.untold)
	}
	return after, err
}

// recordAhead writes down what is about to be written, where nobody would know of
// it should we die in between.
func (c *Controller) recordAhead(ctx context.Context, app *v1alpha1.Application, p *plan.Plan) (*v1alpha1.Application, error) {
	status := p.Ahead()
	if status == nil {
		return app, nil
	}
	if err := c.writeStatus(ctx, app, *status); err != nil {
		return nil, err
	}
	return c.latest(app), nil
}

// latest is the version of an Application that the watch, or our own last write,
// has shown.
func (c *Controller) latest(app *v1alpha1.Application) *v1alpha1.Application {
	latest, err := c.application(types.NamespacedName{Namespace: app.Namespace, Name: app.Name})
	if err != nil || latest == nil || latest.UID != app.UID {
		return app
	}
	return latest
}

// decide gathers and decides, and once more if hooks have added objects of kinds
// that nobody has looked for yet.
func (c *Controller) decide(ctx context.Context, app *v1alpha1.Application) (*gathered, *plan.Plan, error) {
	for {
		g, err := c.gather(ctx, app)
		if err != nil || g.waiting {
			return g, nil, err
		}
		p := plan.Decide(g.asReported())
		if !g.learnKinds(p) {
			return g, p, nil
		}
	}
}

// learnKinds tells whether a plan has changes of kinds that were not looked up,
// and has them looked up from now on.
func (g *gathered) learnKinds(p *plan.Plan) bool {
	found := false
	for _, change := range p.Changes {
		gvk := change.GVK()
		if g.kinds.known[gvk.GroupKind()] == nil && !slices.Contains(g.memory.kinds, gvk) {
			g.memory.kinds = append(g.memory.kinds, gvk)
			found = true
		}
	}
	return found
}

// application reads an Application from the watch; nil if it is gone.
func (c *Controller) application(key types.NamespacedName) (*v1alpha1.Application, error) {
	object := c.applications.Get(key)
	if object == nil {
		return nil, nil
	}
	return cluster.DecodeApplication(object.JSON)
}

// again retries a conflict at once and in silence: the newer version is already
// on its way.
func again(err error) (time.Duration, error) {
	if apierrors.IsConflict(err) {
		return 10 * time.Millisecond, nil
	}
	if apierrors.IsNotFound(err) {
		return 0, nil // gone; the watch will say so
	}
	return 0, err
}

// longestRequest is how long a request of a process that has died may still be on its
// way: after a minute the API server gives up (its --request-timeout).
const longestRequest = time.Minute

// protect makes sure, before the first write of a plan, that the Application
// cannot go without us, and that its kinds are known should we die before the
// status is written. A kind that is named already stays for a while: of what a process
// before us was about to create when it died, nothing may be seen yet.
func (c *Controller) protect(ctx context.Context, app *v1alpha1.Application, p *plan.Plan, g *gathered) (*v1alpha1.Application, error) {
	if !p.HasWork() {
		return app, nil
	}
	gvks := map[schema.GroupVersionKind]struct{}{}
	for _, change := range p.Changes {
		gvks[change.GVK()] = struct{}{}
	}
	for _, r := range app.Status.Resources {
		gvks[schema.FromAPIVersionAndKind(r.APIVersion, r.Kind)] = struct{}{}
	}
	early := c.options.Now().Before(g.memory.since.Add(longestRequest)) || g.unseen() != nil
	if early {
		for _, gvk := range announced(app) {
			gvks[gvk] = struct{}{}
		}
	}
	marks := map[string]string{v1alpha1.AnnotationKinds: kindsAnnotation(gvks)}
	if namespaces := namespacesAnnotation(app, p, early); namespaces != app.Annotations[v1alpha1.AnnotationNamespaces] {
		marks[v1alpha1.AnnotationNamespaces] = namespaces
	}
	if creating, changed := p.Creating(early || g.memory.postponed != nil); changed {
		marks[v1alpha1.AnnotationCreating] = creating
	}
	if slices.Contains(app.Finalizers, v1alpha1.Finalizer) && len(marks) == 1 &&
		app.Annotations[v1alpha1.AnnotationKinds] == marks[v1alpha1.AnnotationKinds] {
		return app, nil
	}
	finalizers := app.Finalizers
	if !slices.Contains(finalizers, v1alpha1.Finalizer) {
		finalizers = append(slices.Clone(finalizers), v1alpha1.Finalizer)
	}
	protected, err := c.client.WriteMetadata(ctx, app, finalizers, marks)
	if err != nil {
		return nil, err
	}
	return protected, c.wroteApplication(protected)
}
