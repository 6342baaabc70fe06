package plan_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

var retrying = &plan.Problem{Reason: v1alpha1.ReasonRetrying, Message: "the API server is busy", RetryAfter: 7}

func TestConditions(t *testing.T) {
	failUpdate := func(p *plan.Problem) func(w *world) {
		return func(w *world) {
			w.round()
			w.set("other", "data", "mode")
			w.refuse = map[plan.Action]plan.Outcome{plan.Update: {Action: plan.Update, Problem: p}}
			w.round()
		}
	}
	rows := []struct {
		name string
		play func(w *world)
		// Status and reason of Ready, Rendered, Held and Healthy. Status of Reconciling and Stalled;
		// empty if they are absent.
		want    [4]string
		working string
		stalled string
	}{
		{"everything is in place", func(w *world) { w.round() },
			[4]string{"True Ready", "True Rendered", "True Held", "True Healthy"}, "", ""},
		{"nothing has been done yet", func(w *world) { w.store(w.decide().Summarize(nil, w.now)) },
			[4]string{"False Waiting", "True Rendered", "False Waiting", "False Progressing"}, "True", ""},
		{"a create is rejected", func(w *world) {
			w.refuse = map[plan.Action]plan.Outcome{plan.Create: {Action: plan.Create, Problem: rejected}}
			w.round()
		}, [4]string{"False Rejected", "True Rendered", "False Rejected", "False Progressing"}, "", "True"},
		{"the manifest is refused", func(w *world) { w.edit("manifest: [{kind: X}]"); w.round() },
			[4]string{"False ManifestInvalid", "False ManifestInvalid", " ", " "}, "", "True"},
		{"the schema is refused", func(w *world) {
			w.edit(settings + "observerSchema: [{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}]")
			w.round()
		}, [4]string{"False ObserverSchemaInvalid", "False ObserverSchemaInvalid", " ", " "}, "", "True"},
		{"the source is not supported", func(w *world) { w.edit("tosca: {template: x}"); w.round() },
			[4]string{"False SourceNotSupported", "False SourceNotSupported", " ", " "}, "", "True"},
		{"a patch is rejected", failUpdate(rejected),
			[4]string{"False Rejected", "True Rendered", "False Rejected", "True Healthy"}, "", "True"},
		{"a patch is retried", failUpdate(retrying),
			[4]string{"False Retrying", "True Rendered", "False Retrying", "True Healthy"}, "True", ""},
		{"nothing is heard of a kind", func(w *world) {
			w.round()
			w.unheard = []*plan.Problem{{Reason: v1alpha1.ReasonForbidden, Message: "may not watch"}}
			w.round()
		}, [4]string{"Unknown Forbidden", "True Rendered", "Unknown Forbidden", "True Healthy"}, "", "True"},
		{"a leaf is contested", func(w *world) { w.round(); fight(w, 5) },
			[4]string{"False Contested", "True Rendered", "False Contested", "True Healthy"}, "True", ""},
		{"it is suspended with drift", func(w *world) {
			w.round()
			w.set("other", "data", "mode")
			w.app.Spec.Suspend = true
			w.store(w.decide().Summarize(nil, w.now))
		}, [4]string{"False Suspended", "True Rendered", "False Suspended", "True Healthy"}, "", ""},
		{"it is suspended without drift", func(w *world) {
			w.round()
			w.app.Spec.Suspend = true
			w.store(w.decide().Summarize(nil, w.now))
		}, [4]string{"False Suspended", "True Rendered", "True Held", "True Healthy"}, "", ""},
		{"it is suspended with a pending deletion", func(w *world) {
			w.round()
			w.edit("suspend: true\nmanifest: []")
			w.store(w.decide().Summarize(nil, w.now))
		}, [4]string{"False Suspended", "True Rendered", "False Suspended", "True Healthy"}, "", ""},
		{"a resource is still on its way", func(w *world) {
			w.edit("manifest: [{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 1}}]")
			w.round()
		}, [4]string{"False Progressing", "True Rendered", "True Held", "False Progressing"}, "True", ""},
		{"an API is not available yet", func(w *world) {
			w.edit("manifest: [{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.x.example.com}, spec: {group: x.example.com}}]")
			w.round()
		}, [4]string{"False Progressing", "True Rendered", "True Held", "False Progressing"}, "True", ""},
		{"a resource has failed", func(w *world) {
			w.edit("manifest: [{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 1}}]")
			w.respond = func(o map[string]any) {
				set(o, []any{map[string]any{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}}, "status", "conditions")
			}
			w.round()
		}, [4]string{"False Unhealthy", "True Rendered", "True Held", "False Unhealthy"}, "True", ""},
		{"a resource is being deleted", func(w *world) {
			w.round()
			w.edit("manifest: []")
			w.refuse = map[plan.Action]plan.Outcome{plan.Delete: {Action: plan.Delete, Object: w.only()}}
			w.round()
		}, [4]string{"False Waiting", "True Rendered", "False Waiting", "True Healthy"}, "True", ""},
		{"all of it is over", func(w *world) {
			failUpdate(rejected)(w)
			w.refuse = nil
			w.round()
		}, [4]string{"True Ready", "True Rendered", "True Held", "True Healthy"}, "", ""},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, settings)
			row.play(w)
			var got [4]string
			for i, kind := range []string{"Ready", "Rendered", "Held", "Healthy"} {
				status, reason, _ := w.condition(kind)
				got[i] = status + " " + reason
			}
			working, _, _ := w.condition("Reconciling")
			stuck, _, _ := w.condition("Stalled")
			assert.Equal(t, row.want, got)
			assert.Equal(t, row.working, working, "Reconciling")
			assert.Equal(t, row.stalled, stuck, "Stalled")
		})
	}
}

