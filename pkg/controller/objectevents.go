package controller

import (
	"cmp"
	"context"
	"maps"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	recordutil "k8s.io/client-go/tools/record/util"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/store"
	"holdfast.dev/holdfast/pkg/worker"
)

const (
	// eventInterval is the shortest time between two events on one object.
	eventInterval = 10 * time.Second
	// eventSeries is how long a repeated event is counted instead of sent again.
	eventSeries = 6 * time.Minute
	// deniedPause is how long a user who may not create events gets no further request.
	deniedPause = 10 * time.Minute
	// mostReportedObjects limits the number of objects whose events are cached. Other objects get no
	// events.
	mostReportedObjects = 4096
)

// objectEvents sends events about held objects, with the permissions of the Application's ServiceAccount. A user who
// has changed an object finds in its events why the change was corrected. Workers add events. A separate goroutine
// sends one event at a time, so a slow API server delays no reconcile. Events are lost when the process ends.
type objectEvents struct {
	// as returns the writer for a ServiceAccount.
	as  func(namespace, account string) (*cluster.Writer, error)
	now func() time.Time
	// refused is called once for each ServiceAccount that has no permission to create events.
	refused func(app *v1alpha1.Application, user string)
	// queue contains the UIDs of objects with a next event.
	queue workqueue.TypedDelayingInterface[types.UID]
	// limit limits the events of all objects together.
	limit *rate.Limiter

	// mu guards the fields below. It is not held during a request.
	mu sync.Mutex
	// objects contains the events by the UID of the object.
	objects map[types.UID]*objectEvent
	// denied records the time at which the API server last denied an event to a user.
	denied map[string]time.Time
}

// objectEvent is the next event and the last event of one object. app, appUID and account identify the Application
// that added the next event. There are many objects, so they keep no more of the Application.
type objectEvent struct {
	app     types.NamespacedName
	appUID  types.UID
	account string
	object  corev1.ObjectReference
	// next is the event that is not sent yet; nil if there is none. A later event with another text replaces it.
	next *objectNote
	// last is the event that was sent last.
	last objectNote
	// name is the name of the last event. sent is the time when it was sent.
	name string
	sent time.Time
}

// objectNote is the content of an event, and how often it has happened.
type objectNote struct {
	// reason is the outcome of the history record, text describes the change and the client.
	reason, text string
	// count is how often the event has happened since first.
	count int32
	first time.Time
}

func newObjectEvents(as func(namespace, account string) (*cluster.Writer, error), now func() time.Time, refused func(*v1alpha1.Application, string)) *objectEvents {
	return &objectEvents{
		as: as, now: now, refused: refused, queue: workqueue.NewTypedDelayingQueue[types.UID](), limit: rate.NewLimiter(eventRate, eventBurst),
		objects: map[types.UID]*objectEvent{}, denied: map[string]time.Time{},
	}
}

// run sends events until the context ends. The rate limit applies before an object is taken from the queue, so events
// that are added meanwhile are merged.
func (e *objectEvents) run(ctx context.Context) {
	stop := context.AfterFunc(ctx, e.queue.ShutDown)
	defer stop()
	for e.limit.Wait(ctx) == nil {
		uid, ended := e.queue.Get()
		if ended {
			return
		}
		e.sendSafely(ctx, uid)
		e.queue.Done(uid)
	}
}

// sendSafely drops an event that panics.
func (e *objectEvents) sendSafely(ctx context.Context, uid types.UID) {
	defer func() {
		if r := recover(); r != nil {
			_ = worker.PanicError(ctx, r)
		}
	}()
	e.send(ctx, uid)
}

// record queues events for the objects of history records: one event per object, with all their texts. It does not
// block.
func (e *objectEvents) record(app *v1alpha1.Application, account string, happened []plan.HistoryRecord) {
	notes := map[types.UID][]string{}
	objects := map[types.UID]plan.HistoryRecord{}
	for _, h := range happened {
		if text := noteOn(app, h); text != "" && h.UID != "" {
			notes[h.UID] = append(notes[h.UID], text)
			// A contested field makes the event a warning.
			if _, known := objects[h.UID]; !known || h.Outcome == v1alpha1.OutcomeContested {
				objects[h.UID] = h
			}
		}
	}
	for uid, h := range objects {
		text := strings.Join(notes[uid], "; ")
		if len(text) > 1000 {
			text = strings.ToValidUTF8(text[:1000], "") + "…"
		}
		e.add(app, account, h, text)
	}
}

// noteOn returns the text of the event for a history record, or "" if there is no event.
func noteOn(app *v1alpha1.Application, h plan.HistoryRecord) string {
	by := "the Application " + app.Namespace + "/" + app.Name + " holds it"
	switch h.Outcome {
	case v1alpha1.OutcomeCorrected:
		if h.CorrectedTo != nil { // the previous value is not known
			return h.Text + ": " + by
		}
		return h.Text + " and was corrected: " + by
	case v1alpha1.OutcomeContested:
		if h.Path == "" {
			return "it is deleted repeatedly, and created again with increasing backoff: " + by
		}
		if h.CorrectedTo != nil {
			return h.Text + ", repeatedly: " + by
		}
		return h.Text + " and is corrected with increasing backoff: " + by
	case v1alpha1.OutcomeAccepted:
		return h.Text + " was changed, and corrected: " + by
	case v1alpha1.OutcomeRestored:
		return "it was deleted, and was created again: " + by
	}
	return ""
}

