package controller

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"
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
	c.sendEvent(app, &plan.Event{Reason: "EventsRefused", Note: user + " may not create events, so that nothing is told on the objects that it corrects; " +
		"their history is here, in the status. The ClusterRole edit has that right"})
}

// mostNotes limits the number of texts in an eventLimiter. Each text is kept for eventSeries.
const mostNotes = 2048

// Limits of events about single fields, for Applications and for objects separately: the burst, and the events
// per second after it. During a storm of drift, the API server is needed for corrections.
const (
	eventBurst = 100
	eventRate  = 10
)

// eventLimiter has the texts of recent events. The event recorder keeps each of them for the same time, so
// their number must be limited.
type eventLimiter struct {
	now   func() time.Time
	limit *rate.Limiter
	mu    sync.Mutex
	sent  map[string]time.Time
}

func newNotes(now func() time.Time) *eventLimiter {
	return &eventLimiter{now: now, limit: rate.NewLimiter(eventRate, eventBurst), sent: map[string]time.Time{}}
}

func digestOf(note string) string {
	h := fnv.New64a()
	h.Write([]byte(note))
	return strconv.FormatUint(h.Sum64(), 16)
}

// admit adds a text, and reports whether it may be sent. It returns false if there are too many texts.
func (n *eventLimiter) admit(digest string) bool {
	now := n.now()
	n.mu.Lock()
	defer n.mu.Unlock()
	_, known := n.sent[digest]
	if !known && len(n.sent) >= mostNotes {
		maps.DeleteFunc(n.sent, func(_ string, at time.Time) bool { return now.Sub(at) > eventSeries })
		if len(n.sent) >= mostNotes {
			return false
		}
	}
	if !known && !n.limit.AllowN(now, 1) {
		return false
	}
	n.sent[digest] = now
	return true
}
