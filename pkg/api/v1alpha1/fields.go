package v1alpha1

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// ResourceFields says which fields of one resource, or of several, are held: an observer
// schema in few words, which is made anew for each version of the manifest.
//
// +kubebuilder:validation:MinProperties=2
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

	// Leave names fields that are not held, and stay as they are when
	// they are let go, whatever spec.onRelease says.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=4096
	Leave []string `json:"leave,omitempty"`

	// Restore names fields that are not held, and get back what they had before when they
	// are let go, whatever spec.onRelease says, as far as that is on record.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=4096
	Restore []string `json:"restore,omitempty"`
}

// Frees reports whether fields are named that are not held.
func (f *ResourceFields) Frees() bool { return len(f.Free)+len(f.Leave)+len(f.Restore) > 0 }

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

// HeldField is a path of fields that are held. It is written as text, or as an object with
// the path and a rule: which values the fields may have, or what is done about them.
//
// +kubebuilder:validation:Type=""
// +kubebuilder:pruning:PreserveUnknownFields
type HeldField struct {
	// Path is that of explain and diff: spec.ports[port=80].targetPort.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Path string `json:"path"`
	// Minimum and Maximum are bounds: numbers, quantities or percentages. A value beyond
	// one is set to it.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Minimum *runtime.RawExtension `json:"minimum,omitempty"`
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Maximum *runtime.RawExtension `json:"maximum,omitempty"`
	// OneOf has the values that are allowed.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	OneOf []runtime.RawExtension `json:"oneOf,omitempty"`
	// Pattern is a regular expression (RE2) that the whole value matches.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Pattern string `json:"pattern,omitempty"`
	// Rule is a rule in CEL over self, the value, and object, what is around it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	Rule string `json:"rule,omitempty"`
	// Mode says what is done: hold, as without a rule; seed, when the object is created
	// only; push, when the manifest's value changes; watch, to tell of drift; absent, to
	// remove what is there.
	// +optional
	Mode HeldMode `json:"mode,omitempty"`
	// Keys close the map at the path: they say which keys nobody may add to it.
	// +optional
	Keys *HeldKeys `json:"keys,omitempty"`
	// Fault is why it cannot be read; empty if it can.
	Fault string `json:"-"`
}

// HeldMode is what is done about a field.
//
// +kubebuilder:validation:Enum=hold;seed;push;watch;absent
type HeldMode string

// HeldKeys are keys of a map, in which * stands for any text.
type HeldKeys struct {
	// Hold are the keys that are removed unless the manifest has them.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	Hold []string `json:"hold"`
	// Free are those that are left all the same.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	Free []string `json:"free,omitempty"`
}

// UnmarshalJSON reads both forms. What is neither is no error: one mistake must not hide
// the rest of an Application.
func (f *HeldField) UnmarshalJSON(content []byte) error {
	*f = HeldField{}
	if json.Unmarshal(content, &f.Path) == nil {
		return nil
	}
	type object HeldField
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	err := decoder.Decode((*object)(f))
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
	case errors.As(err, &wrong) && wrong.Field == "":
		f.Fault = "must be a path, as text, or an object with a path and a rule, not a " + wrong.Value
	case errors.As(err, &wrong):
		f.Fault = wrong.Field + " cannot be a " + wrong.Value
	default:
		f.Fault = strings.TrimPrefix(err.Error(), "json: ")
	}
	return nil
}

// MarshalJSON writes the text, if there is no rule.
func (f HeldField) MarshalJSON() ([]byte, error) {
	if !f.HasRule() {
		return json.Marshal(f.Path)
	}
	type object HeldField
	return json.Marshal(object(f))
}

// HasRule reports whether anything is said beside the path.
func (f HeldField) HasRule() bool {
	return f.Minimum != nil || f.Maximum != nil || f.OneOf != nil || f.Pattern != "" || f.Rule != "" || f.Mode != "" || f.Keys != nil
}
