package reconcile

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// namespacesOf returns the namespaces in which an Application may have objects, sorted: its own, those of its
// manifests and its inventory, and those of the write-ahead annotation. Shared objects do not count, because they are
// watched by name. The result limits the watches of a controller that may watch only single namespaces.
func namespacesOf(app *v1alpha1.Application, manifests []map[string]any) []string {
	namespaces := sets.New(app.Namespace)
	for _, content := range manifests {
		namespaces.Insert(manifest.NestedString(content, "metadata", "namespace"))
	}
	for _, r := range app.Status.Resources {
		// A shared object is watched by name, in any namespace.
		if !claim.RecordedPolicy(app, &r).Claims {
			namespaces.Insert(r.Namespace)
		}
	}
	namespaces.Insert(announcedNamespaces(app)...)
	namespaces.Delete("") // cluster-scoped objects have no namespace
	return sets.List(namespaces)
}

// namespacesAnnotation returns the write-ahead annotation for namespaces, without the Application's own;
// empty if there are none. early keeps the namespaces that the annotation already names.
func namespacesAnnotation(app *v1alpha1.Application, p *plan.Plan, early bool) string {
	namespaces := sets.New[string]()
	if early {
		namespaces.Insert(announcedNamespaces(app)...)
	}
	for _, change := range p.Changes {
		if !change.Shared {
			namespaces.Insert(change.ID.Namespace)
		}
	}
	for _, r := range app.Status.Resources {
		if !claim.RecordedPolicy(app, &r).Claims {
			namespaces.Insert(r.Namespace)
		}
	}
	// Cluster-scoped objects have no namespace, and the Application's own is always watched.
	namespaces.Delete("", app.Namespace)
	return strings.Join(sets.List(namespaces), ",")
}

// announcedNamespaces returns the namespaces of the write-ahead annotation, or "" if there is none.
func announcedNamespaces(app *v1alpha1.Application) []string {
	return strings.Split(app.Annotations[v1alpha1.AnnotationNamespaces], ",")
}
