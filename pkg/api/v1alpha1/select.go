package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// DefaultMaxObjects is how many objects spec.select may mean if spec.maxObjects says nothing.
const DefaultMaxObjects = 1000

// ObjectSelection means objects of one kind, which are another owner's, and says what is
// held of each of them.
type ObjectSelection struct {
	// APIVersion of the objects.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	APIVersion string `json:"apiVersion"`
	// Kind of the objects.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// Namespaces are those that the objects are in; * stands for any text, so that "*"
	// alone means all. Unset: that of the Application. A cluster-scoped kind has none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9*]([-a-z0-9*]*[a-z0-9*])?$`
	Namespaces []string `json:"namespaces,omitempty"`
	// Selector is about the labels of the objects. Unset: any.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// Names are those of the objects; * stands for any text. Unset: any.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	Names []string `json:"names,omitempty"`
	// Hold is a part of an object: what it sets is held. In its texts $(metadata.name),
	// $(metadata.namespace) and $(metadata.uid) stand for those of the object.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	Hold runtime.RawExtension `json:"hold"`
}

// SelectedObjects says how many objects an entry of spec.select means.
type SelectedObjects struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Objects is how many there are.
	Objects int32 `json:"objects"`
	// Ready is how many of them are as they should be.
	Ready int32 `json:"ready"`
}
