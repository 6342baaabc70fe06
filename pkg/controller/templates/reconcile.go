package templates

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/reconcile"
	"holdfast.dev/holdfast/pkg/store"
	"holdfast.dev/holdfast/pkg/template"
)

// reconcile writes the Application of a custom resource, or else the status of the custom resource. After a write of
// the Application, the status waits: the Application is reconciled immediately, and then there is more to report. It
// returns when to handle the custom resource again; 0 means when something changes. A deleted custom resource needs
// no work: the garbage collector deletes its Application.
func (t *Templates) reconcile(ctx context.Context, k key) (time.Duration, error) {
	store := k.kind.current()
	if store == nil {
		return 0, nil // the kind is no longer served
	}
	object := store.Get(k.NamespacedName)
	if object == nil {
		return 0, nil
	}
	app, err := t.c.Application(k.NamespacedName)
	if err != nil {
		return 0, err
	}
	seen := template.Seen{Object: object.Content(), Now: metav1.NewTime(t.now())}
	if t.gather(ctx, app, &seen) {
		return 0, nil // for the first list of a watch; the Application is reconciled then
	}
	wrote, err := t.hold(ctx, k.kind, app, &seen)
	if err != nil {
		seen.Refusal = asRejection(k.Name, err)
	}
	if wrote || err != nil && seen.Refusal == nil {
		return reconcile.Again(err)
	}
	wait, reportErr := reconcile.Again(t.report(ctx, k.kind, store, object, seen))
	if err = cmp.Or(reportErr, err); err == nil && app == nil && seen.Refusal != nil {
		wait = keptInterval
	}
	return wait, err
}

// asRejection returns the error of a write of an Application as a validation error, if the API server has rejected the
// content, or an admission plugin the request. It returns nil for other errors, which are retried without a report.
func asRejection(name string, err error) error {
	isRejected := apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsRequestEntityTooLargeError(err)
	if !isRejected || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil
	}
	return &template.ValidationError{
		Reason: template.ReasonApplicationRejected, Message: fmt.Sprintf("the API server has rejected Application %s: %v", name, err),
	}
}

// keptInterval is how often a custom resource without an Application is rendered again: no watch reports
// that an object in RenderedTemplate.Kept is gone.
const keptInterval = time.Minute

// gather adds the Application of a custom resource, and its live objects, to seen. It reports whether it has to wait
// for the first list of a watch. If the Application is stalled, it does not wait, and the live objects remain
// unknown. seen.Live is empty if the custom resource has no Application, and nil if the live objects are unknown.
func (t *Templates) gather(ctx context.Context, app *v1alpha1.Application, seen *template.Seen) (waiting bool) {
	seen.Live = template.Live{}
	if app == nil || !template.IsOwner(seen.Object, app) {
		return false
	}
	seen.Application = app
	var ready bool
	seen.Live, ready = t.c.Live(ctx, app)
	return !ready && !apimeta.IsStatusConditionTrue(app.Status.Conditions, v1alpha1.ConditionStalled)
}

// hold writes the Application that the custom resource requests, or records in seen why it cannot. It reports whether
// it wrote. app is nil if the store has no Application of that name.
func (t *Templates) hold(ctx context.Context, kind *kind, app *v1alpha1.Application, seen *template.Seen) (wrote bool, err error) {
	desired, err := t.desiredOf(ctx, kind, app, seen)
	if err != nil || desired == nil {
		return false, err
	}
	written, err := t.write(ctx, app, desired)
	if apierrors.IsAlreadyExists(err) {
		written, err = t.takeExisting(ctx, desired, seen)
	}
	if err != nil || written == nil {
		return false, err
	}
	return true, t.c.Wrote(written)
}

// takeExisting updates an Application that exists but is not in the store, because the watch lags behind or does not
// select it. It returns nil if the Application does not belong to the custom resource, and the unchanged Application
// if there is nothing to write.
func (t *Templates) takeExisting(ctx context.Context, desired *v1alpha1.Application, seen *template.Seen) (*v1alpha1.Application, error) {
	app, err := t.client.GetApplication(ctx, store.Key(desired))
	if err != nil {
		return nil, err
	}
	if refuse(app, seen) {
		return nil, nil
	}
	if written, err := t.write(ctx, app, desired); err != nil || written != nil {
		return written, err
	}
	return app, nil
}

