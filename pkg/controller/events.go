package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	eventsv1 "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/tools/events"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/plan"
)

// startEvents starts to send events. A separate goroutine sends them, and combines repeated events into a
// series.
func (c *Controller) startEvents(ctx context.Context) (stop func(), err error) {
	client, err := eventsv1.NewForConfig(c.client.Config)
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
	c.events = broadcaster.NewRecorder(scheme, "holdfast")
	return broadcaster.Shutdown, nil
}

// announce emits an event about an Application, and about the custom resource from which the Application
// was created.
func (c *Controller) announce(app *v1alpha1.Application, event *plan.Event) {
	if event == nil {
		return
	}
	c.sendEvent(app, event)
	if owner := metav1.GetControllerOf(app); owner != nil && c.templates.Make(owner.APIVersion, owner.Kind) {
		c.sendEvent(&corev1.ObjectReference{
			APIVersion: owner.APIVersion, Kind: owner.Kind, Namespace: app.Namespace, Name: owner.Name, UID: owner.UID,
		}, event)
	}
}

// sendEvent emits an event. A series has the text of its first event, so an event with another text starts
// its own series as long as there are not too many.
func (c *Controller) sendEvent(regarding runtime.Object, event *plan.Event) {
	kind := corev1.EventTypeNormal
	if event.Warning {
		kind = corev1.EventTypeWarning
	}
	action, note := "Reconcile", event.Note
	if event.Redacted != "" && event.Redacted != event.Note {
		if digest := digestOf(event.Note); c.notes.admit(digest) {
			action = "Reconcile/" + digest
		} else {
			note = event.Redacted
		}
	}
	c.events.Eventf(regarding, nil, kind, event.Reason, action, "%s", note)
}

// eventsRefused emits an event which reports that there are no events on the objects of an Application.
func (c *Controller) eventsRefused(app *v1alpha1.Application, user string) {
	c.sendEvent(app, &plan.Event{Reason: "EventsRefused", Note: user + " may not create events, so corrected objects get no events; " +
		"the status contains their history. The ClusterRole edit grants this right"})
}
