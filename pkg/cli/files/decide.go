package files

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/reconcile"
	"holdfast.dev/holdfast/pkg/source"
)

// Decision is an Application with the plan for it; see NotDecided for an invalid plan. The plan is nil only in a
// decision that Sources.Decide returns with an error.
//
//	made by                 Document         Live        Invalid
//	Sources.Decide          a file           from files  returned as an error
//	connection.Cluster      a name, or file  gathered    see NotDecided
//	ForApplication          empty            the same    see NotDecided
//	Submission.Decision     empty            none        never
type Decision struct {
	Subject
	*plan.Plan
	// Live contains the live objects in files, or those that were gathered from a cluster.
	Live map[manifest.ID]map[string]any
	// Kinds are the kinds that the plan was made with. It is nil if gathering failed.
	Kinds intent.Kinds
	// Faults are the validation errors that make the plan invalid.
	Faults []error
	// mistyped contains messages about kinds that do not exist. It is set for files, where no cluster reports
	// them.
	mistyped []string
	// Unlisted describes objects that may exist but could not be listed; empty if there are none.
	Unlisted string
	// Unprofiled describes why the HoldProfiles are unknown; empty if they are known.
	Unprofiled string
	// gathered is the input of the plan. Its Application is nil if gathering failed.
	gathered plan.Input
}

// Decide reads the files and decides about each Application in them. The error joins the errors of all
// Applications. If all files can be read, there is one decision for each Application. A decision whose live
// objects are invalid has no plan.
func (s Sources) Decide(ctx context.Context, now time.Time) ([]Decision, error) {
	apps, profiles, err := s.applicationsAndProfiles(ctx)
	// Errors in all files are reported at once.
	documents, liveErr := s.Input.Read(ctx, s.Live)
	if err = errors.Join(err, liveErr); err != nil {
		return nil, err
	}
	all := make([]Decision, 0, len(apps))
	var faults []error
	for _, app := range apps {
		d, err := app.decide(ctx, documents, profiles, now)
		all, faults = append(all, d), append(faults, err)
	}
	return all, errors.Join(faults...)
}

// decide decides about one Application from live objects and profiles in files. If the Application is invalid, it
// returns the decision and the validation errors with their positions. Live objects belong to the Application by
// their tracking metadata. They therefore can be in one file for several Applications.
func (app Subject) decide(ctx context.Context, documents []manifest.Document, profiles []*intent.Profile, now time.Time) (Decision, error) {
	app, translation := app.Translated(ctx, liveReader{documents, app.Namespace}, false)
	translated := WithTranslation(app.Application, translation)
	kinds := KindsOf(translated, documents...)
	live, err := liveObjects(documents, app.Namespace, kinds)
	if err != nil {
		return Decision{}, err
	}
	d, err := app.DecideIn(ctx, fileView{kinds: kinds, live: live, profiles: ProfilesOf(profiles, live)}, translation, now, kindsIn(live)...)
	if err != nil {
		return Decision{}, err
	}
	d.Live, d.mistyped = live, MistypedKinds(translated)
	if d.Invalid != nil {
		return d, refusal(app.Document, d.Invalid, d.Faults)
	}
	return d, nil
}

// DecideIn decides what the controller would do about an Application. It reads all desired objects, because a
// user wants to see their drift, and not only what the controller watches. translation is the result of
// translating the template, or nil if there is none. more are kinds to gather in addition to those that the
// Application names. If gathering fails, the decision has an invalid plan that contains the error.
func (app Subject) DecideIn(ctx context.Context, view View, translation *intent.Source, now time.Time, more ...schema.GroupVersionKind) (Decision, error) {
	s, p, err := reconcile.Decide(ctx, view, reconcile.Request{
		Application: app.Application, Source: translation, Memory: reconcile.NewMemory(app.Application, now), Now: now, Kinds: more, ReadDesired: true,
	})
	if err != nil {
		return Decision{Subject: app, Plan: plan.NewInvalid(plan.Input{Application: app.Application}, Unread(err))}, err
	}
	d := Decision{Subject: app, Plan: p, Live: s.Input.Live, Kinds: s.Input.Kinds, gathered: s.Input}
	if p.Invalid != nil {
		d.Faults = slices.Concat(intent.Faults(s.Input.Intent()), app.SourceFaults(translation))
	}
	return d, nil
}

