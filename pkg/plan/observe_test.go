package plan_test

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/internal/observertest"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
)

var lookedAt = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// The status of an observe-only Application reports the planned change of each resource and the live
// value of each leaf. It records only objects that the Application owns.
func TestObservedDriftIsReported(t *testing.T) {
	for name, want := range map[string]struct{ ready, row, reason, held, watched, event string }{
		"a-missing-object-is-only-reported": {
			ready: "observe-only: nothing is written until spec.mode is Hold, which would create 1", reason: "Observing",
			row: "does not exist, and would be created", held: "Observing", watched: " none none", event: "observed ConfigMap default/settings (not there)",
		},
		"a-drifted-object-without-tracking-metadata-is-only-reported": {
			ready: "would change nothing; 1 resource would not be written, for the reasons in the status", reason: "ResourceConflict",
			row: "or use another name; it differs: data.mode", held: "ResourceConflict", watched: `data.mode "live" "theirs"`,
			event: `observed ConfigMap default/settings (data.mode is "theirs", and "live" is desired)`,
		},
		"an-object-that-would-be-adopted-is-only-reported": {
			ready: "which would adopt 1 (1 field)", reason: "Observing",
			row: "exists, and would be adopted and corrected: data.mode", held: "Observing", watched: `data.mode "live" "theirs"`,
			event: `(data.mode is "theirs", and "live" is desired)`,
		},
		"an-object-of-another-owner-is-only-reported": {
			ready: "1 resource would not be written, for the reasons in the status", reason: "ResourceConflict",
			row: "belongs to Application default/other: ", held: "ResourceConflict", watched: `data.mode "live" "theirs"`, event: "data.mode",
		},
		"drift-of-a-shared-object-is-only-reported": {
			ready: "which would hold 1 (1 field)", reason: "Observing",
			row: "has drifted, and would be held: data.mode", held: "Observing", watched: `data.mode "live" "theirs"`, event: "data.mode",
		},
		"lengths-of-lists-are-only-reported": {
			ready: "which would adopt 1 (3 fields)", reason: "Observing",
			row:  "would be adopted and corrected: spec.tracks[0]; spec.tracks[3]; spec.tracks[2]",
			held: "Observing", watched: `spec.tracks[0] "one" "other"`, event: `spec.tracks[3] is "four", and absent is desired`,
		},
		"a-held-application-becomes-observe-only": {
			ready: "which would correct 1 (2 fields)", reason: "Observing",
			row: "has drifted, and would be corrected: data.mode; data.old", held: "Observing", watched: `data.mode "live" "theirs"`, event: "data.old",
		},
		"a-resource-that-leaves-is-only-reported": {
			ready: "which would delete 1", reason: "", row: "", held: "Deleting", watched: "", event: "",
		},
		"an-observe-only-application-can-be-suspended": {
			ready: "which would correct 1 (1 field); spec.suspend is also set", reason: "Observing",
			row: "has drifted, and would be corrected: data.mode", held: "Observing", watched: `data.mode "live" "theirs"`, event: "data.mode",
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := readCase(t, filepath.Join(goldenRoot, name))
			result := plan.Decide(in).Summarize(nil, lookedAt)
			status := result.Status
			ready := apimeta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
			require.NotNil(t, ready)
			assert.Equal(t, v1alpha1.ReasonObserving, ready.Reason)
			assert.Contains(t, ready.Message, want.ready)
			held := apimeta.FindStatusCondition(status.Conditions, v1alpha1.ConditionHeld)
			assert.Equal(t, metav1.ConditionFalse, held.Status)
			assert.Equal(t, want.held, held.Reason)
			assert.Nil(t, apimeta.FindStatusCondition(status.Conditions, v1alpha1.ConditionStalled))
			assert.Contains(t, status.Resources[0].Message, want.row)
			assert.Equal(t, want.reason, status.Resources[0].Reason)
			watched := ""
			if len(status.Reported) > 0 {
				w := status.Reported[0]
				watched = w.Path + " " + raw(w.Desired) + " " + raw(w.Live)
			}
			assert.Equal(t, want.watched, watched)
			note := ""
			if result.Event != nil {
				note = result.Event.Note
				assert.Equal(t, "Observed", result.Event.Reason)
			}
			assert.Contains(t, note, want.event)
			assert.Len(t, status.History, len(status.Reported))
			assert.Zero(t, result.RetryAfter)
			assert.False(t, result.Again)
			if live := in.Live[manifest.ID{Kind: "ConfigMap", Namespace: "default", Name: "settings"}]; live != nil && status.Resources[0].Ownership == "" {
				isOurs := claim.IsTrackedBy(in.Application, manifest.ID{Kind: "ConfigMap", Namespace: "default", Name: "settings"}, live)
				assert.Equal(t, isOurs, status.Resources[0].UID != "", "the inventory has the UID of owned objects only")
				assert.Equal(t, "Current", status.Resources[0].Health)
			}

			// Drift is reported once. The next reconciliation reports nothing, even after a restart.
			in.Application.Status = status
			again := plan.Decide(in).Summarize(nil, lookedAt.Add(time.Hour))
			assert.Equal(t, observertest.JSON(status), observertest.JSON(again.Status))
			assert.Nil(t, again.Event)
			assert.Empty(t, again.NewHistory)
		})
	}
}

