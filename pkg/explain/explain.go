package explain

import (
	"slices"
	"time"

	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/writer"
)

// State is the state of a field for the Application, as `holdfast explain` prints it. The states of delta.State
// are a subset. Source: docs/semantics.md, "Words".
type State string

const (
	// Held: the manifest sets it, and drift is corrected.
	Held State = "held"
	// Learned: observed and not in the manifest, so the Application learns the API server's value and
	// holds it.
	Learned State = "learned"
	// Accepted: held in the API server's accepted form.
	Accepted State = "accepted"
	// Contested: held, and another client changes it again and again.
	Contested State = "contested"
	// Reported: never written. A field below the status is recorded, and not even compared.
	Reported State = "reported"
	// Mark: tracking metadata of Holdfast, held like any field.
	Mark State = "mark"
	// Allowed: a rule of the observer schema limits its values.
	Allowed State = "allowed"
	// Pushed: written when the manifest's value changes.
	Pushed State = "pushed"
	// Absent: must not exist.
	Absent State = "absent"
	// Claimed: another Application holds it, so this one does not write it.
	Claimed State = "claimed"
	// Free: not observed.
	Free State = "free"
	// Removed: to be removed, because it was removed from the manifest, a list is longer than the
	// observer schema allows, or Holdfast releases the object.
	Removed State = "removed"
	// Restored: released, and to be restored to its original value.
	Restored State = "restored"
)

// Field is one field of a resource, the same in plans, explanations and statuses. Its JSON and YAML are its printed
// form, without the parts that do not apply. Values of Secrets are masked.
type Field struct {
	// Path is the path in text form. Parent is the path of the map or list element that contains the field,
	// "" at the top.
	Path   string `json:"path" yaml:"path"`
	Parent string `json:"-" yaml:"-"`
	// State is empty in a plan, which has only the Drift of a field.
	State State `json:"state,omitempty" yaml:"state,omitempty"`
	// Drift is the reason of its drift; empty for a field that is in sync. IsDoubtful is true if the live value may be
	// the accepted form of the desired value.
	Drift      delta.Reason `json:"drift,omitempty" yaml:"drift,omitempty"`
	IsDoubtful bool         `json:"-" yaml:"-"`
	// Corrected is true for drift that the controller corrects now. Otherwise Why is the reason.
	Corrected bool `json:"corrected,omitempty" yaml:"corrected,omitempty"`
	// Desired is not set for a field without a desired value, such as a free field. Live is not set if the
	// object does not have the field.
	Desired delta.Value `json:"desired,omitzero" yaml:"desired,omitempty"`
	Live    delta.Value `json:"live,omitzero" yaml:"live,omitempty"`
	// Manifest is the value in the manifest, if the live value is another one and is not corrected: the
	// field is free or has a rule.
	Manifest delta.Value `json:"manifest,omitzero" yaml:"manifest,omitempty"`
	// Rule is the rule of the field in the observer schema; nil for a field without a rule. It is printed as text.
	Rule *observer.Rule `json:"rule,omitempty" yaml:"rule,omitempty"`
	// The embedded parts are zero if they do not apply to the state.
	Actors     `yaml:",inline"`
	Contention `json:"-" yaml:"-"`
	// Why is the reason why the controller corrects the field or not. Its text is not part of the API.
	Why           string `json:"why,omitempty" yaml:"why,omitempty"`
	ReleaseEffect `yaml:",inline"`

	livePath *observer.Path
}

// Actors are the client, the HoldProfile and the Application that decide about a field.
type Actors struct {
	// Writer is the field manager that wrote it last.
	Writer writer.Writer `json:"writer,omitzero" yaml:"writer,omitempty"`
	// Profile is the name of the HoldProfile that frees or holds the field; empty if there is none.
	Profile string `json:"profile,omitempty" yaml:"profile,omitempty"`
	// Holder is the Application that holds a claimed field, as namespace/name.
	Holder string `json:"holder,omitempty" yaml:"holder,omitempty"`
}

// ReleaseEffect is the effect of a release on a held field.
type ReleaseEffect struct {
	// OnRelease describes what happens to a held field of a shared object on release, with its original
	// value.
	OnRelease string `json:"onRelease,omitempty" yaml:"onRelease,omitempty"`
	// Unrestorable is the reason why a field that should be restored on release cannot be; empty if it can.
	Unrestorable string `json:"-" yaml:"-"`
}

