package v1alpha1

import "encoding/json"

// ResourceFields says which fields of one resource, or of several, are held: an observer
// schema in few words, which is made anew for each version of the manifest.
//
// +kubebuilder:validation:XValidation:rule="has(self.hold) || has(self.free)",message="hold or free must be set"
type ResourceFields struct {
	// Resource says whose fields.
	Resource ResourceSelector `json:"resource"`

	// Hold names the fields that are held: these and no others. "*" stands for all that
	// the manifest sets. Not set: "*". Of two paths that name one field the longer one
	// decides, be it of hold or of free.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	Hold []HeldField `json:"hold,omitzero"`

	// Free names the fields that are not held.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=4096
	Free []string `json:"free,omitempty"`
}

// ResourceSelector means resources of one kind.
type ResourceSelector struct {
	// APIVersion tells kinds of one name apart; the version in it is not looked at.
	// +optional
	// +kubebuilder:validation:MaxLength=317
	APIVersion string `json:"apiVersion,omitempty"`
	// Kind is the kind of the resource.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// Namespace is that of the resource, if names alone do not tell.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
	// Name is that of the resource, in which * stands for any text. A name without *
	// prevails.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// HeldField is a path of fields that are held. It is written as text; an object with the
// path is read, too.
//
// +kubebuilder:validation:Type=string
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=4096
type HeldField struct {
	// Path is that of explain and diff: spec.ports[port=80].targetPort.
	Path string `json:"path"`
	// Unreadable is set if it is neither text nor such an object.
	Unreadable bool `json:"-"`
}

// UnmarshalJSON reads both forms. What is neither is no error: one mistake must not hide
// the rest of an Application.
func (f *HeldField) UnmarshalJSON(content []byte) error {
	*f = HeldField{}
	if json.Unmarshal(content, &f.Path) == nil {
		return nil
	}
	type object HeldField
	f.Unreadable = json.Unmarshal(content, (*object)(f)) != nil
	return nil
}

// MarshalJSON writes the text.
func (f HeldField) MarshalJSON() ([]byte, error) { return json.Marshal(f.Path) }
