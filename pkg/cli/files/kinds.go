package files

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"holdfast.dev/holdfast/internal/suggest"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/reconcile"
)

// KnownKinds are the kinds that are known without a cluster: the built-in kinds of Kubernetes, and those of the
// CustomResourceDefinitions and live objects in files, and of the inventory. Built-in kinds take precedence.
// KnownKinds is not safe for concurrent use, because Defined fills a cache.
type KnownKinds struct {
	intent.Kinds
	// namespaced contains the scope of kinds that are not built in.
	namespaced map[schema.GroupKind]bool
	// definitions contains the CustomResourceDefinition of each kind that one defines.
	definitions map[schema.GroupKind]map[string]any
	// types caches the results of Defined, including nil for versions without a schema.
	types map[schema.GroupVersionKind]*kinds.Node
}

// definitionKind is the kind whose objects define other kinds.
var definitionKind = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

// KindsIn returns the kinds that are known without a cluster: those of Kubernetes itself, and those that
// CustomResourceDefinitions among the objects define.
func KindsIn(objects []manifest.Object) *KnownKinds {
	k := KindsOf(&v1alpha1.Application{})
	for _, object := range objects {
		k.define(object.Content)
	}
	return k
}

// KindsOf does the same as KindsIn for the manifests of an Application, and adds the scopes of the kinds of its
// inventory and of live objects. Later sources replace earlier ones: the inventory, live objects, definitions in the
// manifests, live definitions.
//
//	source of the scope          example
//	Kubernetes                   Deployment
//	the inventory                a custom kind that the controller has found
//	live objects with a UID      a custom kind that kubectl has printed
//	CustomResourceDefinitions    a custom kind that the Application defines
//
// A kind of no source has an unknown scope. The engine then uses the namespace as written.
func KindsOf(app *v1alpha1.Application, live ...manifest.Document) *KnownKinds {
	k := &KnownKinds{
		Kinds:       intent.Offline(),
		namespaced:  map[schema.GroupKind]bool{},
		definitions: map[schema.GroupKind]map[string]any{},
		types:       map[schema.GroupVersionKind]*kinds.Node{},
	}
	for _, resource := range app.Status.Resources {
		k.namespaced[manifest.IDFromReference(resource.ResourceReference).GroupKind()] = resource.Namespace != ""
	}
	for _, document := range live {
		k.learn(document.Value)
	}
	for _, item := range app.Spec.Manifest {
		if content, err := manifest.DecodeJSON(item.Raw); err == nil {
			k.define(content)
		}
	}
	// A live definition is the one that the API server uses, so it takes precedence.
	for _, document := range live {
		k.define(document.Value)
	}
	return k
}

// learn records the scope of a kind from an object that was read from a cluster. Such an object has a namespace
// if and only if its kind is namespaced. An object without a UID was written by a user, who can omit the
// namespace.
func (k *KnownKinds) learn(content map[string]any) {
	object := unstructured.Unstructured{Object: content}
	if object.GetUID() != "" {
		k.namespaced[object.GroupVersionKind().GroupKind()] = object.GetNamespace() != ""
	}
}

// define records the kind that a CustomResourceDefinition defines. Objects of other kinds have no effect.
func (k *KnownKinds) define(content map[string]any) {
	object := unstructured.Unstructured{Object: content}
	if object.GroupVersionKind().GroupKind() != definitionKind {
		return
	}
	defined := schema.GroupKind{Group: manifest.NestedString(content, "spec", "group"), Kind: manifest.NestedString(content, "spec", "names", "kind")}
	k.namespaced[defined] = manifest.NestedString(content, "spec", "scope") != "Cluster"
	k.definitions[defined] = content
}

// Namespaced implements manifest.Scopes.
func (k *KnownKinds) Namespaced(gk schema.GroupKind) (namespaced, known bool) {
	if namespaced, known = k.Kinds.Namespaced(gk); known {
		return namespaced, true
	}
	namespaced, known = k.namespaced[gk]
	return namespaced, known
}

// Type implements intent.Kinds. A kind of Kubernetes keeps its built-in type, even if a definition in the files has
// the same name.
func (k *KnownKinds) Type(gvk schema.GroupVersionKind) *kinds.Node {
	if node := k.Kinds.Type(gvk); node != nil {
		return node
	}
	return k.Defined(gvk)
}

// Defined returns the schema of a kind that a CustomResourceDefinition in the files defines. It returns nil if
// there is none for this version.
func (k *KnownKinds) Defined(gvk schema.GroupVersionKind) *kinds.Node {
	node, known := k.types[gvk]
	if !known && k.definitions[gvk.GroupKind()] != nil {
		node = kinds.FromCRD(k.definitions[gvk.GroupKind()], gvk)
		k.types[gvk] = node
	}
	return node
}

// Plural returns the name of the resource of a kind that is defined in the files, or "".
func (k *KnownKinds) Plural(gk schema.GroupKind) string {
	return manifest.NestedString(k.definitions[gk], "spec", "names", "plural")
}

// MistypedKinds returns sorted messages about kinds that a built-in API group of Kubernetes does not have. Other
// groups are unknown without a cluster.
func MistypedKinds(app *v1alpha1.Application) []string {
	var messages []string
	for _, gvk := range reconcile.KindsIn(app) {
		if !scheme.Scheme.IsGroupRegistered(gvk.Group) || gvk.Kind == "" || gvk.Version == "" || scheme.Scheme.Recognizes(gvk) {
			continue
		}
		known := slices.Collect(maps.Keys(scheme.Scheme.KnownTypes(gvk.GroupVersion())))
		messages = append(messages, fmt.Sprintf("Kubernetes has no kind %s in %s%s", gvk.Kind, gvk.GroupVersion(), suggest.DidYouMean(gvk.Kind, known)))
	}
	slices.Sort(messages)
	return slices.Compact(messages)
}
