package reconcile

import (
	"maps"
	"slices"
	"strings"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// namespacesOf returns the namespaces in which an Application may have objects, sorted: its own, those of its
// manifests and its inventory, and those of the write-ahead annotation. Shared objects do not count, because they are
// watched by name. The result limits the watches of a controller that may watch only single namespaces.
func namespacesOf(app *v1alpha1.Application, manifests []map[string]any) []string {
	namespaces := map[string]struct{}{app.Namespace: {}}
	for _, content := range manifests {
		namespaces[manifest.NestedString(content, "metadata", "namespace")] = struct{}{}
	}
	for _, r := range app.Status.Resources {
		// A shared object is watched by name, in any namespace.
		if !claim.RecordedPolicy(app, &r).Claims {
			namespaces[r.Namespace] = struct{}{}
		}
	}
	for namespace := range strings.SplitSeq(app.Annotations[v1alpha1.AnnotationNamespaces], ",") {
		namespaces[namespace] = struct{}{}
	}
	delete(namespaces, "") // cluster-scoped objects have no namespace
	return slices.Sorted(maps.Keys(namespaces))
}

// namespacesAnnotation returns the write-ahead annotation for namespaces, without the Application's own;
// empty if there are none. early keeps the namespaces that the annotation already names.
func namespacesAnnotation(app *v1alpha1.Application, p *plan.Plan, early bool) string {
	namespaces := map[string]struct{}{}
	if early {
		for namespace := range strings.SplitSeq(app.Annotations[v1alpha1.AnnotationNamespaces], ",") {
			namespaces[namespace] = struct{}{}
		}
	}
	for _, change := range p.Changes {
		if !change.Shared {
			namespaces[change.ID.Namespace] = struct{}{}
		}
	}
	for _, r := range app.Status.Resources {
		if !claim.RecordedPolicy(app, &r).Claims {
			namespaces[r.Namespace] = struct{}{}
		}
	}
	// Cluster-scoped objects have no namespace, and the Application's own is always watched.
	delete(namespaces, "")
	delete(namespaces, app.Namespace)
	return strings.Join(slices.Sorted(maps.Keys(namespaces)), ",")
}
