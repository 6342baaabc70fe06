package plan

import (
	"time"

	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/writer"
)

// FieldView is the printed form of one field, the same in plans, explanations and statuses. Parts that do not
// apply are omitted. An absent value is omitted, too; null is printed.
type FieldView struct {
	Path string `json:"path" yaml:"path"`
	// State is omitted in a plan, which has only the Drift of a field.
	State FieldState   `json:"state,omitempty" yaml:"state,omitempty"`
	Drift delta.Reason `json:"drift,omitempty" yaml:"drift,omitempty"`
	// Corrected is true for drift that is corrected now.
	Corrected bool `json:"corrected,omitempty" yaml:"corrected,omitempty"`

	Desired *ViewValue `json:"desired,omitempty" yaml:"desired,omitempty"`
	Live    *ViewValue `json:"live,omitempty" yaml:"live,omitempty"`
	// Manifest is the value in the manifest, if the field keeps another live value: it is free, or has a
	// rule.
	Manifest *ViewValue `json:"manifest,omitempty" yaml:"manifest,omitempty"`
	// Rule describes the rule of the observer schema.
	Rule   string      `json:"rule,omitempty" yaml:"rule,omitempty"`
	Writer *WriterView `json:"writer,omitempty" yaml:"writer,omitempty"`
	// Profile is the HoldProfile that frees or holds the field.
	Profile string `json:"profile,omitempty" yaml:"profile,omitempty"`
	// Why is a sentence for people. Its text is not part of the API.
	Why string `json:"why,omitempty" yaml:"why,omitempty"`
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

// MaskedField returns a difference as a field for display. The values of a Secret are masked, so that they only show
// that they differ. The field has no state, and Corrected is false.
func MaskedField(id manifest.ID, d delta.Difference) Field {
	desired, live := maskedPair(id, d.Path, d.Desired, d.Live)
	return Field{Path: d.Path, Desired: desired, Live: live, Drift: d.Reason, Rule: d.Rule}
}

// View returns the printed form of a field. It masks nothing: the values of Secrets in the field are masked already,
// unless the user may see them.
func (f Field) View() FieldView {
	v := FieldView{
		Path: f.Path, State: f.State, Drift: f.Drift, Corrected: f.Corrected,
		Desired: viewValue(f.Desired), Live: viewValue(f.Live), Manifest: viewValue(f.Manifest),
		Writer: viewWriter(f.Writer), Profile: f.Profile, Why: f.Why, Holder: f.Holder, OnRelease: f.OnRelease,
	}
	if f.Rule != nil {
		v.Rule = f.Rule.String()
	}
	return v
}

// viewValue returns nil for an absent value, and a value with nil for null.
func viewValue(v delta.Value) *ViewValue {
	if !v.Set {
		return nil
	}
	return &ViewValue{v.Any}
}

// viewWriter returns nil if the writer is unknown.
func viewWriter(w writer.Writer) *WriterView {
	if w.Manager == "" {
		return nil
	}
	v := &WriterView{Manager: w.Manager, Subresource: w.Subresource}
	if !w.At.IsZero() {
		v.Time = w.At.UTC().Format(time.RFC3339)
	}
	return v
}