// Contention is how often a contested field was corrected.
type Contention struct {
	// Corrections is the number of corrections of a contested field. Next is the time from which it may be
	// corrected again.
	Corrections int
	Next        time.Time
}

// IsStatus reports whether the field is a free field of the object's status.
func (f Field) IsStatus() bool { return f.State == Free && observer.IsUnder(f.Path, "status") }

// LivePath returns the path of the field in the live object.
func (f Field) LivePath() *observer.Path { return f.livePath }

// Explanation is the explanation of one resource, field by field.
type Explanation struct {
	ID manifest.ID
	// Change is the change that the plan has for the resource.
	Change plan.Change
	// Default is true if the observer schema of the resource was derived from its manifest, and false if a
	// user wrote it.
	Default bool
	// Written is true if spec.observerSchema has its schema. FieldsItem is the item of spec.fields that applies to
	// it, such as "fields[0]"; empty if there is none.
	Written    bool
	FieldsItem string
	// Profiles are the names of the HoldProfiles that decide about any of its fields. They have no effect on a schema
	// that a user wrote.
	Profiles []string
	// Desired is false for a resource in the inventory that is no longer desired: none of its fields is
	// held.
	Desired bool
	// Missing is true if the object does not exist, so that all its fields are missing.
	Missing bool
	// Fields are in display order: metadata first, the status last.
	Fields []Field
}

// Resource returns the state of every field of a resource of a plan, from the desired state, the live object and its
// field managers. It omits the fields that identify an object, and those that the API server manages. It
// returns false if the plan has no such resource. showSecrets disables the masking of Secret values: the
// caller is responsible for who reads them.
func Resource(p *plan.Plan, id manifest.ID, showSecrets bool) (Explanation, bool) {
	at := slices.IndexFunc(p.Changes, func(c plan.Change) bool { return c.ID == id })
	if at < 0 {
		return Explanation{}, false
	}
	return Change(p, p.Changes[at], showSecrets), true
}

// Change is like Resource for one of the plan's own changes. It saves the search for the change when
// all changes are explained. A change of another plan would be explained with the live objects of this one.
func Change(p *plan.Plan, change plan.Change, showSecrets bool) Explanation {
	in, id, schema := p.Input(), change.ID, change.Schema()
	explained := Explanation{ID: id, Change: change, Missing: in.Live[id] == nil}
	if change.Done {
		explained.Desired = true
		return explained // none of its fields is held any more
	}
	// The index has no Application, so that the Application itself can be the writer of a field.
	e := &explainer{plan: p, in: in, id: id, live: in.Live[id], change: change, showSecrets: showSecrets, authors: writer.NewIndex(nil, in.Live[id])}
	if schema != nil {
		explained.Desired, explained.Default, explained.FieldsItem = true, schema.Default, intent.FieldsItem(schema)
		explained.Written = !schema.Default && !schema.FromFields()
		explained.Profiles = schema.Profiles()
		inspection := p.Inspect(change)
		e.schema, e.decided, e.removals = schema, inspection, inspection.Removals
		e.claims = claimsAt(in.Application, inspection.Comparison.Type, e.live)
		delta.Walk(inspection.Comparison, e.field)
	} else {
		e.removals = change.Fields // the removal of the tracking metadata
		delta.WalkFree(in.Kinds.Type(change.GVK()), e.live, e.field)
	}
	// The walk cannot reach fields that do not exist and are about to be restored.
	for _, d := range e.removals {
		if d.Desired.Set && !d.Live.Set {
			e.field(delta.Field{Path: d.LivePath(), State: delta.StateFree})
		}
	}
	explained.Fields = inOrder(e.fields)
	return explained
}

// FreeDifferences returns the free fields of a resource whose live value differs from the manifest, whose value was
// written only when the object was created. It returns nil for a default schema. Values of Secrets are masked.
func FreeDifferences(p *plan.Plan, change plan.Change) (fields []Field) {
	schema := change.Schema()
	if schema == nil || change.Live() == nil || schema.Default && !schema.FromFields() {
		return nil
	}
	return slices.DeleteFunc(Change(p, change, false).Fields, func(f Field) bool { return f.State != Free || !f.Manifest.Set })
}
