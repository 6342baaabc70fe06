package controller

import (
	"context"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/reconcile"
)

// reconcile reconciles an Application once. It returns the time until the next reconcile; 0 means when something
// changes. If the Application does not exist, it deletes its remaining slices. It is called on a worker. The queue
// prevents two calls for one key at the same time.
func (c *Controller) reconcile(ctx context.Context, key types.NamespacedName) (time.Duration, error) {
	app, err := c.applications.application(key)
	if err != nil {
		return 0, err
	}
	if app == nil {
		return c.reconciler.Collect(ctx, key, nil)
	}
	// Changes from here on start another reconcile.
	m, news := c.registry.memoryOf(app)
	defer c.forgetMissing(key, app.UID)
	after, err := c.reconciler.Reconcile(ctx, app, m.state, news)
	if err != nil {
		return 0, err
	}
	if hook := app.Spec.Hooks; hook != nil && hook.Complete != nil { // most Applications need not be decoded again
		err = c.finishCompleted(ctx, key)
	}
	return reconcile.MinWait(after, c.resync(app)), err
}

// finishCompleted deletes an Application whose workload has reported completion, if the hook requests the deletion
// and the Application is not observe-only. It waits until the status reports the completion, because by then an event
// has been emitted. It reads the Application again, because the reconcile may have changed its status. Source:
// docs/hooks.md, "Complete".
func (c *Controller) finishCompleted(ctx context.Context, key types.NamespacedName) error {
	app, err := c.applications.application(key)
	if app == nil || app.DeletionTimestamp != nil || len(app.Unknown) > 0 || app.Spec.Mode == v1alpha1.ModeObserve {
		return err
	}
	hook := app.Spec.Hooks
	if hook == nil || hook.Complete == nil || hook.Complete.Action == v1alpha1.CompleteKeep {
		return nil
	}
	_, said := app.Annotations[v1alpha1.AnnotationCompleted]
	if !said || !apimeta.IsStatusConditionTrue(app.Status.Conditions, v1alpha1.ConditionCompleted) {
		return nil
	}
	return c.client.DeleteApplication(ctx, app)
}
