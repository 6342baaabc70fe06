package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/template"
	"holdfast.dev/holdfast/pkg/turn"
)

// home is a client of the API server for the Applications. It implements turn.ApplicationClient.
type home struct{ *Controller }

func (h home) Latest(app *v1alpha1.Application) *v1alpha1.Application {
	latest, err := h.application(keyOf(app))
	if err != nil || latest == nil || (app.UID != "" && latest.UID != app.UID) {
		return app
	}
	return latest
}

func (h home) Read(ctx context.Context, app *v1alpha1.Application) (*v1alpha1.Application, error) {
	return h.client.GetApplication(ctx, keyOf(app))
}

func (h home) WriteMetadata(ctx context.Context, app *v1alpha1.Application, finalizers []string, annotations map[string]string) (*v1alpha1.Application, error) {
	written, err := h.client.WriteMetadata(ctx, app, finalizers, annotations)
	if err != nil {
		return nil, err
	}
	return written, h.wroteApplication(written)
}

func (h home) WriteStatus(ctx context.Context, app *v1alpha1.Application, status v1alpha1.ApplicationStatus) (*v1alpha1.Application, error) {
	written, err := h.client.WriteStatus(ctx, app, status)
	if err != nil {
		return nil, err
	}
	return written, h.wroteApplication(written)
}

func (h home) Again(app *v1alpha1.Application) { h.ObjectChanged(app.UID) }

// Forget drops the state of an Application without Holdfast's finalizer, because later events of its objects
// do not matter. If no other finalizer remains, it also removes the Application from the store, before the
// watch does.
func (h home) Forget(app *v1alpha1.Application) error {
	h.forget(app.UID)
	if len(app.Finalizers) == 0 {
		h.applications.Deleted(keyOf(app), app.UID)
	}
	return nil
}

func (h home) Announce(app *v1alpha1.Application, event *plan.Event) { h.announce(app, event) }

func (h home) Concluded(app *v1alpha1.Application, p *plan.Plan, outcomes map[manifest.ID]plan.Outcome, result plan.Result) {
	h.observe(app, p, outcomes, result)
	h.sharers.concluded(app, p)
	h.objectEvents.record(app, h.accountOf(app), result.NewHistory)
}

func (h home) Report(app *v1alpha1.Application) (done func()) { return h.mayReport(keyOf(app)) }

// wroteApplication adds a written Application to the store before the watch delivers it, so that the watch
// event starts no reconcile.
func (c *Controller) wroteApplication(app *v1alpha1.Application) error {
	if len(app.Unknown) > 0 {
		return nil // encoded again, it would lack what this version does not know
	}
	raw, err := json.Marshal(app)
	if err != nil {
		return err
	}
	content, err := manifest.DecodeJSON(raw)
	if err != nil {
		return err
	}
	c.applications.Wrote(content)
	c.profiles.ApplicationChanged()
	return nil
}

// flushTime limits flush.
const flushTime = 5 * time.Second

// flush writes the reports that are still postponed after the last reconcile of their Applications. If a
// report is not written in time, only the time of a correction is lost.
func (c *Controller) flush(ctx context.Context, memories map[types.UID]*memory) {
	c.mu.Lock()
	names := maps.Clone(c.names)
	c.mu.Unlock()
	for uid, m := range memories {
		if ctx.Err() != nil {
			return
		}
		if m == nil {
			continue
		}
		if app, err := c.application(names[uid]); err == nil && app != nil && app.UID == uid {
			_ = c.turns.Flush(ctx, app, m.turns)
		}
	}
}

// templateHome implements templates.Controller.
type templateHome struct{ *Controller }

func (h templateHome) Application(key types.NamespacedName) (*v1alpha1.Application, error) {
	return h.application(key)
}

// Live returns the live objects of an Application. It omits kinds that are not served or not watchable,
// because no object of them is held.
func (h templateHome) Live(ctx context.Context, app *v1alpha1.Application) (live template.Live, ready bool) {
	live = template.Live{}
	view := h.viewOf(app)
	for _, gvk := range turn.KindsOf(app) {
		mapping, err := view.Mapping(ctx, gvk)
		if err != nil || !mapping.Watchable {
			continue
		}
		marked, err := view.Marked(ctx, gvk.GroupKind(), mapping)
		if err != nil {
			return nil, false
		}
		maps.Copy(live, marked)
	}
	return live, true
}

// Kept omits objects that the ServiceAccount must not read: the Application reports the missing permission.
func (h templateHome) Kept(ctx context.Context, app *v1alpha1.Application, manifests []map[string]any) (template.Live, error) {
	writer, err := h.target.client.WriterFor(app.Namespace, h.accountOf(app))
	if err != nil {
		return nil, nil //nolint:nilerr // the Application reports that the name is invalid
	}
	kept := template.Live{}
	for _, one := range manifests {
		object := unstructured.Unstructured{Object: one}
		mapping, err := h.target.mapper.Mapping(ctx, object.GroupVersionKind())
		if err != nil {
			return nil, err
		}
		id := manifest.ID{Group: mapping.Resource.Group, Kind: object.GetKind(), Namespace: app.Namespace, Name: object.GetName()}
		live, err := writer.Get(ctx, cluster.Location{ID: id, Mapping: mapping})
		switch {
		case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		case err != nil:
			return nil, fmt.Errorf("reading %s before Application %s/%s is created: %w", id, app.Namespace, app.Name, err)
		default:
			kept[id] = live
		}
	}
	return kept, nil
}

func (h templateHome) Wrote(app *v1alpha1.Application) error {
	if err := h.wroteApplication(app); err != nil {
		return err
	}
	h.queue.Add(keyOf(app))
	return nil
}

func (h templateHome) Announce(object map[string]any, event *plan.Event) {
	h.sendEvent(&unstructured.Unstructured{Object: object}, event)
}

func (h templateHome) IsAssigned(key types.NamespacedName) bool { return h.slots.isAssigned(key) }

func (h templateHome) Selected() cluster.Selection { return h.selected() }
