package controller

import (
	"context"
	"time"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/reconcile"
	"holdfast.dev/holdfast/pkg/store"
)

// shutdown is the phase of a deletion in which the workload can finish. Source: docs/hooks.md, "Shutdown".
type shutdown struct {
	calls      *shutdownCaller
	reconciler *reconcile.Reconciler
	registry   *registry
	events     *eventSender
	now        func() time.Time
}

// advance calls the workload of an Application, so that it can finish before the resources are deleted. over reports
// whether the resources can be deleted now. If not, after is the time until the next check; 0 means when something
// changes. It implements Reconciler.BeforeDeletes.
//
// Each attempt is recorded in the status before the workload is called, so that a restart never repeats an attempt.
// The response only decides about the message: the workload finishes by a callback, which sets an annotation.
func (s *shutdown) advance(ctx context.Context, app *v1alpha1.Application, target reconcile.Target, live map[manifest.ID]map[string]any) (over bool, after time.Duration, err error) {
	if app.Spec.Hooks == nil || app.Spec.Hooks.Shutdown == nil || len(app.Status.Resources) == 0 ||
		plan.Orphans(app) { // no workload ends with the Application
		return true, 0, nil
	}
	hook, now := *app.Spec.Hooks.Shutdown, s.now()
	// It is nil if the Service was deleted, or was never created. send makes sure that the call reaches no other host.
	service := live[manifest.ID{Kind: "Service", Namespace: app.Namespace, Name: hook.Service}]
	if service == nil && target.NamespaceEnds(ctx, app.Namespace) {
		return true, 0, nil // the namespace and everything in it is being deleted, and there is no Service to call
	}
	// A user can repeat a failed shutdown with the annotation holdfast.dev/reconcile.
	app = startedAgain(app)
	var state *v1alpha1.ShutdownStatus
	if app.Status.Hooks != nil {
		state = app.Status.Hooks.Shutdown
	}
	_, acknowledged := app.Annotations[v1alpha1.AnnotationShutDown]
	step, wait := hooks.NextShutdown(hook, state, acknowledged, now)
	if step == hooks.ShutdownDone || step == hooks.ShutdownFailed {
		return true, 0, nil
	}
	result := plan.ShuttingDown(app, step, s.calls.messageOf(app.UID, state), now)
	if err := s.reconciler.WriteStatus(ctx, app, result.Status); err != nil {
		after, err = reconcile.Again(err)
		return false, after, err
	}
	s.events.announce(app, result.Event)
	// The attempt is in the status by now.
	if step == hooks.ShutdownCall {
		s.call(ctx, app, hook, service)
		wait = hooks.Grace(hook)
	}
	return false, wait, nil
}

// startedAgain returns the Application without its recorded shutdown attempts if the user requested another
// reconcile.
func startedAgain(app *v1alpha1.Application) *v1alpha1.Application {
	if app.Status.Hooks == nil || app.Annotations[v1alpha1.AnnotationReconcile] == app.Status.ReconcileRequest {
		return app
	}
	app = app.DeepCopy()
	app.Status.Hooks.Shutdown = nil
	return app
}

// call calls a workload in a separate goroutine, and queues its Application after the response. The context must not
// end with the reconcile, which does not wait for the call.
func (s *shutdown) call(ctx context.Context, app *v1alpha1.Application, hook v1alpha1.ShutdownHook, service map[string]any) {
	key := store.Key(app)
	s.calls.begin(app.UID)
	s.calls.running.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		s.calls.note(app.UID, s.calls.send(ctx, app, hook, service))
		s.registry.queue.Add(key)
	})
}
