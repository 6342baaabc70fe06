package manifest

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// IDFromReference returns the identity of the object that a reference names. It returns the zero ID if the apiVersion
// is invalid, which no object has.
func IDFromReference(ref v1alpha1.ResourceReference) ID {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return ID{}
	}
	return ID{Group: gv.Group, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}
}

// Identify returns the identity of a normalized object, or false if it has no valid identity. namespace is the default
// for namespaced kinds. An unknown kind counts as namespaced. It is for code that needs only the identity, such as the
// list of shared objects. It validates nothing else.
func Identify(content map[string]any, namespace string, scopes Scopes) (ID, bool) {
	apiVersion, _ := content["apiVersion"].(string)
	kind, _ := content["kind"].(string)
	metadata := NestedMap(content, "metadata")
	name, _ := metadata["name"].(string)
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil || kind == "" || name == "" {
		return ID{}, false
	}
	id := ID{Group: gv.Group, Kind: kind, Name: name}
	if namespaced, known := scopes.Namespaced(id.GroupKind()); namespaced || !known {
		id.Namespace = namespace
		if own, ok := metadata["namespace"].(string); ok && own != "" {
			id.Namespace = own
		}
	}
	return id, true
}

// SortedIDs returns the keys of a map in the order of their string form.
func SortedIDs[V any](all map[ID]V) []ID {
	return slices.SortedFunc(maps.Keys(all), func(a, b ID) int {
		return strings.Compare(a.String(), b.String())
	})
}
