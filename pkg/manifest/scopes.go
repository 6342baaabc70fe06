package manifest

import (
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Scopes reports which kinds are namespaced, without a request to a server.
//
//	                 Deployment    Namespace    a custom kind
//	BuiltinScopes    true, true    false, true  false, false
//	WithDefined      true, true    false, true  as the definition in the manifests says
//	a cluster        true, true    false, true  as the API server says
type Scopes interface {
	// Namespaced reports whether objects of the kind are namespaced, and whether that is known.
	Namespaced(gk schema.GroupKind) (namespaced, known bool)
}

// BuiltinScopes returns the scopes of the built-in kinds of Kubernetes 1.36.
func BuiltinScopes() Scopes {
	return builtinScopes()
}

// builtinScopes makes the table once, on first use.
var builtinScopes = sync.OnceValue(func() scopeTable {
	table := scopeTable{}
	table.add(clusterScopedKinds, false)
	table.add(namespacedKinds, true)
	return table
})

// scopeTable maps kinds to whether they are namespaced.
type scopeTable map[schema.GroupKind]bool

// Namespaced implements Scopes.
func (t scopeTable) Namespaced(gk schema.GroupKind) (namespaced, known bool) {
	namespaced, known = t[gk]
	return namespaced, known
}

// add adds kinds by their group.
func (t scopeTable) add(kinds map[string][]string, namespaced bool) {
	for group, kinds := range kinds {
		for _, kind := range kinds {
			t[schema.GroupKind{Group: group, Kind: kind}] = namespaced
		}
	}
}

// layers is a list of Scopes. The first one that knows a kind wins. An unknown kind counts as namespaced, because most
// kinds are.
type layers []Scopes

// Namespaced implements Scopes.
func (l layers) Namespaced(gk schema.GroupKind) (namespaced, known bool) {
	for _, scopes := range l {
		if namespaced, known := scopes.Namespaced(gk); known {
			return namespaced, true
		}
	}
	return true, false
}

// WithDefined returns scopes, and those of the kinds that manifests define and scopes does not know. The manifests need
// not be valid. A definition in the manifests does not exist before the Application has created it, but its objects
// need a namespace or none from the beginning.
func WithDefined(scopes Scopes, manifests []map[string]any) Scopes {
	return layers{scopes, definedScopes(manifests)}
}

// definitionKind is the kind that defines other kinds, whose objects can be in the same manifests.
var definitionKind = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

// definedScopes returns the scopes of the kinds that the manifests define, so that an Application can
// contain a CustomResourceDefinition and objects of its kind.
func definedScopes(manifests []map[string]any) scopeTable {
	table := scopeTable{}
	for _, manifest := range manifests {
		content := unstructured.Unstructured{Object: manifest}
		if content.GroupVersionKind().GroupKind() != definitionKind {
			continue
		}
		gk := schema.GroupKind{Group: NestedString(manifest, "spec", "group"), Kind: NestedString(manifest, "spec", "names", "kind")}
		table[gk] = NestedString(manifest, "spec", "scope") != "Cluster"
	}
	return table
}
