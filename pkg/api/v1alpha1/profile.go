package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ProfileKind is the kind of a HoldProfile; ProfileResource its plural in URLs.
const (
	ProfileKind     = "HoldProfile"
	ProfileResource = "holdprofiles"
)

// ProfileGroupVersionResource is where HoldProfiles are served.
var ProfileGroupVersionResource = GroupVersion.WithResource(ProfileResource)

// A HoldProfile is a wish of the cluster's owner: fields that are held never, or always, by
// the default schemas of all Applications. What an Application itself says of a field, in
// its observer schema or its fields, prevails.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=holdprofiles,scope=Cluster,shortName=hfprofile
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type HoldProfile struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec HoldProfileSpec `json:"spec"`
	// +optional
	Status HoldProfileStatus `json:"status,omitempty"`
}

// HoldProfileSpec says which fields of which resources.
type HoldProfileSpec struct {
	// Rules are each for some resources.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	Rules []ProfileRule `json:"rules"`
}

// ProfileRule is what is said of the resources that it is for.
//
// +kubebuilder:validation:XValidation:rule="has(self.free) || has(self.hold)",message="a rule names fields in free, in hold, or in both"
type ProfileRule struct {
	// Kinds are those of the resources.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	Kinds []KindSelector `json:"kinds"`

	// Match is a rule in CEL over object, the manifest without values of Secrets: the rule
	// is for the resources of which it is true. Not set: for all.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Match string `json:"match,omitempty"`

	// WhileTargetedBy has the rule be for a resource only while an object of that kind
	// names it as its target.
	// +optional
	WhileTargetedBy TargetingKind `json:"whileTargetedBy,omitempty"`

	// Free names fields that are not held, with the paths of explain.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=4096
	Free []string `json:"free,omitempty"`

	// Hold names fields that are held though the manifest does not set them: the API
	// server's value is learned.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=4096
	Hold []string `json:"hold,omitempty"`
}

// KindSelector means kinds; * stands for any text.
type KindSelector struct {
	// Group is that of the kind, "" for the core group. Not set: any.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Group *string `json:"group,omitempty"`
	// Kind is its name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
}

// TargetingKind is a kind whose objects name others that they write.
//
// +kubebuilder:validation:Enum=HorizontalPodAutoscaler
type TargetingKind string

// TargetingAutoscaler names its target in spec.scaleTargetRef, and writes its replicas.
const TargetingAutoscaler TargetingKind = "HorizontalPodAutoscaler"

// HoldProfileStatus says what the controller makes of a profile.
type HoldProfileStatus struct {
	// Conditions has one, Ready: False for a profile that has no effect, and why.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Reasons of the condition Ready of a HoldProfile.
const (
	// ProfileInEffect: it is as it is written.
	ProfileInEffect = "InEffect"
	// ProfileInvalid: it has mistakes, and no effect.
	ProfileInvalid = "Invalid"
	// ProfileAutoscalersForbidden: what autoscalers target cannot be known. Its rules that
	// ask for it have no effect.
	ProfileAutoscalersForbidden = "AutoscalersForbidden"
)

// HoldProfileList is a list of HoldProfiles.
//
// +kubebuilder:object:root=true
type HoldProfileList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []HoldProfile `json:"items"`
}
