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
	g, err := c.gather(ctx, app)
	if err != nil || g.waiting {
		return 0, err
	}
	p := plan.Decide(g.asReported())
	if p.Suspended() || p.Refused != nil {
		return c.report(ctx, app, p, nil)
	}
	if app, err = c.protect(ctx, app, p); err != nil {
		return again(err)
	}
	return c.report(ctx, app, p, c.act(ctx, g, p))
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

// protect makes sure, before the first write of a plan, that the Application
// cannot go without us, and that its kinds are known should we die before the
// status is written.
func (c *Controller) protect(ctx context.Context, app *v1alpha1.Application, p *plan.Plan) (*v1alpha1.Application, error) {
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
	annotation := kindsAnnotation(gvks)
	if slices.Contains(app.Finalizers, v1alpha1.Finalizer) && app.Annotations[v1alpha1.AnnotationKinds] == annotation {
		return app, nil
	}
	finalizers := app.Finalizers
	if !slices.Contains(finalizers, v1alpha1.Finalizer) {
		finalizers = append(slices.Clone(finalizers), v1alpha1.Finalizer)
	}
	protected, err := c.client.WriteMetadata(ctx, app, finalizers, map[string]string{v1alpha1.AnnotationKinds: annotation})
	if err != nil {
		return nil, err
	}
	return protected, c.wroteApplication(protected)
}
