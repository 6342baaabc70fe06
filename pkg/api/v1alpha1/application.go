package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// An Application is a list of arbitrary manifests and the fields of them that
// are to be held.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=applications,scope=Namespaced,shortName=hfapp,categories=holdfast
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Resources",type=string,JSONPath=`.status.summary`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type Application struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec ApplicationSpec `json:"spec"`
	// +kubebuilder:default:={"observedGeneration":-1}
	// +optional
	Status ApplicationStatus `json:"status,omitempty"`
}

// ApplicationList is a list of Applications.
//
// +kubebuilder:object:root=true
type ApplicationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Application `json:"items"`
}

// ApplicationSpec is what the user wants.
//
// +kubebuilder:validation:XValidation:rule="(has(self.manifest) ? 1 : 0) + (has(self.tosca) ? 1 : 0) + (has(self.csar) ? 1 : 0) == 1",message="exactly one of spec.manifest, spec.tosca and spec.csar must be set"
type ApplicationSpec struct {
	// Manifest lists the objects of the Application, whole and of any kind.
	// +optional
	// +listType=atomic
	Manifest []runtime.RawExtension `json:"manifest,omitzero"`

	// Tosca is a TOSCA template that is translated into manifests.
	// +optional
	Tosca *ToscaSource `json:"tosca,omitempty"`

	// CSAR is an archive with a TOSCA template that is translated into manifests.
	// +optional
	CSAR *CSARSource `json:"csar,omitempty"`

	// ObserverSchema names the fields to hold: one partial manifest per
	// resource, a null for each field, a control dictionary at the end of each
	// list. A resource without an entry is held in every field of its manifest.
	// +optional
	// +listType=atomic
	ObserverSchema []runtime.RawExtension `json:"observerSchema,omitempty"`

	// ServiceAccountName is the ServiceAccount, in the namespace of the
	// Application, whose rights are used for every write. Empty: the
	// controller's --default-service-account.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$`
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// Adoption says what to do about an object that already exists and is not
	// this Application's.
	// +optional
	// +kubebuilder:default=Never
	Adoption AdoptionPolicy `json:"adoption,omitempty"`

	// DeletionPolicy says what becomes of the resources when the Application is
	// deleted.
	// +optional
	// +kubebuilder:default=Delete
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// Suspend stops every write for this Application until it is unset. Its
	// deletion is not stopped.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// AdoptionPolicy says when an existing object may be taken over.
//
// +kubebuilder:validation:Enum=Never;IfUnowned;Always
type AdoptionPolicy string

const (
	// AdoptNever refuses with reason ResourceConflict.
	AdoptNever AdoptionPolicy = "Never"
	// AdoptIfUnowned takes over objects that nobody else claims.
	AdoptIfUnowned AdoptionPolicy = "IfUnowned"
	// AdoptAlways takes over whatever has the name.
	AdoptAlways AdoptionPolicy = "Always"
)

// DeletionPolicy says what becomes of resources when their Application goes.
//
// +kubebuilder:validation:Enum=Delete;Orphan
type DeletionPolicy string

const (
	// DeletionDelete deletes every resource in reverse order.
	DeletionDelete DeletionPolicy = "Delete"
	// DeletionOrphan leaves the resources as they are, without our marks.
	DeletionOrphan DeletionPolicy = "Orphan"
)

// ToscaSource is a TOSCA template, inline or behind a URL.
//
// +kubebuilder:validation:XValidation:rule="has(self.template) != has(self.url)",message="exactly one of template and url must be set"
type ToscaSource struct {
	// Template is the template itself, as YAML text.
	// +optional
	Template string `json:"template,omitempty"`
	// URL is where the template is fetched from.
	// +optional
	URL string `json:"url,omitempty"`
	// Inputs are the values of the template's inputs.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	Inputs *runtime.RawExtension `json:"inputs,omitempty"`
}

// CSARSource is an archive, behind a URL or in a ConfigMap.
//
// +kubebuilder:validation:XValidation:rule="has(self.url) != has(self.configMapRef)",message="exactly one of url and configMapRef must be set"
type CSARSource struct {
	// URL is where the archive is fetched from.
	// +optional
	URL string `json:"url,omitempty"`
	// ConfigMapRef names a key of a ConfigMap's binaryData in the same namespace.
	// +optional
	ConfigMapRef *KeyReference `json:"configMapRef,omitempty"`
	// Inputs are the values of the template's inputs.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	Inputs *runtime.RawExtension `json:"inputs,omitempty"`
}

// KeyReference names a key of an object in the same namespace.
type KeyReference struct {
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// Key in its data.
	// +kubebuilder:validation:MinLength=1
	Key string `json:"key"`
}
