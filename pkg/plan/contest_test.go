package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/plan"
)

func replace(s, old, by string) string { return strings.ReplaceAll(s, old, by) }

// fight changes data.mode n times, and reconciles after each change.
func fight(w *world, n int) (result plan.Result) {
	w.t.Helper()
	for range n {
		w.set("theirs", "data", "mode")
		_, result = w.round()
	}
	return result
}

func TestALeafIsContestedAfterFiveCorrections(t *testing.T) {
	w := newWorld(t, settings)
	w.round()
	var fields any
	require.NoError(t, yaml.Unmarshal([]byte(`
- {manager: 'holdfast:default/shop', operation: Update, time: '2026-01-01T00:00:00Z', fieldsV1: {'f:data': {'f:mode': {}, 'f:level': {}}}}
- {manager: kubectl-edit, operation: Update, time: '2025-01-01T00:00:00Z', fieldsV1: {'f:data': {'f:mode': {}}}}
- {manager: their-operator, operation: Update, time: '2026-01-02T00:00:00Z', fieldsV1: {'f:data': {'f:mode': {}}}}
`), &fields))
	w.set(fields, "metadata", "managedFields")
	result := fight(w, 4)
	assert.False(t, result.Event.Warning)
	assert.Empty(t, w.app.Status.Contested)

	result = fight(w, 1)
	assert.True(t, result.Event.Warning)
	assert.Equal(t, "Contested", result.Event.Reason)
	assert.Equal(t, `corrected ConfigMap default/settings (data.mode was changed from "live" to "theirs" by their-operator); `+
		`data.mode of ConfigMap default/settings is contested: desired "live", observed "theirs", written by their-operator`, result.Event.Note)
	require.Len(t, w.app.Status.Contested, 1)
	contested := w.app.Status.Contested[0]
	assert.Equal(t, "data.mode", contested.Path)
	assert.Equal(t, "their-operator", contested.Manager)
	assert.Equal(t, `"live"`, string(contested.Desired.Raw))
	assert.Equal(t, `"theirs"`, string(contested.Live.Raw))
	assert.Equal(t, int32(5), contested.Corrections)
	assert.Equal(t, w.now.Add(10*time.Second), contested.NextCorrection.UTC())

	w.set("theirs", "data", "mode")
	w.set("theirs too", "data", "level")
	p, _ := w.round()
	assert.Equal(t, []string{"data.level changed", "data.mode changed held back"}, paths(p))
	assert.Equal(t, "info", get(w.only(), "data", "level"), "other leaves stay held")
	assert.Equal(t, "theirs", get(w.only(), "data", "mode"))
	status, reason, _ := w.condition("Ready")
	assert.Equal(t, []string{"False", "Contested"}, []string{status, reason})
}

func TestWeAreNotOurOwnOpponent(t *testing.T) {
	w := newWorld(t, settings)
	w.round()
	var fields any
	require.NoError(t, yaml.Unmarshal([]byte(`
- {manager: 'holdfast:default/shop', operation: Update, time: '2026-01-01T00:00:00Z', fieldsV1: {'f:data': {'f:mode': {}, 'f:level': {}}}}
`), &fields))
	w.set(fields, "metadata", "managedFields")
	fight(w, 5)
	require.Len(t, w.app.Status.Contested, 1)
	assert.Empty(t, w.app.Status.Contested[0].Manager)
}

func TestCorrectionsThatAreFarApartAreNoFight(t *testing.T) {
	w := newWorld(t, settings)
	w.round()
	for range 20 {
		fight(w, 1)
		w.now = w.now.Add(151 * time.Second)
	}
	assert.Empty(t, w.app.Status.Contested)
	w.now = w.now.Add(time.Hour)
	w.round()
	assert.Empty(t, w.mem.Contests)
}

func TestTheCorrectionsOfAContestedLeafBackOff(t *testing.T) {
	w := newWorld(t, settings)
	w.round()
	fight(w, 5)
	var pauses []time.Duration
	for range 10 {
		w.set("theirs", "data", "mode")
		p, result := w.round()
		require.False(t, p.HasWork())
		pauses = append(pauses, result.RetryAfter)
		w.now = w.now.Add(result.RetryAfter)
		p, _ = w.round()
		require.True(t, p.HasWork())
	}
	assert.Equal(t, []time.Duration{
		10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second,
		320 * time.Second, 640 * time.Second, 1280 * time.Second, 30 * time.Minute, 30 * time.Minute,
	}, pauses)
}

