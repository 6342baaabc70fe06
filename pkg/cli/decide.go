package cli

import (
	"errors"
	"fmt"
	"time"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// decided is an Application and what the controller would do about it.
type decided struct {
	application
	*plan.Plan
	live map[manifest.ID]map[string]any
}

// decide reads the files and decides about each Application in them. The error
// joins everything that is wrong with any; then nothing is decided.
func (s sources) decide(now time.Time) ([]decided, error) {
	apps, err := s.applications()
	documents, liveErr := s.read(s.live)
	if err = errors.Join(err, liveErr); err != nil {
		return nil, err
	}
	all := make([]decided, 0, len(apps))
	var faults []error
	for _, app := range apps {
		d, err := app.decide(documents, now)
		if err != nil {
			faults = append(faults, err)
		}
		all = append(all, d)
	}
	return all, errors.Join(faults...)
}

func (app application) decide(documents []manifest.Document, now time.Time) (decided, error) {
	kinds := kindsOf(app, documents)
	live, err := liveObjects(documents, app.Namespace, kinds)
	if err != nil {
		return decided{}, err
	}
	in := plan.Input{Application: app.Application, Live: live, Kinds: kinds, Memory: app.memory(), Now: now}
	d := decided{application: app, live: live}
	if app.DeletionTimestamp != nil {
		d.Plan = plan.Retire(in)
		return d, nil
	}
	d.Plan = plan.Decide(in)
	if d.Refused != nil {
		return d, refusal(app.document, d.Refused, plan.Faults(in))
	}
	return d, nil
}

// memory is what the status remembers of fights, as the controller reads it.
func (app application) memory() *plan.Memory {
	m := &plan.Memory{Fights: map[plan.Leaf]*plan.Fight{}}
	for _, f := range app.Status.Contested {
		m.Fights[leafOf(f)] = &plan.Fight{Corrections: int(f.Corrections), Next: f.NextCorrection.Time, Manager: f.Manager}
	}
	return m
}

func leafOf(f v1alpha1.ContestedField) plan.Leaf {
	return plan.Leaf{ID: plan.IDOf(f.Resource), Path: f.Path}
}

// notes are what is to be known of a decision and is not in the plan itself.
func (d decided) notes() []string {
	var notes []string
	name := d.Namespace + "/" + d.Name
	if d.Suspended() {
		notes = append(notes, "Application "+name+" is suspended: nothing of this is done until spec.suspend is unset")
	}
	for _, change := range d.Changes {
		found, _ := d.live[change.ID]["apiVersion"].(string)
		if found != "" && found != change.APIVersion {
			notes = append(notes, fmt.Sprintf("the live %s is given in %s and desired in %s: fields may differ because of that, get it in %s",
				change.ID, found, change.APIVersion, change.APIVersion))
		}
	}
	return notes
}
