package connection

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"

	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/plan"
)

// resources are KIND/NAME of all resources of an Application, for completion:
// from its status, in one request.
func (f Flags) resources(ctx context.Context, application string) []string {
	c, err := f.Connect()
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	app, err := c.GetApplication(ctx, types.NamespacedName{Namespace: c.Namespace, Name: application})
	if err != nil {
		return nil
	}
	var names []string
	for _, r := range app.Status.Resources {
		names = append(names, files.ArgumentOf(plan.IDOf(r.ResourceReference), false))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

var namespacesResource = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// Namespaces completes --namespace.
func (f Flags) Namespaces(ctx context.Context, _ []string, _ string) []string {
	c, err := f.Connect()
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	return c.namesOf(ctx, c.Metadata.Resource(namespacesResource))
}

// namesOf are the names of objects that can be listed; none if they cannot.
func (c *Cluster) namesOf(ctx context.Context, client metadata.ResourceInterface) []string {
	list, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil
	}
	names := make([]string, len(list.Items))
	for i := range list.Items {
		names[i] = list.Items[i].Name
	}
	return names
}
