package cluster

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/store"
)

// CreateApplication creates an Application with the controller's own permissions, and returns the stored
// one. manager is the field manager.
func (c *Client) CreateApplication(ctx context.Context, app *v1alpha1.Application, manager string) (*v1alpha1.Application, error) {
	return decodeApplication(c.create(ctx, v1alpha1.Resource, app, manager))
}

// PatchApplication applies a JSON Patch to an Application with the controller's own permissions, and returns the
// stored one. manager is the field manager.
func (c *Client) PatchApplication(ctx context.Context, at types.NamespacedName, ops []delta.Op, manager string) (*v1alpha1.Application, error) {
	return decodeApplication(c.patch(ctx, v1alpha1.Resource, at, types.JSONPatchType, ops, manager))
}

// WriteObjectStatus replaces the status of the object with that UID, in any version, and returns the stored object.
func (c *Client) WriteObjectStatus(ctx context.Context, gvr schema.GroupVersionResource, o *store.Object, status any, manager string) (map[string]any, error) {
	body, err := json.Marshal([]delta.Op{
		{Op: "test", Path: "/metadata/uid", Value: o.UID},
		{Op: "add", Path: "/status", Value: status},
	})
	if err != nil {
		return nil, fmt.Errorf("writing the status of %s %s: %w", gvr.Resource, o.Key, err)
	}
	written, err := c.Own.Resource(gvr).Namespace(o.Key.Namespace).Patch(ctx, o.Key.Name, types.JSONPatchType, body,
		metav1.PatchOptions{FieldManager: manager}, "status")
	return content(written), err
}