// desiredOf returns the Application that a custom resource requests, or nil if it must not be written. This
// is the case if there is a refusal, which desiredOf records in seen, if the custom resource is being
// deleted, or if its live objects are unknown.
func (t *Templates) desiredOf(ctx context.Context, kind template.Template, app *v1alpha1.Application, seen *template.Seen) (*v1alpha1.Application, error) {
	object := unstructured.Unstructured{Object: seen.Object}
	if object.GetDeletionTimestamp() != nil || refuse(app, seen) {
		return nil, nil
	}
	// The error of render is in the status even if nothing can be written.
	desired, manifests := render(kind, seen, seen.Live)
	if desired == nil || seen.Live == nil {
		return nil, nil
	}
	// After the Application exists, its live objects show what an earlier one has left.
	if app != nil || len(manifests) == 0 {
		return desired, nil
	}
	ctx, cancel := context.WithTimeout(ctx, cluster.RequestTimeout)
	defer cancel()
	kept, err := t.c.Kept(ctx, desired, manifests)
	if err == nil && len(kept) > 0 {
		desired, _ = render(kind, seen, kept)
	}
	return desired, err
}

// render returns the Application that a custom resource requests, and the manifests of the objects that an
// earlier one may have left. If there is a refusal, render records it in seen, and returns nil.
func render(kind template.Template, seen *template.Seen, live template.Live) (desired *v1alpha1.Application, kept []map[string]any) {
	rendered, err := kind.Render(template.Input{Object: seen.Object, Live: live})
	if err == nil {
		desired, err = rendered.Application(seen.Object)
	}
	if seen.Refusal = err; err != nil {
		return nil, nil
	}
	return desired, rendered.Kept
}

// write creates or updates an Application. It returns nil if there is nothing to change.
func (t *Templates) write(ctx context.Context, app, desired *v1alpha1.Application) (*v1alpha1.Application, error) {
	ctx, cancel := context.WithTimeout(ctx, cluster.RequestTimeout)
	defer cancel()
	if app == nil {
		return t.client.CreateApplication(ctx, desired, template.FieldManager)
	}
	ops := template.Update(app, desired)
	if ops == nil {
		return nil, nil
	}
	return t.client.PatchApplication(ctx, store.Key(app), ops, template.FieldManager)
}

// refuse reports whether the existing Application cannot belong to the custom resource. It records the
// reason in seen.
func refuse(app *v1alpha1.Application, seen *template.Seen) bool {
	reason, message := inTheWay(seen.Object, app)
	if reason != "" {
		seen.Refusal = &template.ValidationError{Reason: reason, Message: message}
	}
	return reason != ""
}

// inTheWay returns why the existing Application cannot belong to the custom resource. The reason is "" if it
// already does, or if there is none.
func inTheWay(object map[string]any, app *v1alpha1.Application) (reason, message string) {
	switch {
	case app == nil:
		return "", ""
	case app.DeletionTimestamp != nil:
		return template.ReasonWaiting, fmt.Sprintf("Application %s is being deleted; it is created again after that", app.Name)
	case template.IsOwner(object, app):
		return "", ""
	}
	owner := metav1.GetControllerOf(app)
	kind, _ := object["kind"].(string)
	switch {
	case owner == nil:
		return template.ReasonApplicationConflict, fmt.Sprintf("an Application %s without an owner already exists: choose another name", app.Name)
	// IsOwner compares the UID, too, so this owner was deleted.
	case owner.Kind == kind && owner.Name == app.Name:
		return template.ReasonWaiting, fmt.Sprintf("Application %s belongs to a deleted %s of this name; it is created again after the garbage collector has deleted it", app.Name, kind)
	}
	return template.ReasonApplicationConflict, fmt.Sprintf("Application %s belongs to %s %s: choose another name", app.Name, owner.Kind, owner.Name)
}

// report writes the status of a custom resource if it has changed. It emits an event only together with a new status,
// so that a refusal that lasts causes one event.
func (t *Templates) report(ctx context.Context, kind *kind, store *cluster.ApplicationStore, object *store.Object, seen template.Seen) error {
	status, err := kind.Status(seen)
	if err == nil { // in the form in which the API server returns it, so that both can be compared
		status, err = manifest.DecodeJSON(manifest.EncodeJSON(status))
	}
	if err != nil {
		return fmt.Errorf("the status of %s %s: %w", kind.Kind().Kind, object.Key, err)
	}
	if reflect.DeepEqual(status, seen.Object["status"]) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, cluster.RequestTimeout)
	defer cancel()
	written, err := t.client.WriteObjectStatus(ctx, kind.Kind().GroupVersionResource(), object, status, template.FieldManager)
	if err != nil {
		return err
	}
	// The watch event would otherwise start another pass.
	store.Wrote(written)
	if verdict := seen.Verdict(); seen.Refusal != nil && verdict.Stalled {
		t.c.Announce(seen.Object, &plan.Event{Warning: true, Reason: verdict.Reason, Note: verdict.Message})
	}
	return nil
}
