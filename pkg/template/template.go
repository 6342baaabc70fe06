package template

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
)

// A Template renders an Application for each custom resource of a kind. Its methods are pure functions of
// their arguments: no clock, no cluster, no randomness.
type Template interface {
	// Kind returns the custom kind.
	Kind() Kind
	// Render returns the content of the Application. The error joins one *ValidationError for each problem;
	// then the Application is left unchanged.
	Render(Input) (RenderedTemplate, error)
	// Status returns the status of the custom resource. It is written if it differs from the current one.
	Status(Seen) (map[string]any, error)
}

// Kind is a custom kind. It is namespaced.
type Kind struct {
	schema.GroupVersionKind
	// Resource is the plural in URLs.
	Resource string
	// Kept is a sentence about what remains after the deletion of a resource, for users who delete it; "" for nothing.
	Kept string
}

// Option returns the name of the kind in options of the installation, such as --without-mysql.
func (k Kind) Option() string { return strings.ToLower(k.Kind) }

// GroupVersionResource returns the resource of the kind.
func (k Kind) GroupVersionResource() schema.GroupVersionResource {
	return k.GroupVersion().WithResource(k.Resource)
}

// Live contains live objects by identity.
type Live map[manifest.ID]map[string]any

// Input is the input of Render.
type Input struct {
	// Object is the custom resource, either from the API server or from a file, without defaults then.
	Object map[string]any
	// Live contains the existing objects of its Application, or those in Kept before there is one. Templates
	// use it for immutable fields.
	Live Live
}

// RenderedTemplate is the content of an Application.
type RenderedTemplate struct {
	// Manifests are complete objects in the namespace of the custom resource. Schema contains their
	// observer schemas.
	Manifests, Schema []map[string]any
	// Kept lists manifests of objects that an earlier custom resource of this name may have left. Before the
	// Application is created, the controller reads these objects as the ServiceAccount. If there are any, it
	// calls Render again.
	Kept []map[string]any
	// Unknown lists fields of the custom resource that the template does not know. In a file they are
	// errors; the API server may have a newer definition.
	Unknown []*ValidationError
	// Labels are added to those of the custom resource.
	Labels map[string]string
	// ServiceAccountName, Adoption and DeletionPolicy are the fields of the Application's spec, with the
	// same defaults.
	ServiceAccountName string
	Adoption           v1alpha1.AdoptionPolicy
	DeletionPolicy     v1alpha1.DeletionPolicy
}

// Seen is the input of Status.
type Seen struct {
	// Object is the custom resource with its current status.
	Object map[string]any
	// Application is the Application of the custom resource, or nil.
	Application *v1alpha1.Application
	// Live contains the objects of the Application. It is nil if they are currently unknown.
	Live Live
	// Refusal is the reason why the Application does not match the resource: the error of Render, or a
	// *ValidationError about the Application itself. It is nil if it matches.
	Refusal error
	// Now is the time for transitions.
	Now metav1.Time
}
