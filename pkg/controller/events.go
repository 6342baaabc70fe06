package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	eventsv1 "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/plan"
)

// eventSender emits events about Applications and custom resources, with the controller's own permissions. Workers
// call it concurrently.
type eventSender struct {
	// recorder is set by start, before the first reconcile.
	recorder events.EventRecorder
	// notes are the texts of recent events.
	notes *eventLimiter
	// templated reports whether a template creates Applications from a kind.
	templated func(apiVersion, kind string) bool
}

// start starts to send events, until stop is called. A separate goroutine sends them, and combines repeated events
// into a series. Events that do not fit into its queue are dropped.
func (s *eventSender) start(ctx context.Context, config *rest.Config) (stop func(), err error) {
	client, err := eventsv1.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connecting for events: %w", err)
	}
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client})
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		return nil, fmt.Errorf("starting events: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	s.recorder = broadcaster.NewRecorder(scheme, "holdfast")
	return broadcaster.Shutdown, nil
}

// announce emits an event about an Application, and about the custom resource from which the Application was created.
// It does nothing if event is nil.
func (s *eventSender) announce(app *v1alpha1.Application, event *plan.Event) {
	if event == nil {
		return
	}
	s.send(app, event)
	// Any client can set ownerReferences, so only kinds of templates count.
	if owner := metav1.GetControllerOf(app); owner != nil && s.templated(owner.APIVersion, owner.Kind) {
		s.send(&corev1.ObjectReference{
			APIVersion: owner.APIVersion, Kind: owner.Kind, Namespace: app.Namespace, Name: owner.Name, UID: owner.UID,
		}, event)
	}
}

// send emits an event. A series keeps the text of its first event. So an event with another text starts its own series,
// as long as there are not too many: its digest is part of the action. Beyond that, the event has a text without
// values, event.Redacted.
func (s *eventSender) send(regarding runtime.Object, event *plan.Event) {
	kind := corev1.EventTypeNormal
	if event.Warning {
		kind = corev1.EventTypeWarning
	}
	action, note := "Reconcile", event.Note
	if event.Redacted != "" && event.Redacted != event.Note {
		if digest := digestOf(event.Note); s.notes.admit(digest) {
			action = "Reconcile/" + digest
		} else {
			note = event.Redacted
		}
	}
	s.recorder.Eventf(regarding, nil, kind, event.Reason, action, "%s", note)
}

// reportRefused emits an event which reports that there are no events on the objects of an Application.
func (s *eventSender) reportRefused(app *v1alpha1.Application, user string) {
	s.send(app, &plan.Event{Reason: "EventsRefused", Note: user + " may not create events, so corrected objects get no events; " +
		"the status contains their history. The ClusterRole edit grants this right"})
}
