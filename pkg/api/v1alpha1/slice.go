package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SliceKind is the kind of an ApplicationSlice; SliceResource is its plural in URLs.
const (
	SliceKind     = "ApplicationSlice"
	SliceResource = "applicationslices"
)

// SliceGroupVersionResource identifies ApplicationSlices in the API.
var SliceGroupVersionResource = GroupVersion.WithResource(SliceResource)

// MaxSliceBytes limits the data of a slice. `kubectl apply` copies its input into an annotation, and all
// annotations of an object together are limited to 256 KiB. A client that splits manifests must therefore
// make smaller slices.
const MaxSliceBytes = 512 << 10

// An ApplicationSlice contains a part of an Application that is too large for one object: manifests, or
// state that the controller recorded. The Application refers to it by its name. The name is a digest of the
// content, so a slice never changes. The controller deletes a slice when the Application no longer refers
// to it. A slice contains no values of Secrets.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=applicationslices,scope=Namespaced,shortName=hfslice
// +kubebuilder:printcolumn:name="Application",type=string,JSONPath=`.application`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ApplicationSlice struct {
	metav1.TypeMeta `json:",inline"`
	// The name is the SHA-256 digest, in hexadecimal, of the Application's name, a line feed and the data.
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Application is the name of the Application, in the same namespace, to which the slice belongs.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a slice is immutable: create another one"
	Application string `json:"application"`

	// Data is a part of compressed JSON (zstd) in base64, at most 512 KiB.
	// +kubebuilder:validation:MaxLength=699052
	// +kubebuilder:validation:Format=""
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a slice is immutable: create another one"
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