// ForApplication decides about another version of the Application, with the input that was gathered for this one. It
// sends no requests, so it does not see objects that only the other version names. It returns nil if there is no
// input. A translation is dropped if the other version has another source. Commands use it to show the effect of an
// edit before they write: hold, free, mode and submit.
func (d Decision) ForApplication(other *v1alpha1.Application) *Decision {
	input := d.gathered
	if input.Application == nil {
		return nil
	}
	// The translation of another template is not valid for this version.
	if !source.IsSame(input.Application, other) {
		input.Source = nil
	}
	input.Application = other
	return &Decision{Subject: Subject{Application: other}, Plan: plan.Decide(input), Live: d.Live, Kinds: d.Kinds, gathered: input}
}

// LeafOf returns the plan's identity of a contested field in the status.
func LeafOf(f v1alpha1.ContestedField) plan.Leaf {
	return plan.Leaf{ID: manifest.IDFromReference(f.Resource), Path: f.Path}
}

// Notes returns notes about a decision that the plan does not contain. The first explain why the controller does
// not execute the plan.
func (d Decision) Notes() (notes []string) {
	name := d.Namespace + "/" + d.Name
	if d.IsObserveOnly() {
		notes = append(notes, "Application "+name+" is observe-only: none of this is done until spec.mode is Hold")
	}
	if d.Suspended() {
		notes = append(notes, "Application "+name+" is suspended: none of this is done until spec.suspend is unset")
	}
	return append(notes, d.OtherNotes()...)
}

// OtherNotes returns the notes, except for those that explain why the plan is not executed.
func (d Decision) OtherNotes() []string {
	notes := slices.Clone(d.mistyped)
	name := d.Namespace + "/" + d.Name
	if d.Unlisted != "" {
		notes = append(notes, d.Unlisted)
	}
	if d.Unprofiled != "" {
		notes = append(notes, d.Unprofiled)
	}
	if names := d.listeners(); len(names) > 0 {
		notes = append(notes, fmt.Sprintf("hooks of the controller (%s) can change the manifests of %s: this plan is without their changes, and "+
			"without the removal of fields", strings.Join(names, ", "), name))
	}
	if c := d.unrendered(); c != nil {
		notes = append(notes, "Application "+name+": the controller has not rendered it yet: "+c.Reason+": "+c.Message)
	}
	for _, change := range d.Changes {
		version, _ := d.Live[change.ID]["apiVersion"].(string)
		if version != "" && version != change.APIVersion {
			notes = append(notes, fmt.Sprintf("the live %s has the version %s, and the manifest %s: fields may differ for this reason, so get it in %s",
				change.ID, version, change.APIVersion, change.APIVersion))
		}
	}
	return notes
}

// unrendered returns the condition Rendered if it is False for the current generation. It explains why the
// controller has no manifests of this version. The result is nil if the controller has manifests, or has not
// observed this generation.
func (d Decision) unrendered() *metav1.Condition {
	c := apimeta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionRendered)
	if c == nil || c.Status != metav1.ConditionFalse || c.ObservedGeneration != d.Generation {
		return nil
	}
	return c
}

// Unread returns a problem for an object that the user cannot read. Its reason is not a reason of the API. Package
// plan blocks the change of such an object, because a decision without its live state could be wrong.
func Unread(err error) *plan.Problem {
	return &plan.Problem{Reason: "Unreadable", As: intent.DispositionUnread, Message: err.Error()}
}

// NotDecided returns the reason why nothing could be decided, or nil. If the Application was read from a file,
// each validation error has its position.
//
//	Invalid  read from   error
//	nil      any         nil
//	set      a cluster   the reason of the plan, or that of the condition Rendered for a source that is not fetched
//	set      a file      a line for each validation error, with its position
func NotDecided(d Decision) error {
	switch {
	case d.Invalid == nil:
		return nil
	case d.Document.Value == nil: // read from a cluster
		if c := d.unrendered(); c != nil && d.Invalid.Disposition() == v1alpha1.DispositionRetry { // the controller fetches it, and knows the cause
			return fmt.Errorf("the Application %s/%s has no manifests: %s: %s", d.Namespace, d.Name, c.Reason, c.Message)
		}
		return fmt.Errorf("the Application %s/%s is invalid: %s: %w", d.Namespace, d.Name, d.Invalid.Reason, d.Invalid)
	default:
		return refusal(d.Document, d.Invalid, d.Faults)
	}
}
