package v1alpha1

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"
)

// ResourceFields lists the fields to hold in one or more resources. It is a short form of an observer
// schema. The controller compiles it again for each version of the manifest.
//
// +kubebuilder:validation:MinProperties=2
type ResourceFields struct {
	// Resource selects the resources.
	Resource ResourceSelector `json:"resource"`

	// Hold lists the fields to hold; fields that it does not name are free. "*" matches every field that
	// the manifest sets. Unset: "*". If two paths match the same field, the longer path takes precedence,
	// in hold or in free.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	Hold []HeldField `json:"hold,omitzero"`

	// Free lists fields to release. spec.onRelease decides whether they are restored.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=4096
	Free []string `json:"free,omitempty"`

	// Leave lists fields to release. They keep their live values, regardless of spec.onRelease.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=4096
	Leave []string `json:"leave,omitempty"`

	// Restore lists fields to release. The controller writes their original values, if they are recorded,
	// regardless of spec.onRelease.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=4096
	Restore []string `json:"restore,omitempty"`
}

// Frees reports whether the item lists fields to release.
func (f *ResourceFields) Frees() bool { return len(f.Free)+len(f.Leave)+len(f.Restore) > 0 }

// ResourceSelector selects resources of one kind.
type ResourceSelector struct {
	// APIVersion distinguishes kinds that have the same name. The controller compares the group only, not
	// the version.
	// +optional
	// +kubebuilder:validation:MaxLength=317
	APIVersion string `json:"apiVersion,omitempty"`
	// Kind is the kind of the resource.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// Namespace is the namespace of the resource. Set it if the name alone is ambiguous.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
	// Name is the name of the resource. * matches any string. An item whose name has no * takes precedence.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// HeldField is a path of fields to hold. Write it as a string, or as an object with the path and a rule.
// The rule limits the values of the fields, or sets a mode.
//
// +kubebuilder:validation:Type=""
// +kubebuilder:pruning:PreserveUnknownFields
type HeldField struct {
	// Path is a field path as `holdfast explain` and `holdfast diff` print it:
	// spec.ports[port=80].targetPort.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Path string `json:"path"`
	// Minimum and Maximum are bounds: numbers, quantities or percentages. A value out of bounds is
	// corrected to the nearest bound.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Minimum *runtime.RawExtension `json:"minimum,omitempty"`
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	Maximum *runtime.RawExtension `json:"maximum,omitempty"`
	// OneOf lists the allowed values.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	OneOf []runtime.RawExtension `json:"oneOf,omitempty"`
	// Pattern is a regular expression (RE2) that must match the whole value.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Pattern string `json:"pattern,omitempty"`
	// Rule is a CEL expression. self is the value; object is the observed part of the object that contains
	// it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	Rule string `json:"rule,omitempty"`
	// Mode specifies when the controller writes the field. hold: always, as without a rule. push: when the
	// manifest's value changes. report: never; it reports drift. absent: it removes the field.
	// +optional
	Mode HeldMode `json:"mode,omitempty"`
	// Type declares how values are compared. set: the field is a list, each element of the manifest is held by
	// its whole value, and other clients can add elements. quantity: equal amounts are equal, such as 1Gi and
	// 1024Mi.
	// +optional
	Type HeldType `json:"type,omitempty"`
	// Keys close the map or list at the path: they list the keys that no other client can add to the map, or
	// the keys of elements that no other client can add to the list.
	// +optional
	Keys *HeldKeys `json:"keys,omitempty"`
	// Fault is the validation error, or "" if the item is valid.
	Fault string `json:"-"`
	// Unknown lists the fields of the item that this version does not know. They are a validation error, too.
	Unknown []string `json:"-"`
	// FreeKeys is the value of keys.free, which is a validation error: paths in free of the item have the same effect.
	FreeKeys []string `json:"-"`
}

// HeldMode specifies when the controller writes a field.
//
// +kubebuilder:validation:Enum=hold;push;report;absent
type HeldMode string

// HeldType declares how the values of a field are compared.
//
// +kubebuilder:validation:Enum=set;quantity
type HeldType string

// HeldKeys lists keys of a map, or of list elements. Several keys of an element are joined by commas, as in
// "80,TCP". * matches any string.
//
// +kubebuilder:pruning:PreserveUnknownFields
type HeldKeys struct {
	// Hold lists the keys that the controller removes unless the manifest sets them. To exclude some of them, list
	// their paths in free of the item.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	Hold []string `json:"hold"`
}

// UnmarshalJSON reads both forms. It returns no error for other input, and sets Fault instead: one
// validation error must not hide the rest of an Application.
func (f *HeldField) UnmarshalJSON(content []byte) error {
	*f = HeldField{}
	if json.Unmarshal(content, &f.Path) == nil {
		return nil
	}
	type object HeldField
	unknown, err := kjson.UnmarshalStrict(content, (*object)(f), kjson.DisallowUnknownFields)
	wrong, isMistyped := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case isMistyped && wrong.Field == "":
		f.Fault = "must be a path, as text, or an object with a path and a rule, not a " + wrong.Value
	case isMistyped:
		f.Fault = wrong.Field + " cannot be of type " + wrong.Value
	case err != nil:
		f.Fault = strings.TrimPrefix(err.Error(), "json: ")
	case len(unknown) == 1 && f.Keys != nil && slices.Equal(pathsOf(unknown), []string{"keys.free"}):
		var raw struct{ Keys struct{ Free []string } }
		if json.Unmarshal(content, &raw) != nil {
			f.Fault = "keys.free is not a field: list paths in free of the item"
		}
		f.FreeKeys = raw.Keys.Free
	case len(unknown) > 0:
		f.Fault, f.Unknown = unknown[0].Error(), pathsOf(unknown)
	}
	return nil
}

// MarshalJSON writes a string if there is no rule, and an object otherwise.
func (f HeldField) MarshalJSON() ([]byte, error) {
	if !f.HasRule() {
		return json.Marshal(f.Path)
	}
	type object HeldField
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false) // rules are for people
	err := encoder.Encode(object(f))
	return b.Bytes(), err
}

// HasRule reports whether the item sets anything in addition to the path.
func (f HeldField) HasRule() bool {
	f.Path, f.Fault, f.Unknown, f.FreeKeys = "", "", nil, nil
	return !reflect.ValueOf(f).IsZero()
}
