package plan_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/plan"
)

// scaled returns a Song with the given replicas in its manifest, and a rule for them.
func scaled(replicas, rule string) string {
	return replace(replace(`
manifest:
- apiVersion: example.com/v1
  kind: Song
  metadata: {name: web}
  spec: {replicas: %N}
fields:
- resource: {kind: Song, name: web}
  hold: [{path: spec.replicas, %RULE}]
`, "%N", replicas), "%RULE", rule)
}

const bounds = "minimum: 1, maximum: 5"

func scale(w *world, replicas any) { set(w.only(), replicas, "spec", "replicas") }

func TestAScalerMayMoveBetweenTheBounds(t *testing.T) {
	w := newWorld(t, scaled("2", bounds))
	w.round()
	for _, n := range []int64{1, 3, 5, 4, 2} {
		scale(w, n)
		w.quiet()
	}
	for outside, bound := range map[int64]int64{0: 1, 6: 5} {
		scale(w, outside)
		p, _ := w.round()
		require.Equal(t, []string{"spec.replicas changed"}, paths(p))
		assert.Equal(t, bound, get(w.only(), "spec", "replicas"))
		w.quiet()
	}
	assert.Nil(t, get(w.stored(w.app.Status.LastObservedManifest), "spec", "replicas"), "no status is written for each move")
}

func TestAWebhookThatClampsDifferently(t *testing.T) {
	t.Run("is accepted", func(t *testing.T) {
		w := newWorld(t, scaled("2", bounds))
		w.round()
		w.respond = func(o map[string]any) { set(o, int64(7), "spec", "replicas") }
		scale(w, int64(9))
		w.round()
		require.Len(t, w.app.Status.Accepted, 1)
		assert.JSONEq(t, "5", string(w.app.Status.Accepted[0].Desired.Raw), "it is the bound that was written")
		w.quiet()
		scale(w, int64(3))
		w.quiet()
		scale(w, int64(8))
		p, _ := w.round()
		assert.Equal(t, []string{"spec.replicas changed"}, paths(p), "any other value is drift")
		w.quiet()
	})
	t.Run("of a created object is not the accepted form of a bound", func(t *testing.T) {
		w := newWorld(t, scaled("2", bounds))
		w.respond = func(o map[string]any) { set(o, int64(9), "spec", "replicas") }
		_, result := w.round()
		assert.Empty(t, w.app.Status.Accepted)
		assert.True(t, result.Again, "2 was sent, and 5 may well be taken")
	})
	t.Run("and changes it back is contested", func(t *testing.T) {
		w := newWorld(t, scaled("2", bounds))
		w.round()
		for range 5 {
			scale(w, int64(9))
			w.round()
		}
		require.Len(t, w.app.Status.Contested, 1)
		assert.Equal(t, "spec.replicas", w.app.Status.Contested[0].Path)
	})
}

