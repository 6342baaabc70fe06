package report

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/connection"
)

// eventsResource is the API of the controller's events. A client of the core API reads the same objects.
var eventsResource = schema.GroupVersionResource{Group: "events.k8s.io", Version: "v1", Resource: "events"}

// shownEvents is the number of events in a report.
const shownEvents = 5

// Events returns the last events about an Application, the newest first, at most five. An error is for users. The
// report is useful without events, so callers print the error as a note.
func Events(ctx context.Context, c *connection.Cluster, app *v1alpha1.Application) ([]EventView, error) {
	list, err := c.Own.Resource(eventsResource).Namespace(app.Namespace).List(ctx, metav1.ListOptions{
		FieldSelector: "regarding.kind=" + v1alpha1.Kind + ",regarding.name=" + app.Name,
	})
	if err != nil {
		return nil, fmt.Errorf("the events are not shown: %w", c.Explained(err, "list", "events in the namespace "+app.Namespace))
	}
	var events []EventView
	for _, item := range list.Items {
		// Events of an earlier Application with the same name have another UID.
		if uid, _, _ := unstructured.NestedString(item.Object, "regarding", "uid"); uid == string(app.UID) {
			events = append(events, eventView(item.Object))
		}
	}
	slices.SortStableFunc(events, func(a, b EventView) int { return compareTimes(b.Time, a.Time) })
	return events[:min(len(events), shownEvents)], nil
}

// eventView returns an event of events.k8s.io/v1. A series records the last time and the number of its events.
func eventView(object map[string]any) EventView {
	text := func(fields ...string) string { s, _, _ := unstructured.NestedString(object, fields...); return s }
	v := EventView{Type: text("type"), Reason: text("reason"), Message: text("note"), Time: text("eventTime"), Count: 1}
	if last := text("series", "lastObservedTime"); last != "" {
		count, _, _ := unstructured.NestedInt64(object, "series", "count")
		v.Time, v.Count = last, int32(count)
	}
	return v
}

// compareTimes compares two times in the format of the API. A malformed or empty time is before all others.
func compareTimes(a, b string) int {
	at, _ := time.Parse(time.RFC3339Nano, a)
	bt, _ := time.Parse(time.RFC3339Nano, b)
	return at.Compare(bt)
}
