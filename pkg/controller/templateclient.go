package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/reconcile"
	"holdfast.dev/holdfast/pkg/store"
	"holdfast.dev/holdfast/pkg/template"
)

// templateClient implements templates.Controller. The workers of templates call it.
type templateClient struct {
	applications *applicationClient
	target       *targetCluster
	registry     *registry
	events       *eventSender
}

func (h templateClient) Application(key types.NamespacedName) (*v1alpha1.Application, error) {
	return h.applications.application(key)
}

// Live returns the live objects of an Application from the stores of its watches. It omits kinds that are not served
// or not watchable, because no object of them is held. It starts no watch: ready is false until the Application was
// reconciled, and while it cannot be determined whether a kind is served.
func (h templateClient) Live(ctx context.Context, app *v1alpha1.Application) (live template.Live, ready bool) {
	live = template.Live{}
	view := h.target.viewOf(app)
	for _, gvk := range reconcile.KindsOf(app) {
		mapping, err := view.Mapping(ctx, gvk)
		switch {
		case errors.Is(err, cluster.ErrKindUnknown):
			continue
		case err != nil:
			return nil, false
		case !mapping.Watchable:
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

// Kept reads the objects of manifests with the rights of the Application's ServiceAccount. It omits objects that do
// not exist, and objects that the ServiceAccount must not read: the Application reports the missing permission.
func (h templateClient) Kept(ctx context.Context, app *v1alpha1.Application, manifests []map[string]any) (template.Live, error) {
	writer, err := h.target.client.WriterFor(app.Namespace, h.target.accountOf(app))
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
		// Templates create objects only in the namespace of the custom resource.
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

// Wrote adds the Application to the store and queues it, because its watch event will start no reconcile. It does not
// queue an Application that is not selected, because its reconcile would queue the custom resource again, without end.
func (h templateClient) Wrote(app *v1alpha1.Application) error {
	if len(app.Unknown) == 0 { // encoded again, it would lack what this version does not know
		raw, err := json.Marshal(app)
		if err != nil {
			return err
		}
		if err := h.applications.wrote(raw); err != nil {
			return err
		}
	}
	if key := store.Key(app); h.applications.store.Get(key) != nil {
		h.registry.queue.Add(key)
	}
	return nil
}

func (h templateClient) Announce(object map[string]any, event *plan.Event) {
	h.events.send(&unstructured.Unstructured{Object: object}, event)
}
