package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ProfileKind is the kind of a HoldProfile; ProfileResource is its plural in URLs.
const (
	ProfileKind     = "HoldProfile"
	ProfileResource = "holdprofiles"
)

// ProfileGroupVersionResource identifies HoldProfiles in the API.
var ProfileGroupVersionResource = GroupVersion.WithResource(ProfileResource)

// A HoldProfile sets rules of a cluster administrator for the default schemas of all Applications: fields
// that are never held, or always. The observer schema and the fields of an Application take precedence.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=holdprofiles,scope=Cluster,shortName=hfprofile
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Objects",type=integer,JSONPath=`.status.objects`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type HoldProfile struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec HoldProfileSpec `json:"spec"`
	// +optional
	Status HoldProfileStatus `json:"status,omitempty"`

	// Unknown lists the fields and values of the spec that this version does not know: see DecodeProfile.
	Unknown []string `json:"-"`
}

// HoldProfileSpec contains the rules of a HoldProfile.
type HoldProfileSpec struct {
	// Rules lists the rules. Each applies to some resources.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	Rules []ProfileRule `json:"rules"`
}

// ProfileRule lists the fields to hold and to release in the resources that it matches.
//
// +kubebuilder:validation:XValidation:rule="has(self.free) || has(self.hold)",message="set free, hold, or both"
type ProfileRule struct {
	// Kinds lists the kinds of the resources.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	Kinds []KindSelector `json:"kinds"`

	// Match is a CEL expression. object is the manifest without values of Secrets. The rule applies to the
	// resources for which the expression is true. Unset: it applies to all.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Match string `json:"match,omitempty"`

	// WhileTargetedBy limits the rule to resources that an object of this kind names as its target.
	// +optional
	WhileTargetedBy TargetingKind `json:"whileTargetedBy,omitempty"`

	// Free lists the paths of fields that are not held, as `holdfast explain` prints them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=4096
	Free []string `json:"free,omitempty"`

	// Hold lists the paths of fields that are held even if the manifest does not set them. The controller
	// learns their values from the API server.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=4096
	Hold []string `json:"hold,omitempty"`
}

// KindSelector selects kinds. * matches any string.
type KindSelector struct {
	// Group is the API group of the kind, "" for the core group. Unset: any group.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Group *string `json:"group,omitempty"`
	// Kind is the name of the kind.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
}

// TargetingKind is a kind whose objects name the object that they scale.
//
// +kubebuilder:validation:Enum=HorizontalPodAutoscaler
type TargetingKind string

// TargetingAutoscaler is the HorizontalPodAutoscaler. It names its target in spec.scaleTargetRef, and
// writes the replicas of the target.
const TargetingAutoscaler TargetingKind = "HorizontalPodAutoscaler"

// HoldProfileStatus is the status of a HoldProfile.
type HoldProfileStatus struct {
	// Conditions contains one condition, Ready. It is False if the profile, or a part of it, has no effect.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Objects is how many objects of Applications have fields that the profile frees or holds. Unset: the
	// objects are not counted.
	// +optional
	Objects *int32 `json:"objects,omitempty"`
}

// Reasons of the condition Ready of a HoldProfile.
const (
	// ProfileInEffect: the profile is valid and in effect.
	ProfileInEffect = "InEffect"
	// ProfileInvalid: the profile has validation errors, and no effect.
	ProfileInvalid = "Invalid"
	// ProfileNotSupported: the profile has fields or values that this version does not know. Applications with
	// objects that it may concern are not written.
	ProfileNotSupported = "NotSupported"
	// ProfileUnknownNames: a rule names a kind that the API server does not serve, or a path that its kinds
	// do not have. The other rules are in effect.
	ProfileUnknownNames = "UnknownNames"
	// ProfileAutoscalersForbidden: the controller is not allowed to read the targets of autoscalers. The
	// rules with whileTargetedBy have no effect.
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
