package template

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
)

// A Template makes an Application of each custom resource of a kind. Its methods
// are functions of what they are given: no clock, no cluster, no randomness.
type Template interface {
	// Kind is the custom kind, and where it is served.
	Kind() Kind
	// Render returns what the custom resource asks for. The error joins one *Fault
	// for each thing that is wrong; the Application then stays as it is.
	Render(Input) (Rendered, error)
	// Status returns the status that the custom resource should have. It is
	// written if it is not what the resource has already.
	Status(Seen) (map[string]any, error)
}

// Kind is a custom kind. It is namespaced.
type Kind struct {
	schema.GroupVersionKind
	// Resource is the plural in URLs.
	Resource string
}

// GroupVersionResource is where the kind is served.
func (k Kind) GroupVersionResource() schema.GroupVersionResource {
	return k.GroupVersion().WithResource(k.Resource)
}

// Live are live objects by their identities.
type Live map[manifest.ID]map[string]any

// Input is what a custom resource is rendered from.
type Input struct {
	// Object is the custom resource, as the API server has it or as it is written
	// in a file: without defaults, then.
	Object map[string]any
	// Live are the objects of its Application, as far as there are any. They are
	// for what cannot be changed once it is there.
	Live Live
}

// Rendered is the content of an Application.
type Rendered struct {
	// Manifests are whole objects in the namespace of the custom resource, and
	// Schema their entries of the observer schema.
	Manifests, Schema []map[string]any
	// Unknown are fields of the custom resource that the template does not know.
	// They are a mistake in a file; an API server may have a newer definition.
	Unknown []*Fault
	// Labels of the Application, beside those of the custom resource.
	Labels map[string]string
	// ServiceAccountName, Adoption and DeletionPolicy are those of the
	// Application's spec, with its defaults.
	ServiceAccountName string
	Adoption           v1alpha1.AdoptionPolicy
	DeletionPolicy     v1alpha1.DeletionPolicy
}

// Seen is what a status is made of.
type Seen struct {
	// Object is the custom resource with its present status.
	Object map[string]any
	// Application is the one of the custom resource; nil if there is none.
	Application *v1alpha1.Application
	// Live are the objects of the Application; nil if they are not known now.
	Live Live
	// Refusal is why the Application is not what the resource asks for: the
	// error of Render, or a *Fault about the Application itself; nil if it is.
	Refusal error
	// Now is the time of transitions.
	Now metav1.Time
}