func TestInvalidInputKeepsStatus(t *testing.T) {
	w := newWorld(t, settings)
	w.round()
	before := w.app.Status.DeepCopy()
	w.edit("manifest: [{kind: X}]")
	p, _ := w.round()
	assert.Empty(t, p.Changes, "nothing is deleted")
	assert.Equal(t, before.Resources, w.app.Status.Resources)
	assert.Equal(t, before.LastAppliedManifest, w.app.Status.LastAppliedManifest)
	assert.Equal(t, w.app.Generation, w.app.Status.ObservedGeneration)
}

func TestMessagesAndSummariesCountHeldFields(t *testing.T) {
	w := newWorld(t, settings)
	w.round()
	_, _, message := w.condition("Held")
	assert.Contains(t, message, "fields in sync")
	assert.Equal(t, "1/1", w.app.Status.Summary)
	delete(w.live, settingsID)
	w.refuse = map[plan.Action]plan.Outcome{plan.Create: {Action: plan.Create, Problem: retrying}}
	_, result := w.round()
	assert.Equal(t, "0/1", w.app.Status.Summary)
	assert.Equal(t, retrying.RetryAfter, result.RetryAfter)
}

func TestMessagesCountFieldsOfSharedObjects(t *testing.T) {
	w := newWorld(t, "ownership: Share\nmanifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}, data: {a: ours}}]")
	w.live[manifest.ID{Kind: "ConfigMap", Namespace: "default", Name: "theirs"}] = map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"a": "theirs", "b": "theirs"},
		"metadata": map[string]any{"name": "theirs", "namespace": "default", "uid": "u-9", "resourceVersion": "7"},
	}
	w.round()
	w.round()
	_, _, message := w.condition("Held")
	assert.Equal(t, "1 field in sync", message)
}

func TestMessagesCountNoFieldForOtherHolders(t *testing.T) {
	w := newWorld(t, settings)
	w.round()
	_, _, before := w.condition("Held")
	w.set(`{"x/y":{"uid":"z","leaves":["data.other"]}}`, "metadata", "annotations", v1alpha1.AnnotationHolders)
	w.round()
	w.round()
	_, _, after := w.condition("Held")
	assert.Equal(t, before, after)
}