func TestAPush(t *testing.T) {
	const push = "mode: push"
	start := func(t *testing.T) *world {
		t.Helper()
		w := newWorld(t, scaled("2", push))
		w.round()
		scale(w, int64(7))
		w.quiet()
		return w
	}
	t.Run("is made once for each value of the manifest", func(t *testing.T) {
		w := start(t)
		w.edit(scaled("3", push))
		p, _ := w.round()
		require.Equal(t, []string{"spec.replicas changed"}, paths(p))
		assert.Equal(t, int64(3), get(w.only(), "spec", "replicas"))
		scale(w, int64(9))
		w.quiet()
		w.edit(scaled("2", push))
		w.round()
		assert.Equal(t, int64(2), get(w.only(), "spec", "replicas"), "and when the first value is back")
		w.quiet()
	})
	t.Run("is not made with the correction of another field", func(t *testing.T) {
		const spec = `
manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {a: "1", %s}}]
fields: [{resource: {kind: ConfigMap, name: config}, hold: ["*", {path: data.pushed, mode: push}]}]`
		w := newWorld(t, fmt.Sprintf(spec, `pushed: "1", dropped: "1"`))
		w.round()
		for _, dropped := range []string{`, dropped: "1"`, ""} {
			w.set("9", "data", "a")
			w.set("9", "data", "pushed")
			w.edit(fmt.Sprintf(spec, `pushed: "1"`+dropped))
			_, result := w.round()
			assert.False(t, result.Again)
			assert.Equal(t, "1", get(w.only(), "data", "a"))
			assert.Equal(t, "9", get(w.only(), "data", "pushed"))
			w.quiet()
		}
		w.edit(fmt.Sprintf(spec, `pushed: "2"`))
		w.round()
		assert.Equal(t, "2", get(w.only(), "data", "pushed"))
		w.quiet()
	})
	t.Run("is still to be made if it has failed", func(t *testing.T) {
		w := start(t)
		w.edit(scaled("3", push))
		failed := plan.Outcome{Problem: &plan.Problem{Reason: v1alpha1.ReasonRetrying, Message: "no answer"}}
		w.refuse = map[plan.Action]plan.Outcome{plan.Update: failed}
		w.round()
		w.refuse = nil
		w.round()
		assert.Equal(t, int64(3), get(w.only(), "spec", "replicas"))
		w.quiet()
	})
	t.Run("without an answer is taken back with its value", func(t *testing.T) {
		w := start(t)
		w.edit(scaled("3", push))
		lost := plan.Outcome{Problem: &plan.Problem{Reason: v1alpha1.ReasonRetrying, Message: "no answer"}}
		w.refuse = map[plan.Action]plan.Outcome{plan.Update: lost}
		w.round()
		scale(w, int64(3)) // the patch was applied anyway
		w.refuse = nil
		w.edit(scaled("2", push))
		w.round()
		assert.Equal(t, int64(2), get(w.only(), "spec", "replicas"))
		w.quiet()
	})
	t.Run("is not made while the Application is suspended", func(t *testing.T) {
		w := start(t)
		for _, n := range []string{"3", "2"} {
			w.edit("suspend: true" + scaled(n, push))
			w.store(w.decide().Summarize(nil, w.now))
		}
		w.edit(scaled("2", push))
		w.round()
		assert.Equal(t, int64(7), get(w.only(), "spec", "replicas"), "the manifest's value has not changed")
		w.quiet()
	})
	t.Run("of another form is accepted", func(t *testing.T) {
		w := start(t)
		w.respond = func(o map[string]any) { set(o, int64(4), "spec", "replicas") }
		w.edit(scaled("3", push))
		_, result := w.round()
		assert.False(t, result.Again)
		w.respond = nil
		w.round() // the accepted form is no longer needed: the manifest's value is recorded
		w.quiet()
		scale(w, int64(9))
		w.quiet()
	})
	t.Run("of a value that was held or free before is none", func(t *testing.T) {
		w := newWorld(t, replace(scaled("2", push), "hold: [{path: spec.replicas, mode: push}]", "free: [spec.replicas]"))
		w.round()
		scale(w, int64(7))
		w.quiet()
		w.edit(scaled("2", push))
		p, _ := w.round()
		assert.False(t, p.HasWork())
	})
}

func TestReportOnlyDriftIsInTheStatus(t *testing.T) {
	w := newWorld(t, scaled("2", "mode: report"))
	w.round()
	assert.Empty(t, w.app.Status.Reported)
	w.quiet()
	scale(w, int64(7))
	p, result := w.round()
	assert.False(t, p.HasWork())
	assert.Nil(t, result.Event)
	require.Len(t, w.app.Status.Reported, 1)
	assert.Equal(t, "spec.replicas", w.app.Status.Reported[0].Path)
	assert.JSONEq(t, "2", string(w.app.Status.Reported[0].Desired.Raw))
	assert.JSONEq(t, "7", string(w.app.Status.Reported[0].Live.Raw))
	status, _, _ := w.condition("Held")
	assert.Equal(t, "True", status)
	w.quiet()
	scale(w, int64(2))
	w.round()
	assert.Empty(t, w.app.Status.Reported)
}

func TestAWatchedValueInAnotherFormIsNoDrift(t *testing.T) {
	w := newWorld(t, scaled("2", "mode: report"))
	w.respond = func(o map[string]any) { set(o, "two", "spec", "replicas") }
	w.round()
	assert.Empty(t, w.app.Status.Reported)
	w.respond = nil
	w.quiet()
}

