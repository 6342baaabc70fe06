package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// DefaultMaxObjects is the limit of objects that spec.select can match if spec.maxObjects is not set.
const DefaultMaxObjects = 1000

// ObjectSelection matches objects of one kind that have another owner, and sets the fields to hold in each
// of them.
type ObjectSelection struct {
	// APIVersion of the objects.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	APIVersion string `json:"apiVersion"`
	// Kind of the objects.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// Namespaces lists the namespaces of the objects. * matches any string, so "*" matches all namespaces.
	// Unset: the namespace of the Application. Leave it unset for a cluster-scoped kind.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9*]([-a-z0-9*]*[a-z0-9*])?$`
	Namespaces []string `json:"namespaces,omitempty"`
	// Selector matches the labels of the objects. Unset: any labels.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// Names lists the names of the objects. * matches any string. Unset: any name.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Names []string `json:"names,omitempty"`
	// Hold is a partial manifest. The controller holds the fields that it sets. In its strings,
	// $(metadata.name), $(metadata.namespace) and $(metadata.uid) are replaced by the values of the object.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	Hold runtime.RawExtension `json:"hold"`
}

// SelectedObjects reports how many objects an item of spec.select matches.
type SelectedObjects struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Objects is the number of objects that match.
	Objects int32 `json:"objects"`
	// Ready is the number of matched objects that are ready.
	Ready int32 `json:"ready"`
}