// New drift is reported when it appears. An observe-only Application is never ready, even without
// drift, because it holds nothing.
func TestObservedFieldIsRemovedAndAdded(t *testing.T) {
	in := readCase(t, filepath.Join(goldenRoot, "an-observe-only-application-can-be-suspended"))
	in.Application.Spec.Suspend = false
	id := manifest.ID{Kind: "ConfigMap", Namespace: "default", Name: "settings"}
	look := func(mode string) plan.Result {
		observertest.Set(in.Live[id], mode, "data", "mode")
		result := plan.Decide(in).Summarize(nil, lookedAt)
		in.Application.Status = result.Status
		return result
	}
	first := look("live")
	held := apimeta.FindStatusCondition(first.Status.Conditions, v1alpha1.ConditionHeld)
	assert.Equal(t, metav1.ConditionTrue, held.Status)
	assert.Equal(t, v1alpha1.ReasonObserving, held.Reason)
	assert.Equal(t, "1/1", first.Status.Summary)
	assert.False(t, apimeta.IsStatusConditionTrue(first.Status.Conditions, v1alpha1.ConditionReady))
	assert.Empty(t, first.Status.Reported)
	assert.Nil(t, first.Event)

	assert.NotNil(t, look("theirs").Event)
	other := look("others")
	assert.NotNil(t, other.Event, "it has drifted further")
	assert.JSONEq(t, `"others"`, raw(other.Status.Reported[0].Live))
	assert.Nil(t, look("others").Event, "the same value is reported once")
	assert.Empty(t, look("live").Status.Reported)
	again := look("theirs")
	require.Len(t, again.Status.History, 2)
	assert.EqualValues(t, 2, again.Status.History[0].Count)
	assert.JSONEq(t, `"others"`, raw(again.Status.History[1].To))
}

// A leaf over all labels or annotations includes the tracking metadata, which is no drift.
func TestTrackingMetadataIsNotObservedDrift(t *testing.T) {
	const spec = `
manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config, labels: {team: net}, annotations: {site: a}}}]
observerSchema: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config, labels: observed, annotations: observed}}]`
	w := newWorld(t, spec)
	w.round()
	w.edit(spec + "\nmode: Observe")
	w.round()
	assert.Empty(t, w.app.Status.Reported)
	w.set("mallory", "metadata", "labels", "other")
	w.set("mallory", "metadata", "annotations", "other")
	w.round()
	require.Len(t, w.app.Status.Reported, 2)
	for _, r := range w.app.Status.Reported {
		live, desired := map[string]string{}, map[string]string{}
		require.NoError(t, json.Unmarshal(r.Live.Raw, &live))
		require.NoError(t, json.Unmarshal(r.Desired.Raw, &desired))
		delete(live, "other")
		assert.Equal(t, live, desired, r.Path)
	}
}

