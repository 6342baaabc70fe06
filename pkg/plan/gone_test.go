package plan_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
)

const job = `
manifest:
- apiVersion: batch/v1
  kind: Job
  metadata: {name: migrate}
  spec: {ttlSecondsAfterFinished: 0, template: {spec: {restartPolicy: Never, containers: [{name: a, image: one}]}}}
`

var jobID = manifest.ID{Group: "batch", Kind: "Job", Namespace: "default", Name: "migrate"}

func (w *world) finish(kind string) {
	w.set([]any{map[string]any{"type": kind, "status": "True", "reason": "x", "message": "over"}}, "status", "conditions")
}

func TestAJobThatHasFinishedIsNotRunAgain(t *testing.T) {
	finished := func(t *testing.T, seen func(w *world)) *world {
		t.Helper()
		w := newWorld(t, job)
		w.round()
		seen(w)
		w.live = map[manifest.ID]map[string]any{}
		p, _ := w.round()
		require.Equal(t, plan.Unchanged, p.Changes[0].Action)
		require.True(t, w.app.Status.Resources[0].Job.Finished)
		w.ended = nil
		w.quiet()
		return w
	}
	inTheWatch := func(w *world) { w.finish("Complete"); w.round() }
	for name, seen := range map[string]func(w *world){
		"seen in the watch": inTheWatch,
		"seen with a mark that has drifted": func(w *world) {
			w.set("other", "metadata", "annotations", v1alpha1.AnnotationTrackingID)
			inTheWatch(w)
		},
		"seen in its deletion alone": func(w *world) {
			w.finish("Complete")
			w.ended = map[manifest.ID]map[string]any{jobID: observer.CopyMap(w.only())}
		},
		"seen in its deletion by the garbage collector": func(w *world) {
			w.finish("Complete")
			w.set("2026-01-01T00:00:00Z", "metadata", "deletionTimestamp")
			w.round()
			w.ended = map[manifest.ID]map[string]any{jobID: observer.CopyMap(w.only())}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := finished(t, seen)
			_, reason, _ := w.condition("Ready")
			assert.Equal(t, "Ready", reason)
			assert.Equal(t, "1/1", w.app.Status.Summary)
		})
	}
	t.Run("a failure is still reported", func(t *testing.T) {
		w := finished(t, func(w *world) { w.finish("Failed"); w.round() })
		_, reason, _ := w.condition("Ready")
		assert.Equal(t, "Unhealthy", reason)
	})
	t.Run("until its manifest changes", func(t *testing.T) {
		w := finished(t, inTheWatch)
		w.edit(replace(job, "image: one", "image: two"))
		p, _ := w.round()
		assert.Equal(t, plan.Create, p.Changes[0].Action)
		assert.False(t, w.app.Status.Resources[0].Job.Finished)
	})
	t.Run("also a manifest that the run before it refuses", func(t *testing.T) {
		w := newWorld(t, job)
		w.round()
		w.edit(replace(job, "image: one", "image: two"))
		w.refuse = map[plan.Action]plan.Outcome{plan.Update: {Action: plan.Update, Problem: rejected}}
		w.round()
		w.finish("Complete")
		w.round()
		w.live, w.refuse = map[manifest.ID]map[string]any{}, nil
		p, _ := w.round()
		assert.Equal(t, plan.Create, p.Changes[0].Action)
	})
	t.Run("until a user requests it, and the request succeeds", func(t *testing.T) {
		w := finished(t, inTheWatch)
		w.app.Annotations = map[string]string{v1alpha1.AnnotationReconcile: "again"}
		w.refuse = map[plan.Action]plan.Outcome{plan.Create: {Action: plan.Create, Problem: rejected}}
		w.round()
		w.refuse = nil
		p, _ := w.round()
		assert.Equal(t, plan.Create, p.Changes[0].Action)
		w.quiet()
	})
	t.Run("one that is deleted before it has finished is", func(t *testing.T) {
		w := newWorld(t, job)
		w.round()
		w.live = map[manifest.ID]map[string]any{}
		p, _ := w.round()
		assert.Equal(t, plan.Create, p.Changes[0].Action)
	})
}

// Repeated deletion of an object is a contest.
func TestAnObjectThatIsDeletedAgainAndAgain(t *testing.T) {
	w := newWorld(t, settings)
	w.round()
	gone := func() (*plan.Plan, plan.Result) {
		w.live = map[manifest.ID]map[string]any{}
		return w.round()
	}
	for range 4 {
		_, result := gone()
		require.False(t, result.Event.Warning)
	}
	_, result := gone()
	assert.Equal(t, "created ConfigMap default/settings; ConfigMap default/settings is contested: it is deleted repeatedly", result.Event.Note)
	require.Len(t, w.app.Status.Contested, 1)
	assert.Empty(t, w.app.Status.Contested[0].Path)
	_, reason, _ := w.condition("Held")
	assert.Equal(t, "Contested", reason)

	var pauses []time.Duration
	for range 3 {
		p, result := gone()
		require.False(t, p.HasWork())
		status, reason, _ := w.condition("Ready")
		assert.Equal(t, []string{"False", "Contested"}, []string{status, reason})
		pauses = append(pauses, result.RetryAfter)
		w.now = w.now.Add(result.RetryAfter)
		p, _ = w.round()
		require.Equal(t, plan.Create, p.Changes[0].Action)
	}
	assert.Equal(t, []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second}, pauses)

	w.now = w.now.Add(12 * time.Minute)
	w.round()
	assert.Empty(t, w.app.Status.Contested)
	_, reason, _ = w.condition("Ready")
	assert.Equal(t, "Ready", reason)
}
