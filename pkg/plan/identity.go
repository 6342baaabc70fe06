package plan

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
)

func gvkOf(id manifest.ID, apiVersion string) schema.GroupVersionKind {
	gv, _ := schema.ParseGroupVersion(apiVersion)
	return gv.WithKind(id.Kind)
}

// IDOf returns the identity of the object that a reference names.
func IDOf(ref v1alpha1.ResourceReference) manifest.ID {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return manifest.ID{}
	}
	return manifest.ID{Group: gv.Group, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}
}

// Identify returns the identity of a normalized object, or false if it has no valid identity.
func Identify(content map[string]any, namespace string, scopes manifest.Scopes) (manifest.ID, bool) {
	apiVersion, _ := content["apiVersion"].(string)
	kind, _ := content["kind"].(string)
	metadata, _ := content["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil || kind == "" || name == "" {
		return manifest.ID{}, false
	}
	id := manifest.ID{Group: gv.Group, Kind: kind, Name: name}
	if namespaced, known := scopes.Namespaced(id.GroupKind()); namespaced || !known {
		id.Namespace = namespace
		if own, ok := metadata["namespace"].(string); ok && own != "" {
			id.Namespace = own
		}
	}
	return id, true
}

// reference returns the reference to an object. It is the inverse of IDOf.
func reference(id manifest.ID, apiVersion string) v1alpha1.ResourceReference {
	return v1alpha1.ResourceReference{APIVersion: apiVersion, Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}
}

func sortedIDs[V any](all map[manifest.ID]V) []manifest.ID {
	return slices.SortedFunc(maps.Keys(all), func(a, b manifest.ID) int {
		return strings.Compare(a.String(), b.String())
	})
}

// nameOf returns the identity of an object in the form of the annotation.
func nameOf(id manifest.ID) string {
	return strings.Join([]string{id.Group, id.Kind, id.Namespace, id.Name}, "/")
}

func isJob(id manifest.ID) bool { return id.Group == "batch" && id.Kind == "Job" }
