package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/plan"
)

// The number of separate events on Applications is limited, however much drifts.
func TestEventsOfAStormAreFew(t *testing.T) {
	now := time.Unix(0, 0)
	n := newNotes(func() time.Time { return now })
	told := 0
	for i := range 10_000 { // within a minute
		if now = now.Add(6 * time.Millisecond); n.admit(strconv.Itoa(i)) {
			told++
		}
	}
	assert.InDelta(t, eventBurst+60*eventRate, told, 2)
	assert.True(t, n.admit("0"), "an emitted event is counted")
}

// The number of events on objects is limited, too. Pending events keep only the name of the
// Application, not its content.
func TestEventsOnObjectsInAStorm(t *testing.T) {
	sent := 0
	e := newObjectEvents(func(string, string) (*cluster.Writer, error) {
		sent++
		return nil, errors.New("no writer")
	}, time.Now, nil)
	e.limit = rate.NewLimiter(0, 3)
	app := &v1alpha1.Application{Spec: v1alpha1.ApplicationSpec{Suspend: true}}
	app.Namespace, app.Name, app.UID = "shop", "web", "1"
	for i := range 2 * mostReportedObjects {
		e.record(app, "", []plan.HistoryRecord{{UID: types.UID(strconv.Itoa(i)), HistoryEntry: v1alpha1.HistoryEntry{Outcome: v1alpha1.OutcomeRestored}}})
	}
	assert.Len(t, e.objects, mostReportedObjects)
	assert.Equal(t, types.NamespacedName{Namespace: "shop", Name: "web"}, e.objects["0"].app)
	ctx, stop := context.WithTimeout(t.Context(), time.Hour)
	defer stop()
	e.run(ctx) // ends when the limiter allows no further event before the deadline
	assert.Equal(t, 3, sent)
}

// An event that panics ends neither the process nor the events that follow.
func TestEventThatPanicsIsDropped(t *testing.T) {
	sent := 0
	e := newObjectEvents(func(string, string) (*cluster.Writer, error) {
		sent++
		panic("no writer")
	}, time.Now, nil)
	e.limit = rate.NewLimiter(0, 2)
	for i := range 2 {
		e.record(&v1alpha1.Application{}, "", []plan.HistoryRecord{{UID: types.UID(strconv.Itoa(i)), HistoryEntry: v1alpha1.HistoryEntry{Outcome: v1alpha1.OutcomeRestored}}})
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Hour)
	defer stop()
	e.run(ctx)
	assert.Equal(t, 2, sent)
}

// A user whose events were denied is asked again after a pause: the right can be granted, and a quota can be raised.
func TestDeniedEventsAreTriedAgain(t *testing.T) {
	requests, code := 0, http.StatusForbidden
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests++
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"Forbidden","code":%d}`, code)
	}))
	defer server.Close()
	client, err := cluster.NewClient(&rest.Config{Host: server.URL})
	require.NoError(t, err)
	now, refused := time.Unix(0, 0), 0
	e := newObjectEvents(client.WriterFor, func() time.Time { return now }, func(*v1alpha1.Application, string) { refused++ })
	app := &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "1"}}
	for i, row := range []struct {
		after    time.Duration
		code     int
		requests int
	}{
		{0, http.StatusForbidden, 1},
		{time.Minute, http.StatusForbidden, 1},
		{deniedPause, http.StatusForbidden, 2},
		{deniedPause, http.StatusCreated, 3},
		{time.Minute, http.StatusCreated, 4},
	} {
		now, code = now.Add(row.after), row.code
		uid := types.UID(strconv.Itoa(i))
		e.record(app, "app", []plan.HistoryRecord{{UID: uid, HistoryEntry: v1alpha1.HistoryEntry{Outcome: v1alpha1.OutcomeRestored}}})
		e.send(t.Context(), uid)
		assert.Equal(t, row.requests, requests, i)
	}
	assert.Equal(t, 1, refused)
}

// The name of an RBAC object, or a long one, is no valid beginning of the name of an event.
func TestEventsHaveValidNames(t *testing.T) {
	var names []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var event metav1.PartialObjectMetadata
		assert.NoError(t, json.NewDecoder(r.Body).Decode(&event))
		names = append(names, event.Name)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprint(w, `{"apiVersion":"v1","kind":"Event"}`)
	}))
	defer server.Close()
	client, err := cluster.NewClient(&rest.Config{Host: server.URL})
	require.NoError(t, err)
	writer, err := client.WriterFor("shop", "app")
	require.NoError(t, err)
	for _, name := range []string{"web", "system:Viewer", strings.Repeat("a", 199) + ".b", strings.Repeat("a", 253)} {
		_, err := createEvent(t.Context(), writer, corev1.ObjectReference{Name: name}, objectNote{}, time.Unix(1, 0))
		require.NoError(t, err)
	}
	for _, name := range names {
		assert.Empty(t, apivalidation.NameIsDNSSubdomain(name, false), name)
	}
	assert.Len(t, names, 4)
}
