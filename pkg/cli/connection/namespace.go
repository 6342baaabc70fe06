package connection

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// Namespace returns a Namespace as it is created.
func Namespace(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}
}

// CreateNamespace creates a namespace if it does not exist, and reports whether it has created it. A user who may
// not read the namespace may still create it. A namespace that is being deleted counts as existing. The next request
// that creates an object in it then fails.
func (c *Client) CreateNamespace(ctx context.Context, name string, dryRun DryRun) (created bool, err error) {
	client := c.Own.Resource(namespaces)
	_, err = client.Get(ctx, name, metav1.GetOptions{})
	if err == nil || !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
		return false, c.Explained(err, "get", "Namespace "+name)
	}
	_, err = client.Create(ctx, Namespace(name), metav1.CreateOptions{FieldManager: fieldManager, DryRun: dryRun.Options()})
	if apierrors.IsAlreadyExists(err) {
		return false, nil
	}
	return err == nil, c.Explained(err, "create", "Namespace "+name)
}
