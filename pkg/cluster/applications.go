package cluster

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/store"
)

// GetApplication reads an Application.
func (c *Client) GetApplication(ctx context.Context, at types.NamespacedName) (*v1alpha1.Application, error) {
	return decodeApplication(c.get(ctx, v1alpha1.Resource, at))
}

// WriteMetadata replaces the finalizers and merges annotations of an Application. It returns the JSON of the
// written Application, or a conflict if the Application has another version.
func (c *Client) WriteMetadata(ctx context.Context, app *v1alpha1.Application, finalizers []string, annotations map[string]string) ([]byte, error) {
	metadata := map[string]any{
		"uid": app.UID, "resourceVersion": app.ResourceVersion, "finalizers": finalizers,
	}
	if annotations != nil {
		metadata["annotations"] = annotations
	}
	return c.patch(ctx, v1alpha1.Resource, store.Key(app), types.MergePatchType, map[string]any{"metadata": metadata}, v1alpha1.FieldManager)
}

// Annotate sets an annotation of the Application with that UID.
func (c *Client) Annotate(ctx context.Context, app *v1alpha1.Application, key, value string) error {
	metadata := map[string]any{"uid": app.UID, "annotations": map[string]string{key: value}}
	_, err := c.patch(ctx, v1alpha1.Resource, store.Key(app), types.MergePatchType, map[string]any{"metadata": metadata}, v1alpha1.FieldManager)
	return err
}

// DeleteApplication deletes the Application with that UID. It returns no error if the Application is
// already deleted or replaced.
func (c *Client) DeleteApplication(ctx context.Context, app *v1alpha1.Application) error {
	err := c.applications.Delete().Namespace(app.Namespace).Resource(v1alpha1.Resource).Name(app.Name).
		Body(&metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &app.UID}}).Do(ctx).Error()
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// WriteStatus replaces the status of an Application. It returns the JSON of the written Application, or a
// conflict if the Application has another version. It uses a JSON Patch, because a merge patch would remove
// the nulls of the observer schema.
func (c *Client) WriteStatus(ctx context.Context, app *v1alpha1.Application, status v1alpha1.ApplicationStatus) ([]byte, error) {
	ops := append([]delta.Op{
		{Op: "test", Path: "/metadata/uid", Value: app.UID},
		// Not a test operation: with replace, another version is a conflict instead of an invalid patch.
		{Op: "replace", Path: "/metadata/resourceVersion", Value: app.ResourceVersion},
	}, statusOps(app, status)...)
	return c.patch(ctx, v1alpha1.Resource, store.Key(app), types.JSONPatchType, ops, v1alpha1.FieldManager, "status")
}

// statusOps returns the operations that replace the status. A newer version wrote the status of an Application
// that this version does not understand, so its other fields are left.
func statusOps(app *v1alpha1.Application, status v1alpha1.ApplicationStatus) []delta.Op {
	if len(app.Unknown) == 0 {
		return []delta.Op{{Op: "add", Path: "/status", Value: status}}
	}
	return []delta.Op{
		{Op: "add", Path: "/status/observedGeneration", Value: status.ObservedGeneration},
		{Op: "add", Path: "/status/conditions", Value: status.Conditions},
		{Op: "add", Path: "/status/reconcileRequest", Value: status.ReconcileRequest},
	}
}

// get reads an object of a resource of Holdfast, and returns its JSON.
func (c *Client) get(ctx context.Context, resource string, at types.NamespacedName) ([]byte, error) {
	return rawJSON(c.applications.Get().Namespace(at.Namespace).Resource(resource).Name(at.Name).Do(ctx))
}

// create creates an object of a resource of Holdfast, and returns the JSON of the stored one.
func (c *Client) create(ctx context.Context, resource string, object metav1.Object, manager string) ([]byte, error) {
	body, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("writing %s %s: %w", resource, store.Key(object), err)
	}
	return rawJSON(c.applications.Post().Namespace(object.GetNamespace()).Resource(resource).
		VersionedParams(&metav1.CreateOptions{FieldManager: manager}, metav1.ParameterCodec).Body(body).Do(ctx))
}

// patch patches an object of a resource of Holdfast, and returns the JSON of the stored one.
func (c *Client) patch(ctx context.Context, resource string, at types.NamespacedName, kind types.PatchType, patch any, manager string, subresources ...string) ([]byte, error) {
	body, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("writing the patch of %s %s: %w", resource, at, err)
	}
	return rawJSON(c.applications.Patch(kind).Namespace(at.Namespace).Resource(resource).Name(at.Name).SubResource(subresources...).
		VersionedParams(&metav1.PatchOptions{FieldManager: manager}, metav1.ParameterCodec).Body(body).Do(ctx))
}

// NamespaceEnds reports whether a namespace is known to be terminating.
func (c *Client) NamespaceEnds(ctx context.Context, name string) bool {
	namespace, err := c.Metadata.Resource(namespaces).Get(ctx, name, metav1.GetOptions{})
	return err == nil && namespace.DeletionTimestamp != nil
}

// decodeApplication decodes the result of a request.
func decodeApplication(raw []byte, err error) (*v1alpha1.Application, error) {
	if err != nil {
		return nil, err
	}
	return DecodeApplication(raw)
}

// DecodeApplication decodes an Application from JSON.
func DecodeApplication(raw []byte) (*v1alpha1.Application, error) {
	app, err := v1alpha1.DecodeApplication(raw)
	if err != nil {
		return nil, fmt.Errorf("reading an Application: %w", err)
	}
	app.ManagedFields = nil
	return app, nil
}
