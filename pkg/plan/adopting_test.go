package plan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
)

// foreignSettings returns an object of another client with the name of a desired object.
func foreignSettings() map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "settings", "namespace": "default", "uid": "theirs", "resourceVersion": "1"},
		"data":     map[string]any{"mode": "theirs", "more": "theirs"},
	}
}

// An Application owns an object only if the object has its tracking metadata. A failed adoption is not
// enough.
func TestAnObjectThatCouldNotBeAdopted(t *testing.T) {
	for name, attempt := range map[string]func(w *world){
		"the patch is rejected": func(w *world) {
			w.refuse = map[plan.Action]plan.Outcome{plan.Update: {Action: plan.Update, Problem: rejected}}
			w.round()
		},
		"the retry is not due": func(w *world) {
			p := plan.Decide(plan.Input{
				Application: w.app, Live: w.live, Kinds: w.kinds, Memory: w.mem, Now: w.now,
				Blocked: map[manifest.ID]*plan.Problem{settingsID: rejected},
			})
			w.store(p.Summarize(nil, w.now))
		},
		"the Application is suspended": func(w *world) {
			w.app.Spec.Suspend = true
			w.store(w.decide().Summarize(nil, w.now))
		},
		"another client deletes it": func(w *world) {
			set(w.only(), "2026-01-01T00:00:00Z", "metadata", "deletionTimestamp")
			w.round()
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "adoption: IfUnowned\n"+settings)
			w.live[settingsID] = foreignSettings()
			attempt(w)
			w.refuse = nil
			require.Len(t, w.app.Status.Resources, 1)
			assert.Empty(t, w.app.Status.Resources[0].UID)
			status, _, _ := w.condition(v1alpha1.ConditionReady)
			assert.Equal(t, "False", status)

			before := observer.CopyMap(w.only())
			w.edit("manifest: []")
			w.round()
			assert.Equal(t, before, w.only())
			assert.Empty(t, w.app.Status.Resources)
		})
	}
}

// Live values are not learned before the object is adopted.
func TestNothingIsLearnedWhereNothingIsAdopted(t *testing.T) {
	w := newWorld(t, "adoption: IfUnowned\n"+songs)
	w.live[songID] = map[string]any{
		"apiVersion": "example.com/v1", "kind": "Song",
		"metadata": map[string]any{"name": "top50", "namespace": "default", "uid": "theirs", "resourceVersion": "1"},
		"spec":     map[string]any{"key3": "theirs"},
	}
	w.refuse = map[plan.Action]plan.Outcome{plan.Update: {Action: plan.Update, Problem: rejected}}
	w.round()
	delete(w.live, songID)
	assert.NotContains(t, w.decide().Changes[0].Manifest["spec"], "key3")
}

// An adoption writes the tracking metadata. If the API server rejects it, nothing else is written.
func TestAnObjectIsNotAdoptedWithoutItsMarks(t *testing.T) {
	w := newWorld(t, "adoption: IfUnowned\n"+settings)
	w.live[settingsID] = foreignSettings()
	p := w.decide()
	label := plan.Leaf{ID: settingsID, Path: "metadata.labels"}
	require.Contains(t, paths(p), label.Path+" missing")

	change, _ := w.refused(p, label.Path, rejected)
	assert.Equal(t, foreignSettings(), w.only(), "%v", pathsOf(change))
	_, reason, _ := w.condition(v1alpha1.ConditionReady)
	assert.Equal(t, v1alpha1.ReasonRejected, reason)
	assert.Empty(t, w.app.Status.Resources[0].UID)
}

// Two Applications that may both adopt an object do not take it from each other forever.
func TestAnObjectThatIsTakenBackIsContested(t *testing.T) {
	w := newWorld(t, "adoption: Always\n"+settings)
	w.live[settingsID] = foreignSettings()
	w.round()
	taken := func() map[string]any {
		return map[string]any{
			"labels":      map[string]any{v1alpha1.LabelApplicationUID: "app-2"},
			"annotations": map[string]any{v1alpha1.AnnotationTrackingID: "default/other:/ConfigMap:default/settings"},
		}
	}
	writes := 0
	takeBack := func() {
		for name, value := range taken() {
			set(w.only(), value, "metadata", name)
		}
		p, result := w.round()
		if p.HasWork() {
			writes++
			return
		}
		assert.Equal(t, "app-2", get(w.only(), "metadata", "labels", v1alpha1.LabelApplicationUID))
		assert.LessOrEqual(t, result.RetryAfter, plan.DefaultContestPolicy.InitialBackoff)
		_, reason, message := w.condition(v1alpha1.ConditionReady)
		assert.Equal(t, v1alpha1.ReasonContested, reason)
		assert.Contains(t, message, "default/other")
	}
	for range 20 {
		takeBack()
	}
	assert.LessOrEqual(t, writes, plan.DefaultContestPolicy.Limit)

	w.now = w.now.Add(plan.DefaultContestPolicy.InitialBackoff)
	takeBack()
	assert.LessOrEqual(t, writes, plan.DefaultContestPolicy.Limit+1)
	w.quiet()
}
