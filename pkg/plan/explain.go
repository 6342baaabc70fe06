package plan

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// FieldState says what a field is to the Application.
// Source: docs/semantics.md, "Words".
type FieldState string

const (
	// FieldHeld: the manifest sets it, and drift is corrected.
	FieldHeld FieldState = "held"
	// FieldLearned: observed, not in the manifest, so the API server's value is
	// taken over and held.
	FieldLearned FieldState = "learned"
	// FieldAccepted: held in the form that the API server made of it.
	FieldAccepted FieldState = "accepted"
	// FieldContested: held, and another client keeps changing it back.
	FieldContested FieldState = "contested"
	// FieldWatched: never written. Below a status it is recorded and not even compared.
	FieldWatched FieldState = "watched"
	// FieldMark: Holdfast's own mark of whose the object is, held like any field.
	FieldMark FieldState = "mark"
	// FieldAllowed: a rule of the observer schema says which values it may have.
	FieldAllowed FieldState = "allowed"
	// FieldSeeded: written when the object was created, and never again.
	FieldSeeded FieldState = "seeded"
	// FieldPushed: written when the manifest's value changes.
	FieldPushed FieldState = "pushed"
	// FieldAbsent: not to be there.
	FieldAbsent FieldState = "absent"
	// FieldClaimed: another Application holds it, so that it is left alone.
	FieldClaimed FieldState = "claimed"
	// FieldFree: not observed.
	FieldFree FieldState = "free"
	// FieldRemoved: it goes, since the manifest has it no longer, a list is longer than
	// the observer schema allows, or Holdfast lets the object go.
	FieldRemoved FieldState = "removed"
	// FieldRestored: it is held no longer, and gets back what it had.
	FieldRestored FieldState = "restored"
)

// Field is one field of a resource, explained. Values of Secrets are masked.
type Field struct {
	// Path as people read it; Parent is that of the map or list element that has
	// it, "" at the top.
	Path, Parent string
	State        FieldState
	// Desired is not set for a field without a desired value; of a free field
	// nobody desires anything. Live is not set where the object has no such field.
	Desired, Live delta.Value
	// Manifest is what the manifest has for a field whose live value is another one, and
	// which is left: one that is free, or has a rule.
	Manifest delta.Value
	// Rule is what the observer schema allows; nil for a field without a rule.
	Rule *observer.Rule
	// Drift is the reason of its drift; empty for a field that is in place.
	Drift delta.Reason
	// IsDoubtful is true for drift that may be only another spelling.
	IsDoubtful bool
	// Corrected is true for drift that Holdfast corrects now; else Why says why not.
	Corrected bool
	// Writer is the field manager that wrote it last.
	Writer Writer
	// Corrections is how often a contested field was corrected, Next when it may
	// be corrected again.
	Corrections int
	Next        time.Time
	// Profile is the HoldProfile that frees or holds it; empty if none does.
	Profile string
	// Why says why Holdfast would or would not correct the field.
	Why string
	// Holder is the Application that holds a claimed field, as namespace/name.
	Holder string
	// OnRelease says, of a held field of a shared object, what it was before and what becomes
	// of it when it is let go.
	OnRelease string
	// Unrestorable says why it stays as it is then, though it would be restored; empty if it
	// does not.
	Unrestorable string

	livePath *observer.Path
}

// IsStatus reports whether it is of the object's status, and free.
func (f Field) IsStatus() bool { return f.State == FieldFree && observer.IsUnder(f.Path, "status") }

// LivePath is the path as it leads through the live object.
func (f Field) LivePath() *observer.Path { return f.livePath }

// Explanation is what there is to say of one resource, field by field.
type Explanation struct {
	ID manifest.ID
	// Change is what would be done now.
	Change Change
	// Default is true if the observer schema of the resource was derived from
	// its manifest; false for an entry of the user.
	Default bool
	// Source is where its schema is written.
	Source SchemaSource
	// Profiles are the HoldProfiles that decide about any of its fields.
	Profiles []string
	// Desired is false for a resource that is on record and no longer desired:
	// nothing of it is held.
	Desired bool
	// Missing is true if there is no such object, so that all its fields are.
	Missing bool
	Fields  []Field
}

// Explain says for every field of a resource what it is to the Application, from
// the desired state, the live object and who wrote it. The fields that identify
// an object, and those that are the API server's own, are left out. It is false
// if the plan has no such resource. showSecrets leaves values of Secrets as they
// are: the caller answers for who reads them.
func (p *Plan) Explain(id manifest.ID, showSecrets bool) (Explanation, bool) {
	at := slices.IndexFunc(p.Changes, func(c Change) bool { return c.ID == id })
	if at < 0 {
		return Explanation{}, false
	}
	return p.ExplainChange(p.Changes[at], showSecrets), true
}

// ExplainChange is Explain for one of the plan's own changes. Whoever explains all of them
// has it look for none.
func (p *Plan) ExplainChange(change Change, showSecrets bool) Explanation {
	id := change.ID
	explained := Explanation{ID: id, Change: change, Missing: p.in.Live[id] == nil}
	e := &explainer{plan: p, id: id, live: p.in.Live[id], change: change, showSecrets: showSecrets}
	if change.Done {
		explained.Desired = true
		return explained // nothing of it is held any more
	}
	e.authors = &writerIndex{live: e.live, entries: managersOf(e.live)}
	if res := change.resource; res != nil {
		explained.Desired, explained.Default, explained.Source = true, res.entry.Default, sourceOf(res.entry)
		explained.Profiles = res.entry.Profiles()
		e.res, e.removals, e.claims = res, p.withdrawn(res), claimsAt(p.in.Application, res.kind, e.live)
		e.baseline, e.unrecorded = recordedBaseline(p.statuses[id], e.live), unrecordedPaths(p.statuses[id], e.live)
		if res.policy.claims && res.holdsNothing() { // and what goes with the last field that was
			e.removals = append(e.removals, slices.DeleteFunc(slices.Clone(change.Fields), func(d delta.Difference) bool { return d.Desired.Set })...)
		}
		e.removals = append(e.removals, res.letting.restored...) // and what fields get back
		in := p.comparison(res, e.live)
		in.CompareOnly = p.IsObserveOnly()
		delta.Walk(in, e.field)
	} else {
		e.removals = change.Fields // our marks, which are taken off
		delta.WalkFree(p.in.Kinds.Type(gvkOf(id, change.APIVersion)), e.live, e.field)
	}
	e.addRestored()
	explained.Fields = inOrder(e.fields)
	return explained
}

func gvkOf(id manifest.ID, apiVersion string) schema.GroupVersionKind {
	gv, _ := schema.ParseGroupVersion(apiVersion)
	return gv.WithKind(id.Kind)
}
