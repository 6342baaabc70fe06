package report

import (
	"time"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/writer"
)

// ExplanationView is the output of `explain -o json`.
type ExplanationView struct {
	Type     `yaml:",inline"`
	Resource plan.ViewResource `json:"resource" yaml:"resource"`
	// Schema is User, Default or Fields.
	Schema string `json:"schema" yaml:"schema"`
	// Profiles are the HoldProfiles that change the schema.
	Profiles []string `json:"profiles,omitempty" yaml:"profiles,omitempty"`

	Fields []FieldView `json:"fields" yaml:"fields"`
}

// FieldView is one field. An absent value is omitted; null is printed.
type FieldView struct {
	Path  string          `json:"path" yaml:"path"`
	State plan.FieldState `json:"state" yaml:"state"`
	Drift delta.Reason    `json:"drift,omitempty" yaml:"drift,omitempty"`
	// Corrected is true for drift that is corrected now.
	Corrected bool `json:"corrected,omitempty" yaml:"corrected,omitempty"`

	Desired *plan.ViewValue `json:"desired,omitempty" yaml:"desired,omitempty"`
	Live    *plan.ViewValue `json:"live,omitempty" yaml:"live,omitempty"`
	// Manifest is the value in the manifest, if the field keeps another live value: it is free, or has a
	// rule.
	Manifest *plan.ViewValue `json:"manifest,omitempty" yaml:"manifest,omitempty"`
	// Rule describes the rule of the observer schema.
	Rule   string      `json:"rule,omitempty" yaml:"rule,omitempty"`
	Writer *WriterView `json:"writer,omitempty" yaml:"writer,omitempty"`
	// Profile is the HoldProfile that frees or holds the field.
	Profile string `json:"profile,omitempty" yaml:"profile,omitempty"`
	Why     string `json:"why" yaml:"why"`
	// Holder is the Application that holds a claimed field. OnRelease describes what happens to a field of a
	// shared object when it is released.
	Holder    string `json:"holder,omitempty" yaml:"holder,omitempty"`
	OnRelease string `json:"onRelease,omitempty" yaml:"onRelease,omitempty"`
}

// WriterView is the last writer of a field.
type WriterView struct {
	Manager     string `json:"manager" yaml:"manager"`
	Subresource string `json:"subresource,omitempty" yaml:"subresource,omitempty"`
	Time        string `json:"time,omitempty" yaml:"time,omitempty"`
}

// ViewOf returns the form of an explanation that is printed for programs.
func ViewOf(e plan.Explanation) ExplanationView {
	v := ExplanationView{
		Type: Type{v1alpha1.GroupVersion.String(), "Explanation"}, Schema: string(v1alpha1.SchemaUser),
		Resource: plan.ViewResource{APIVersion: e.Change.APIVersion, Kind: e.ID.Kind, Namespace: e.ID.Namespace, Name: e.ID.Name},
		Fields:   make([]FieldView, len(e.Fields)), Profiles: e.Profiles,
	}
	switch {
	case e.Default:
		v.Schema = string(v1alpha1.SchemaDefault)
	case !e.Written:
		v.Schema = string(v1alpha1.SchemaFields)
	}
	for i, f := range e.Fields {
		v.Fields[i] = fieldView(f)
	}
	return v
}

// fieldView returns a field in the form that is printed for programs.
func fieldView(f plan.Field) FieldView {
	v := FieldView{
		Path: f.Path, State: f.State, Drift: f.Drift, Corrected: f.Corrected, Profile: f.Profile, Why: f.Why, Holder: f.Holder, OnRelease: f.OnRelease,
		Desired: viewValue(f.Desired), Live: viewValue(f.Live), Manifest: viewValue(f.Manifest), Writer: writerView(f.Writer),
	}
	if f.Rule != nil {
		v.Rule = f.Rule.String()
	}
	return v
}

// viewValue returns nil for an absent value, which distinguishes it from null.
func viewValue(v delta.Value) *plan.ViewValue {
	if !v.Set {
		return nil
	}
	return &plan.ViewValue{Any: v.Any}
}

// writerView returns nil if the writer is unknown.
func writerView(w writer.Writer) *WriterView {
	if w.Manager == "" {
		return nil
	}
	v := &WriterView{Manager: w.Manager, Subresource: w.Subresource}
	if !w.At.IsZero() {
		v.Time = w.At.UTC().Format(time.RFC3339)
	}
	return v
}