// Drift of a Secret is reported without its values.
func TestAnObservedSecretIsMasked(t *testing.T) {
	in := readCase(t, filepath.Join(goldenRoot, "an-object-that-would-be-adopted-is-only-reported"))
	id := manifest.ID{Kind: "Secret", Namespace: "default", Name: "keys"}
	in.Application.Spec.Manifest = observertest.Raws(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "keys"}, "stringData": map[string]any{"password": "canary-1"},
	})
	in.Live = map[manifest.ID]map[string]any{id: {
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "keys", "namespace": "default", "uid": "u-9", "resourceVersion": "7"},
		"data": map[string]any{"password": "Y2FuYXJ5LTI="},
	}}
	result := plan.Decide(in).Summarize(nil, lookedAt)
	told := observertest.JSON(result)
	assert.Contains(t, told, "data.password")
	assert.NotContains(t, told, "canary")
	assert.NotContains(t, told, "Y2FuYXJ5")
}

// When an observe-only Application is deleted, the policies apply to objects that it has held. Other
// objects do not change.
func TestDeletedWhileItObserves(t *testing.T) {
	held := readCase(t, filepath.Join(goldenRoot, "a-held-application-becomes-observe-only"))
	changes := plan.DecideDeletion(held).Changes
	require.Len(t, changes, 1)
	assert.Equal(t, plan.Delete, changes[0].Action)
	held.Application.Spec.DeletionPolicy = v1alpha1.DeletionOrphan
	assert.Equal(t, plan.Update, plan.DecideDeletion(held).Changes[0].Action)

	for _, name := range []string{"a-drifted-object-without-tracking-metadata-is-only-reported", "an-object-that-would-be-adopted-is-only-reported", "drift-of-a-shared-object-is-only-reported"} {
		never := readCase(t, filepath.Join(goldenRoot, name))
		never.Application.Status = plan.Decide(never).Summarize(nil, lookedAt).Status
		assert.Empty(t, plan.DecideDeletion(never).Changes, name)
	}
}

func raw(v *runtime.RawExtension) string {
	if v == nil {
		return "none"
	}
	return string(v.Raw)
}

// A value in another form is reported as drift only if the types are known. Otherwise it is doubtful.
func TestAnotherSpellingIsNoDrift(t *testing.T) {
	in := readCase(t, filepath.Join(goldenRoot, "an-accepted-form-is-no-drift-in-observe-only-mode"))
	status := plan.Decide(in).Summarize(nil, lookedAt).Status
	require.Len(t, status.Reported, 1, "false is a value where the API server stores it")
	assert.Equal(t, "spec.template.spec.automountServiceAccountToken", status.Reported[0].Path)

	in = readCase(t, filepath.Join(goldenRoot, "a-possible-accepted-form-is-doubtful-drift"))
	p := plan.Decide(in)
	status = p.Summarize(nil, lookedAt).Status
	assert.Empty(t, status.Reported)
	assert.Empty(t, status.History)
	assert.Equal(t, "perhaps only another spelling: spec.memory; spec.timeout; spec.title", status.Resources[0].Message)
	assert.Equal(t, metav1.ConditionTrue, apimeta.FindStatusCondition(status.Conditions, v1alpha1.ConditionHeld).Status)

	// A dry run resolves the doubt.
	change := p.Changes[0]
	assert.Len(t, p.Visible(change), 3)
	assert.Contains(t, observertest.JSON(p.Doubtful(change)), `{"op":"replace","path":"/spec/memory","value":"1024Mi"}`)
	answer := observer.CopyMap(change.Live())
	observertest.Set(answer, "1024Mi", "spec", "memory")
	change.Settle(answer)
	require.Len(t, p.Visible(change), 1)
	assert.Equal(t, "spec.memory", p.Visible(change)[0].Path)
	assert.Nil(t, p.Doubtful(change))
}
