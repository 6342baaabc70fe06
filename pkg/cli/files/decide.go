package files

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/source"
	"holdfast.dev/holdfast/pkg/turn"
)

// Decision is an Application and what the controller would do about it.
type Decision struct {
	Subject
	*plan.Plan
	Live  map[manifest.ID]map[string]any
	Kinds plan.Kinds
	// Faults are the mistakes for which the plan is refused.
	Faults []error
	// mistyped are kinds that do not exist, as far as that is known without a cluster.
	mistyped []string
	// Unlisted says what may be there and could not be looked for; empty if there is nothing.
	Unlisted string
	// Unprofiled is the same of HoldProfiles.
	Unprofiled string
	// gathered is what was decided with; without an Application if nothing could be.
	gathered plan.Input
}

// Decide reads the files and decides about each Application in them. The error
// joins everything that is wrong with any; then nothing is decided.
func (s Sources) Decide(ctx context.Context, now time.Time) ([]Decision, error) {
	apps, profiles, err := s.applicationsAndProfiles(ctx)
	documents, liveErr := s.Input.Read(ctx, s.Live)
	if err = errors.Join(err, liveErr); err != nil {
		return nil, err
	}
	all := make([]Decision, 0, len(apps))
	var faults []error
	for _, app := range apps {
		d, err := app.decide(ctx, documents, profiles, now)
		if err != nil {
			faults = append(faults, err)
		}
		all = append(all, d)
	}
	return all, errors.Join(faults...)
}

func (app Subject) decide(ctx context.Context, documents []manifest.Document, profiles []*plan.Profile, now time.Time) (Decision, error) {
	app, translation := app.Translated(ctx, liveReader{documents, app.Namespace}, false)
	kinds := kindsOf(app.With(translation), documents)
	live, err := liveObjects(documents, app.Namespace, kinds)
	if err != nil {
		return Decision{}, err
	}
	d, err := app.DecideIn(ctx, fileView{kinds, live, ProfilesOf(profiles, live)}, translation, now, kindsIn(live)...)
	if err != nil {
		return Decision{}, err
	}
	d.Live, d.mistyped = live, MistypedKinds(app.With(translation).Application)
	if d.Invalid != nil {
		return d, refusal(app.Document, d.Invalid, d.Faults)
	}
	return d, nil
}

// DecideIn decides what the controller would do about an Application, with everything
// that is desired read. made is what its template was translated into, if it has one;
// more are kinds to look at beside those that it names.
func (app Subject) DecideIn(ctx context.Context, view View, translation *plan.Source, now time.Time, more ...schema.GroupVersionKind) (Decision, error) {
	s, p, err := turn.Decide(ctx, view, turn.Request{
		Application: app.Application, Source: translation, Memory: turn.NewMemory(app.Application, now), Now: now, Kinds: more, ReadDesired: true,
	})
	if err != nil {
		return Decision{Subject: app, Plan: plan.NewInvalid(plan.Input{Application: app.Application}, Unread(err))}, err
	}
	d := Decision{Subject: app, Plan: p, Live: s.Input.Live, Kinds: s.Input.Kinds, gathered: s.Input}
	if p.Invalid != nil {
		d.Faults = slices.Concat(plan.Faults(s.Input), app.SourceFaults(translation))
	}
	return d, nil
}

// Of decides about another version of the Application with what was gathered for this one;
// nil if nothing could be.
func (d Decision) Of(other *v1alpha1.Application) *Decision {
	input := d.gathered
	if input.Application == nil {
		return nil
	}
	if !source.IsSame(input.Application, other) {
		input.Source = nil
	}
	input.Application = other
	return &Decision{Subject: Subject{Application: other}, Plan: plan.Decide(input), Live: d.Live, Kinds: d.Kinds, gathered: input}
}

// LeafOf is the field that is contested.
func LeafOf(f v1alpha1.ContestedField) plan.Leaf {
	return plan.Leaf{ID: plan.IDOf(f.Resource), Path: f.Path}
}

// Notes are what is to be known of a decision and is not in the plan itself.
func (d Decision) Notes() (notes []string) {
	name := d.Namespace + "/" + d.Name
	if d.IsObserveOnly() {
		notes = append(notes, "Application "+name+" only observes: nothing of this is done until spec.mode is Hold")
	}
	if d.Suspended() {
		notes = append(notes, "Application "+name+" is suspended: nothing of this is done until spec.suspend is unset")
	}
	return append(notes, d.OtherNotes()...)
}

// OtherNotes are those of Notes that do not say why nothing of it is done.
func (d Decision) OtherNotes() []string {
	notes := slices.Clone(d.mistyped)
	name := d.Namespace + "/" + d.Name
	if d.Unlisted != "" {
		notes = append(notes, d.Unlisted)
	}
	if d.Unprofiled != "" {
		notes = append(notes, d.Unprofiled)
	}
	if c := d.unrendered(); c != nil {
		notes = append(notes, "Application "+name+": the controller has not got as far: "+c.Reason+": "+c.Message)
	}
	for _, change := range d.Changes {
		version, _ := d.Live[change.ID]["apiVersion"].(string)
		if version != "" && version != change.APIVersion {
			notes = append(notes, fmt.Sprintf("the live %s is given in %s and desired in %s: fields may differ because of that, get it in %s",
				change.ID, version, change.APIVersion, change.APIVersion))
		}
	}
	return notes
}

// unrendered is why the controller has no manifests of this version; nil if it has,
// or has not looked.
func (d Decision) unrendered() *metav1.Condition {
	c := apimeta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionRendered)
	if c == nil || c.Status != metav1.ConditionFalse || c.ObservedGeneration != d.Generation {
		return nil
	}
	return c
}

// Unread is what the user cannot read. Its reason is none of the API.
func Unread(err error) *plan.Problem {
	return &plan.Problem{Reason: "Unreadable", As: plan.DispositionUnread, Message: err.Error()}
}

// NotDecided is why nothing could be decided, or nil.
func NotDecided(d Decision) error {
	switch {
	case d.Invalid == nil:
		return nil
	case d.Document.Value == nil: // it is in no file
		if c := d.unrendered(); c != nil && d.Invalid.Disposition() == v1alpha1.DispositionRetry { // who fetches it knows better
			return fmt.Errorf("the Application %s/%s has no manifests: %s: %s", d.Namespace, d.Name, c.Reason, c.Message)
		}
		return fmt.Errorf("the Application %s/%s is refused: %s: %w", d.Namespace, d.Name, d.Invalid.Reason, d.Invalid)
	default:
		return refusal(d.Document, d.Invalid, d.Faults)
	}
}
