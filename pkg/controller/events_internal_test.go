package controller

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"

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
