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

// startEvents starts sending events. They are sent beside the work, several of
// one kind as a series.
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

// announce tells people what was done, those who look at the custom resource that the
// Application was made of, too.
func (c *Controller) announce(app *v1alpha1.Application, event *plan.Event) {
	if event == nil {
		return
	}
	c.tell(app, event)
	if owner := metav1.GetControllerOf(app); owner != nil && c.templates.Make(owner.APIVersion, owner.Kind) {
		c.tell(&corev1.ObjectReference{
			APIVersion: owner.APIVersion, Kind: owner.Kind, Namespace: app.Namespace, Name: owner.Name, UID: owner.UID,
		}, event)
	}
}

func (c *Controller) tell(regarding runtime.Object, event *plan.Event) {
	kind := corev1.EventTypeNormal
	if event.Warning {
		kind = corev1.EventTypeWarning
	}
	c.events.Eventf(regarding, nil, kind, event.Reason, "Reconcile", "%s", event.Note)
}