func TestAFieldCannotBeAbsentThatIsFilledIn(t *testing.T) {
	const absent = `
manifest:
- apiVersion: example.com/v1
  kind: Song
  metadata: {name: web}
  spec: {replicas: 2}
fields:
- resource: {kind: Song, name: web}
  hold: [spec.replicas, {path: spec.progressDeadlineSeconds, mode: absent}]
`
	t.Run("by the API server", func(t *testing.T) {
		w := newWorld(t, absent)
		w.respond = func(o map[string]any) { set(o, int64(600), "spec", "progressDeadlineSeconds") }
		_, result := w.round()
		assert.True(t, result.Again, "what is filled in at a create may be removed")
		_, result = w.round()
		assert.False(t, result.Again)
		assert.Empty(t, w.app.Status.Accepted)
		_, reason, message := w.condition("Held")
		assert.Equal(t, v1alpha1.ReasonRejected, reason)
		assert.Contains(t, message, "spec.progressDeadlineSeconds cannot be absent, because the API server sets it again")
		p, result := w.round()
		assert.False(t, p.HasWork(), "it is no loop")
		assert.Positive(t, result.RetryAfter)
		set(w.only(), int64(9), "spec", "replicas")
		p, _ = w.round()
		assert.Equal(t, []string{"spec.progressDeadlineSeconds unwanted held back", "spec.replicas changed"}, paths(p), "all else is held")
	})
	t.Run("but one that others add is removed", func(t *testing.T) {
		w := newWorld(t, absent)
		w.round()
		set(w.only(), int64(600), "spec", "progressDeadlineSeconds")
		p, _ := w.round()
		assert.Equal(t, []string{"spec.progressDeadlineSeconds unwanted"}, paths(p))
		assert.Nil(t, get(w.only(), "spec", "progressDeadlineSeconds"))
		w.quiet()
	})
}

func TestResponseKeysOfAClosedMapAreKept(t *testing.T) {
	const closed = `
manifest:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: settings}
  data: {a: "1"}
fields:
- resource: {kind: ConfigMap, name: settings}
  hold: [{path: data, keys: {hold: ["*"]}}]
`
	inject := func(o map[string]any) { set(o, "x", "data", "injected") }
	t.Run("as long as the map is closed", func(t *testing.T) {
		w := newWorld(t, closed)
		w.respond = inject
		_, result := w.round()
		assert.False(t, result.Again)
		w.quiet()
		set(w.only(), "y", "data", "foreign")
		p, _ := w.round()
		assert.Equal(t, []string{"data.foreign unwanted"}, paths(p), "that is no licence for more")
		w.quiet()
		w.edit(replace(closed, `a: "1"`, `a: "2"`))
		w.round()
		assert.Equal(t, map[string]any{"a": "2", "injected": "x"}, get(w.only(), "data"))
		w.quiet()
	})
	t.Run("though we died before it was on record", func(t *testing.T) {
		w := newWorld(t, closed)
		w.respond = inject
		w.die(true)
		w.round()
		w.respond = nil
		w.quiet()
		assert.Equal(t, map[string]any{"a": "1", "injected": "x"}, get(w.only(), "data"))
	})
	t.Run("but not what another client added meanwhile", func(t *testing.T) {
		w := newWorld(t, closed)
		w.round()
		w.respond = func(o map[string]any) {
			set(o, "theirs", "data", "foreign")
			set(o, []any{map[string]any{
				"manager": "rival", "operation": "Update", "fieldsType": "FieldsV1", "time": "2026-01-01T00:00:00Z",
				"fieldsV1": map[string]any{"f:data": map[string]any{"f:foreign": map[string]any{}}},
			}}, "metadata", "managedFields")
		}
		set(w.only(), "9", "data", "a")
		_, result := w.round()
		assert.True(t, result.Again)
		w.respond = nil
		p, _ := w.round()
		assert.Equal(t, []string{"data.foreign unwanted"}, paths(p))
		w.quiet()
	})
	t.Run("also what it puts back", func(t *testing.T) {
		w := newWorld(t, closed)
		w.round()
		w.respond = inject
		inject(w.only())
		p, result := w.round()
		assert.Equal(t, []string{"data.injected unwanted"}, paths(p))
		assert.False(t, result.Again)
		w.quiet()
	})
}
