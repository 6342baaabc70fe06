package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SliceKind is the kind of an ApplicationSlice; SliceResource its plural in URLs.
const (
	SliceKind     = "ApplicationSlice"
	SliceResource = "applicationslices"
)

// SliceGroupVersionResource is where ApplicationSlices are served.
var SliceGroupVersionResource = GroupVersion.WithResource(SliceResource)

// MaxSliceBytes is how much data a slice may have. `kubectl apply` keeps a copy of what
// it is given in an annotation, and all annotations of an object have 256 KiB: whoever
// cuts makes slices of less than that.
const MaxSliceBytes = 512 << 10

// An ApplicationSlice has a part of what is too large for one object: manifests of an
// Application, or what the controller has on record of it. The Application names it.
// Its name is a digest of what it holds, so it is never changed; the controller deletes
// it when the Application does not name it any more. It has no values of Secrets.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=applicationslices,scope=Namespaced,shortName=hfslice
// +kubebuilder:printcolumn:name="Application",type=string,JSONPath=`.application`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ApplicationSlice struct {
	metav1.TypeMeta `json:",inline"`
	// The name is the SHA-256 digest of the Application's name, a line feed and the data,
	// in hexadecimal.
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Application is the name of the Application, in the same namespace, that this is a
	// part of.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a slice is never changed: make another one"
	Application string `json:"application"`

	// Data is a part of gzipped JSON in base64, at most 512 KiB.
	// +kubebuilder:validation:MaxLength=699052
	// +kubebuilder:validation:Format=base64
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a slice is never changed: make another one"
	Data []byte `json:"data"`
}

// ApplicationSliceList is a list of ApplicationSlices.
//
// +kubebuilder:object:root=true
type ApplicationSliceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ApplicationSlice `json:"items"`
}
