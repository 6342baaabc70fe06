package templates

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/template"
	"holdfast.dev/holdfast/pkg/turn"
)

// reconcile has the Application of one custom resource be what it asks for, and
// then its status be what is true. After a write of the Application the status
// waits: the Application is handled at once, and then there is more to say.
func (t *Templates) reconcile(ctx context.Context, k key) (time.Duration, error) {
	store := k.kind.current()
	if store == nil {
		return 0, nil // the kind is gone
	}
	object := store.Get(k.NamespacedName)
	if object == nil || !t.c.Mine(k.NamespacedName) {
		return 0, nil
	}
	app, err := t.c.Application(k.NamespacedName)
	if err != nil {
		return 0, err
	}
	seen := template.Seen{Object: object.Content(), Now: metav1.NewTime(t.now())}
	waiting := t.gather(ctx, app, &seen)
	if waiting {
		return 0, nil // for the first list of a watch; the Application is handled then
	}
	wrote, err := t.hold(ctx, k.kind, app, &seen)
	if err != nil || wrote {
		return turn.Again(err)
	}
	return turn.Again(t.report(ctx, k.kind, store, object, seen))
}

// gather collects what there is of a custom resource: its Application and the live
// objects of that. What is not known because a watch fails is left open.
func (t *Templates) gather(ctx context.Context, app *v1alpha1.Application, seen *template.Seen) (waiting bool) {
	seen.Live = template.Live{}
	if app == nil || !template.IsOwner(seen.Object, app) {
		return false
	}
	seen.Application = app
	live, ready := t.c.Live(ctx, app)
	if !ready {
		seen.Live = nil
		return !apimeta.IsStatusConditionTrue(app.Status.Conditions, v1alpha1.ConditionStalled)
	}
	seen.Live = live
	return false
}

// hold makes the Application what the custom resource asks for, or says why not.
// It reports whether it wrote.
func (t *Templates) hold(ctx context.Context, kind *kind, app *v1alpha1.Application, seen *template.Seen) (wrote bool, err error) {
	desired := desiredOf(kind, app, seen)
	if desired == nil {
		return false, nil
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

// takeExisting takes an Application that exists although the watch does not have it: it
// lags behind, or does not select it. It is nil if it is not the resource's.
func (t *Templates) takeExisting(ctx context.Context, desired *v1alpha1.Application, seen *template.Seen) (*v1alpha1.Application, error) {
	app, err := t.client.GetApplication(ctx, keyOf(desired))
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

// desiredOf is the Application that a custom resource asks for; nil if it must not
// be written: then seen has the refusal, or the resource is going, or there may be
// live objects that are not known now.
func desiredOf(kind template.Template, app *v1alpha1.Application, seen *template.Seen) *v1alpha1.Application {
	object := unstructured.Unstructured{Object: seen.Object}
	if object.GetDeletionTimestamp() != nil {
		return nil
	}
	if refuse(app, seen) {
		return nil
	}
	rendered, err := kind.Render(template.Input{Object: seen.Object, Live: seen.Live})
	if seen.Refusal = err; err != nil || seen.Live == nil {
		return nil
	}
	desired, err := rendered.Application(seen.Object)
	seen.Refusal = err
	return desired
}

// write creates or updates an Application; nil if it is as it should be.
func (t *Templates) write(ctx context.Context, app, desired *v1alpha1.Application) (*v1alpha1.Application, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if app == nil {
		return t.client.CreateApplication(ctx, desired, template.FieldManager)
	}
	ops := template.Update(app, desired)
	if ops == nil {
		return nil, nil
	}
	return t.client.PatchApplication(ctx, keyOf(app), ops, template.FieldManager)
}

// refuse records in seen why the Application of that name cannot become the custom
// resource's, and reports whether that is so.
func refuse(app *v1alpha1.Application, seen *template.Seen) bool {
	fault := inTheWay(seen.Object, app)
	if fault != nil {
		seen.Refusal = fault
	}
	return fault != nil
}

// inTheWay says why an Application of that name cannot become the resource's; nil if it
// is that already, or may become it.
func inTheWay(object map[string]any, app *v1alpha1.Application) *template.ValidationError {
	switch {
	case app == nil:
		return nil
	case app.DeletionTimestamp != nil:
		return &template.ValidationError{Reason: template.ReasonWaiting, Message: fmt.Sprintf("Application %s is still being deleted; it is made again when that is done", app.Name)}
	case template.IsOwner(object, app):
		return nil
	}
	owner := metav1.GetControllerOf(app)
	if owner == nil {
		return &template.ValidationError{Reason: template.ReasonApplicationConflict, Message: fmt.Sprintf(
			"there is an Application %s already, and nothing owns it: choose another name", app.Name)}
	}
	kind, _ := object["kind"].(string)
	if owner.Kind == kind && owner.Name == app.Name {
		return &template.ValidationError{Reason: template.ReasonWaiting, Message: fmt.Sprintf(
			"Application %s is that of an earlier %s of this name; it is made again when the garbage collector has removed it", app.Name, kind)}
	}
	return &template.ValidationError{Reason: template.ReasonApplicationConflict, Message: fmt.Sprintf(
		"Application %s belongs to %s %s: choose another name", app.Name, owner.Kind, owner.Name)}
}

// report writes the status of a custom resource, if it is news.
func (t *Templates) report(ctx context.Context, kind *kind, store *cluster.ApplicationStore, object *cluster.Object, seen template.Seen) error {
	status, err := kind.Status(seen)
	if err != nil {
		return fmt.Errorf("the status of %s %s: %w", kind.Kind().Kind, object.Key, err)
	}
	if status, err = decoded(status); err != nil {
		return fmt.Errorf("the status of %s %s: %w", kind.Kind().Kind, object.Key, err)
	}
	if reflect.DeepEqual(status, seen.Object["status"]) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	written, err := t.client.WriteObjectStatus(ctx, kind.Kind().GroupVersionResource(), object, status, template.FieldManager)
	if err != nil {
		return err
	}
	store.Wrote(written)
	if verdict := seen.Verdict(); seen.Refusal != nil && verdict.Stalled {
		t.c.Announce(seen.Object, &plan.Event{Warning: true, Reason: verdict.Reason, Note: verdict.Message})
	}
	return nil
}

// decoded is a value as it is when it comes back from the API server.
func decoded(value map[string]any) (map[string]any, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return manifest.DecodeJSON(raw)
}

func keyOf(app *v1alpha1.Application) types.NamespacedName {
	return types.NamespacedName{Namespace: app.Namespace, Name: app.Name}
}

// requestTimeout bounds one request.
const requestTimeout = 30 * time.Second
