package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

func (s *story) showStatus(ctx context.Context) error {
	if err := s.settled(ctx); err != nil {
		return err
	}
	if err := s.run(ctx, "bin/holdfast status echo-demo"); err != nil {
		return err
	}
	app, err := s.cluster.application(ctx)
	if err != nil {
		return err
	}
	return s.checkStatus(app.Status)
}

// settled waits until the last correction is rolled out and reported.
func (s *story) settled(ctx context.Context) error {
	for _, wait := range []struct {
		resource schema.GroupVersionResource
		until    condition
	}{{deployments, rolledOut(3)}, {applications, readyAndCorrected}} {
		follower, err := s.cluster.follow(ctx, wait.resource)
		if err != nil {
			return err
		}
		_, err = follower.until(ctx, wait.until)
		follower.stop()
		if err != nil {
			return err
		}
	}
	return nil
}

var readyAndCorrected = condition{"Ready, with a correction on record for both resources", func(object *unstructured.Unstructured) bool {
	app, err := decode(object)
	if err != nil || !apimeta.IsStatusConditionTrue(app.Status.Conditions, v1alpha1.ConditionReady) {
		return false
	}
	corrected := func(r v1alpha1.ResourceStatus) bool { return r.LastCorrection != nil }
	return len(app.Status.Resources) == 2 && corrected(app.Status.Resources[0]) && corrected(app.Status.Resources[1])
}}

func (c *cluster) application(ctx context.Context) (*v1alpha1.Application, error) {
	object, err := c.get(ctx, applications)
	if err != nil {
		return nil, err
	}
	return decode(object)
}

func decode(object *unstructured.Unstructured) (*v1alpha1.Application, error) {
	raw, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	app := &v1alpha1.Application{}
	return app, json.Unmarshal(raw, app)
}

func acceptedAs(f v1alpha1.AcceptedField) string {
	if f.Accepted == nil {
		return "nothing"
	}
	return string(f.Accepted.Raw)
}

// learnedAffinity returns the recorded sessionAffinity of the Service.
func learnedAffinity(status v1alpha1.ApplicationStatus) string {
	for _, item := range status.LastAppliedManifest {
		var object unstructured.Unstructured
		if json.Unmarshal(item.Raw, &object) == nil && object.GetKind() == "Service" {
			affinity, _, _ := unstructured.NestedString(object.Object, "spec", "sessionAffinity")
			return affinity
		}
	}
	return ""
}

func (s *story) checkStatus(status v1alpha1.ApplicationStatus) error {
	if !apimeta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionHeld) || len(status.Resources) != 2 {
		return errors.New("the status does not report 2 held resources")
	}
	s.ok("it reports that both resources are held")
	if a := status.Accepted; len(a) != 1 || string(a[0].Desired.Raw) != `"1000m"` || acceptedAs(a[0]) != `"1"` {
		return errors.New(`the status does not report that "1000m" was accepted as "1"`)
	}
	s.ok("a CPU limit of 1000m that reads 1 is known to be the same: no drift")
	if learned := learnedAffinity(status); learned != "None" {
		return fmt.Errorf("the status has sessionAffinity %q, not the learned None", learned)
	}
	s.ok("the learned sessionAffinity is part of the desired state")
	return nil
}