func TestAFightThatIsOverIsForgotten(t *testing.T) {
	w := newWorld(t, settings)
	w.round()
	result := fight(w, 5)
	assert.Equal(t, 10*time.Minute+10*time.Second, result.RetryAfter, "look again when the leaf has been left alone")
	w.now = w.now.Add(10 * time.Minute)
	w.round()
	assert.Len(t, w.app.Status.Contested, 1)
	w.now = w.now.Add(11 * time.Second)
	w.round()
	assert.Empty(t, w.app.Status.Contested)
	_, reason, _ := w.condition("Ready")
	assert.Equal(t, "Ready", reason)
	w.quiet()
}

func TestReleasedFieldIsNotContested(t *testing.T) {
	t.Run("its removal is not held back", func(t *testing.T) {
		w := newWorld(t, settings)
		w.round()
		fight(w, 5)
		w.set("theirs", "data", "mode")
		w.edit("manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {level: info}}]")
		p, _ := w.round()
		assert.Equal(t, []string{"data.mode removed"}, paths(p))
		assert.NotContains(t, w.only()["data"], "mode")
		w.quiet()
	})
	t.Run("a new spec settles the fight about a field that is in place", func(t *testing.T) {
		w := newWorld(t, settings)
		w.round()
		fight(w, 5)
		w.set("theirs", "data", "mode")
		w.edit(replace(settings, "mode: live", "mode: theirs"))
		w.round()
		assert.Empty(t, w.app.Status.Contested)
		w.quiet()
	})
}

func TestAFightOverASecretShowsNoValue(t *testing.T) {
	w := newWorld(t, "manifest: [{apiVersion: v1, kind: Secret, metadata: {name: keys}, stringData: {a: canary}}]")
	w.round()
	var notes []string
	for range 5 {
		w.set("dGhlaXJz", "data", "a")
		_, result := w.round()
		notes = append(notes, result.Event.Note)
	}
	assert.Equal(t, "corrected Secret default/keys (data.a was changed); "+
		`data.a of Secret default/keys is contested: desired "*** (desired)", observed "*** (observed)"`, notes[4])
	require.Len(t, w.app.Status.Contested, 1)
	assert.Nil(t, w.app.Status.Contested[0].Desired)
	assert.Nil(t, w.app.Status.Contested[0].Live)
}

func TestLosingTheMemoryCostsOneCorrectionOnly(t *testing.T) {
	w := newWorld(t, settings)
	w.round()
	fight(w, 5)
	w.mem = &plan.State{}
	w.set("theirs", "data", "mode")
	p, _ := w.round()
	assert.True(t, p.HasWork())
}

// TestStrippedTrackingMetadataBacksOff checks that a client that repeatedly removes the tracking
// metadata of a shared object causes the same backoff as a contested field. The fields stay held.
func TestStrippedTrackingMetadataBacksOff(t *testing.T) {
	w := sharedWorld(t)
	w.round()
	writes := 0
	var notes []string
	for range 200 {
		metadata := w.live[node]["metadata"].(map[string]any)
		delete(metadata["labels"].(map[string]any), v1alpha1.LabelHeld)
		delete(metadata["annotations"].(map[string]any), v1alpha1.AnnotationHolders)
		set(w.live[node], int64(writes), "metadata", "annotations", "other")
		p, result := w.round()
		if change := p.Changes[0]; change.Writes() {
			writes++
		}
		if result.Event != nil {
			notes = append(notes, result.Event.Note)
		}
		w.now = w.now.Add(100 * time.Millisecond)
	}
	assert.LessOrEqual(t, writes, 7, "five, and one after 10 s")
	require.Len(t, notes, 1)
	assert.Contains(t, notes[0], "another client repeatedly removes the tracking metadata")
	require.Len(t, w.app.Status.Contested, 2)
	for _, contested := range w.app.Status.Contested {
		assert.Nil(t, contested.Desired, "the annotation may be long")
	}
	status, reason, _ := w.condition("Held")
	assert.Equal(t, []string{"False", "Contested"}, []string{status, reason})

	set(w.live[node], "others", "metadata", "annotations", "team")
	w.round()
	assert.Equal(t, "net", get(w.live[node], "metadata", "annotations", "team"), "other fields stay held")
}

func TestRetryKeepsTheTimeOfAContestedLeaf(t *testing.T) {
	w := newWorld(t, settings)
	w.round()
	fight(w, 5)
	w.set("theirs", "data", "mode")
	w.edit(settings + "\nsuspend: true")
	w.mem.Retry(w.now)
	w.round()
	require.Len(t, w.app.Status.Contested, 1)
	// The API server rejects a status with the zero time, which is null in JSON.
	assert.Equal(t, w.now, w.app.Status.Contested[0].NextCorrection.UTC())
	w.edit(settings)
	p, _ := w.round()
	assert.Equal(t, []string{"data.mode changed"}, paths(p), "it is corrected at once")
}