// add sets the next event of an object, and queues the object. If too many objects are known, it drops the event.
func (e *objectEvents) add(app *v1alpha1.Application, account string, h plan.HistoryRecord, text string) {
	now := e.now()
	e.mu.Lock()
	defer e.mu.Unlock()
	o := e.objects[h.UID]
	if o == nil {
		// Objects with waiting or recent events are kept.
		if len(e.objects) >= mostReportedObjects {
			maps.DeleteFunc(e.objects, func(_ types.UID, o *objectEvent) bool {
				return o.next == nil && now.Sub(o.sent) > eventInterval
			})
		}
		if len(e.objects) >= mostReportedObjects {
			return
		}
		o = &objectEvent{object: corev1.ObjectReference{
			APIVersion: h.Resource.APIVersion, Kind: h.Resource.Kind, Namespace: h.Resource.Namespace, Name: h.Resource.Name, UID: h.UID,
		}}
		e.objects[h.UID] = o
	}
	// Several Applications can hold fields of one object.
	o.app, o.appUID, o.account = store.Key(app), app.UID, account
	note := objectNote{reason: string(h.Outcome), text: text, count: 1, first: now}
	// The same correction was repeated before its event was sent.
	if o.next != nil && o.next.text == text {
		note.count, note.first = o.next.count+1, o.next.first
	}
	o.next = &note
	e.queue.AddAfter(h.UID, o.sent.Add(eventInterval).Sub(now))
}

// send sends the next event of an object. If the last event had this text, it increases the count of that event. It
// copies the event before it releases the lock, because a worker may replace it during the request. Errors drop the
// event.
func (e *objectEvents) send(ctx context.Context, uid types.UID) {
	now := e.now()
	e.mu.Lock()
	o := e.objects[uid]
	if o == nil || o.next == nil {
		e.mu.Unlock()
		return
	}
	// The queue may have the object earlier, from an event before the last one.
	if early := o.sent.Add(eventInterval).Sub(now); early > 0 {
		e.mu.Unlock()
		e.queue.AddAfter(uid, early)
		return
	}
	was, note := *o, *o.next
	again := o.name != "" && o.last.text == note.text && o.last.reason == note.reason && now.Sub(o.sent) < eventSeries
	o.next, o.sent = nil, now
	if again {
		note.count, note.first = note.count+o.last.count, o.last.first
	}
	o.last = note
	e.mu.Unlock()
	writer, err := e.as(was.app.Namespace, was.account)
	if err != nil || e.isDenied(writer.User(), now) {
		return
	}
	if again && countEvent(ctx, writer, was.object, was.name, note, now) == nil {
		return
	}
	created, err := createEvent(ctx, writer, was.object, note, now)
	e.mu.Lock()
	o.name = created
	first := e.recordDenial(writer.User(), err, now)
	e.mu.Unlock()
	if first {
		klog.FromContext(ctx).Info("Cannot create events on held objects", "user", writer.User(), "reason", "it has no right to create events")
		e.refused(&v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Namespace: was.app.Namespace, Name: was.app.Name, UID: was.appUID}}, writer.User())
	}
}

// recordDenial records that the API server has denied an event to a user, if that is the error. It reports whether
// this is the first time. The caller holds the lock.
func (e *objectEvents) recordDenial(user string, err error, now time.Time) (first bool) {
	if !apierrors.IsForbidden(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return false
	}
	_, known := e.denied[user]
	e.denied[user] = now
	return !known
}

// isDenied reports whether the API server has denied an event to a user within the last deniedPause.
func (e *objectEvents) isDenied(user string, now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	at, denied := e.denied[user]
	return denied && now.Sub(at) < deniedPause
}

// eventAt returns the location of an event in the core group, because a user who may edit a namespace may
// create those.
func eventAt(object corev1.ObjectReference, name string) cluster.Location {
	return cluster.Location{
		// Events on cluster-scoped objects are in the namespace default.
		ID:      manifest.ID{Kind: "Event", Namespace: cmp.Or(object.Namespace, metav1.NamespaceDefault), Name: name},
		Mapping: cluster.Mapping{Resource: corev1.SchemeGroupVersion.WithResource("events"), Namespaced: true},
	}
}

// createEvent creates an event of the core group, and returns its name, also after an error.
func createEvent(ctx context.Context, w *cluster.Writer, object corev1.ObjectReference, note objectNote, now time.Time) (name string, err error) {
	// The name of the object may be no valid beginning, for example that of a ClusterRole.
	name = recordutil.GenerateEventName(object.Name, now.UnixNano())
	kind := corev1.EventTypeNormal
	if note.reason == string(v1alpha1.OutcomeContested) {
		kind = corev1.EventTypeWarning
	}
	at := eventAt(object, name)
	_, err = w.Create(ctx, at, map[string]any{
		"apiVersion": "v1", "kind": "Event",
		"metadata": map[string]any{"name": name, "namespace": at.ID.Namespace},
		"involvedObject": map[string]any{
			"apiVersion": object.APIVersion, "kind": object.Kind, "namespace": object.Namespace, "name": object.Name, "uid": string(object.UID),
		},
		"type": kind, "reason": note.reason, "message": note.text, "count": int64(note.count),
		"firstTimestamp": note.first.UTC().Format(time.RFC3339), "lastTimestamp": now.UTC().Format(time.RFC3339),
		"source": map[string]any{"component": v1alpha1.FieldManager}, "reportingComponent": v1alpha1.FieldManager, "reportingInstance": v1alpha1.FieldManager,
	})
	return name, err
}

// countEvent sets the count of an event that was sent, which makes it a series. It fails if the event does not exist
// any more: the API server deletes events after a while.
func countEvent(ctx context.Context, w *cluster.Writer, object corev1.ObjectReference, name string, note objectNote, now time.Time) error {
	_, err := w.Patch(ctx, eventAt(object, name), []delta.Op{
		{Op: "replace", Path: "/count", Value: int64(note.count)},
		{Op: "replace", Path: "/lastTimestamp", Value: now.UTC().Format(time.RFC3339)},
	})
	return err
}