func TestAnEventTellsWhatWasDone(t *testing.T) {
	many := "manifest:\n"
	for i := range 5 {
		many += fmt.Sprintf("- {apiVersion: v1, kind: ConfigMap, metadata: {name: c%d}, data: {a: a, b: b, c: c, d: d, e: e}}\n", i)
	}
	w := newWorld(t, many)
	_, result := w.round()
	created := "created ConfigMap default/c0, ConfigMap default/c1, ConfigMap default/c2, 2 more"
	assert.Equal(t, &plan.Event{Reason: "Created", Note: created, Redacted: created}, result.Event)

	id := manifest.ID{Kind: "ConfigMap", Namespace: "default", Name: "c0"}
	for _, key := range []string{"a", "b", "c", "d", "e"} {
		set(w.live[id], "x", "data", key)
	}
	_, result = w.round()
	assert.Equal(t, &plan.Event{Reason: "Corrected", Redacted: "corrected ConfigMap default/c0 (data.a, data.b, data.c and 2 more)",
		Note: `corrected ConfigMap default/c0 (data.a was changed from "a" to "x", data.b was changed from "b" to "x", data.c was changed from "c" to "x" and 2 more)`}, result.Event)

	set(w.live[id], "x", "data", "a")
	w.app.Spec.Manifest = w.app.Spec.Manifest[:4]
	_, result = w.round()
	assert.Equal(t, "Changed", result.Event.Reason)
	_, _ = w.round()
	w.quiet()
}

// A suspended Application reports uncorrected drift in its conditions.
func TestASuspendedApplicationTellsItsDrift(t *testing.T) {
	w := newWorld(t, `manifest:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {mode: live}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: other}, data: {mode: live}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: gone}, data: {mode: live}}
`)
	w.round()
	w.app.Spec.Suspend = true
	w.store(w.decide().Summarize(nil, w.now))
	_, _, message := w.condition("Ready")
	assert.Equal(t, "suspended: nothing is corrected until spec.suspend is unset", message)
	assert.Equal(t, "3/3", w.app.Status.Summary)

	set(w.live[settingsID], "theirs", "data", "mode")
	delete(w.live, manifest.ID{Kind: "ConfigMap", Namespace: "default", Name: "gone"})
	w.store(w.decide().Summarize(nil, w.now))
	_, _, message = w.condition("Ready")
	assert.Equal(t, "suspended: nothing is corrected until spec.suspend is unset; 2 of 3 resources have drifted", message)
	_, _, message = w.condition("Held")
	assert.Equal(t, "ConfigMap default/settings has drifted, and is not corrected while suspended: data.mode; "+
		"ConfigMap default/gone does not exist, and is not created while suspended", message)
	assert.Equal(t, "1/3", w.app.Status.Summary)
	assert.Equal(t, "Suspended", w.app.Status.Resources[0].Reason)

	w.app.Spec.Manifest = slices.Delete(w.app.Spec.Manifest, 1, 2)
	w.app.Generation++
	w.store(w.decide().Summarize(nil, w.now))
	_, reason, message := w.condition("Held")
	assert.Equal(t, "Suspended", reason)
	assert.Equal(t, "ConfigMap default/other is no longer desired, and is not deleted while suspended; "+
		"ConfigMap default/settings has drifted, and is not corrected while suspended: data.mode; "+
		"ConfigMap default/gone does not exist, and is not created while suspended", message)
	assert.Equal(t, "Deleting", w.app.Status.Resources[2].Reason)
}

// An object with another owner exists, and is not reported as missing.
func TestAForeignObjectIsNotReportedMissing(t *testing.T) {
	w := newWorld(t, settings)
	w.live[settingsID] = map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "settings", "namespace": "default", "uid": "theirs"}}
	w.round()
	_, reason, _ := w.condition("Held")
	assert.Equal(t, "ResourceConflict", reason)
	_, _, message := w.condition("Healthy")
	assert.Equal(t, "ConfigMap default/settings: neither created nor adopted", message)
}

// The API server rejects a status with a longer message in a condition, so the failure would never be reported.
func TestALongErrorFitsIntoConditions(t *testing.T) {
	w := newWorld(t, "manifest: []")
	problem := plan.HookProblem(errors.New(strings.Repeat("é", 40_000)))
	result := plan.NewInvalid(plan.Input{Application: w.app}, problem).Summarize(nil, time.Unix(0, 0))
	require.NotEmpty(t, result.Status.Conditions)
	for _, c := range result.Status.Conditions {
		assert.LessOrEqual(t, len(c.Message), 32768, c.Type)
		assert.True(t, utf8.ValidString(c.Message))
	}
}
