package cluster

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"holdfast.dev/holdfast/pkg/kinds"
)

// Mapping is the resource of a kind.
type Mapping struct {
	// Resource is empty if only the kind is known, without a connection to an API server.
	Resource schema.GroupVersionResource
	// Namespaced is true if objects of the kind have a namespace.
	Namespaced bool
	// Watchable is false for kinds that cannot be listed and watched, such as reviews and bindings. Their
	// objects cannot be held.
	Watchable bool
	// Type is the typed schema, or nil if it is unknown.
	Type *kinds.Node
	// Published is the schema that this API server publishes. The mapper leaves it nil; callers set it if
	// they need to know all fields.
	Published *kinds.Node
}

// mappingOf returns the mapping of a resource in a discovery response, without its schema.
func mappingOf(gvk schema.GroupVersionKind, r metav1.APIResource) Mapping {
	verbs := discovery.SupportsAllVerbs{Verbs: []string{"list", "watch", "create", "patch", "delete"}}
	return Mapping{
		Resource:   gvk.GroupVersion().WithResource(r.Name),
		Namespaced: r.Namespaced,
		Watchable:  verbs.Match(gvk.GroupVersion().String(), &r),
	}
}

// isTerminating reports whether a kind is served only for its remaining objects, because its definition is
// being deleted.
func isTerminating(r metav1.APIResource) bool {
	return slices.Contains(r.Verbs, "watch") && slices.Contains(r.Verbs, "delete") && !slices.Contains(r.Verbs, "create")
}
