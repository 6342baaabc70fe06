package connection

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/manifest"
)

// ApplicationsWith returns the names of the Applications in the namespace of c that have an object in their
// manifests or in their inventory, also if these are in slices. An object can be in several Applications: one owns
// it, and others share it. A selected object is found by the inventory. An Application whose slices cannot be read
// is an error, because it can have the object.
func (c *Cluster) ApplicationsWith(ctx context.Context, id manifest.ID) (names []string, err error) {
	list, err := c.ListApplications(ctx, c.Namespace, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		app := &list.Items[i]
		if err := c.JoinObject(ctx, app); err != nil {
			return nil, fmt.Errorf("Application %s/%s: %w", c.Namespace, app.GetName(), err)
		}
		manifests, _, _ := unstructured.NestedSlice(app.Object, "spec", "manifest")
		resources, _, _ := unstructured.NestedSlice(app.Object, "status", "resources")
		if files.Position(manifests, id, c.Namespace) >= 0 || files.Position(resources, id, c.Namespace) >= 0 {
			names = append(names, app.GetName())
		}
	}
	return names, nil
}
