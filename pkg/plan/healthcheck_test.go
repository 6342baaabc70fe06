package plan_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// Flux checks expressions only when it evaluates them. The forms are from its documentation.
func TestExpressionsOfFluxAreAccepted(t *testing.T) {
	for _, text := range []string{
		"{apiVersion: a.io/v1beta1, failed: \"status.failed == true\", current: \"status.conditions.filter(e, e.type == 'Ready').all(e, e.status == 'True')\"}",
		"{apiVersion: a.io/v1, kind: A, inProgress: \"!has(status.conditions)\", current: has(status.attribute) && status.attribute.ready}",
		"{apiVersion: a.io/v1, kind: A, failed: \"status.conditions.exists(e, e.type == 'Stalled' && e.status == 'True' && e.observedGeneration == metadata.generation)\", current: \"status.?conditions.orValue([]).exists(e, e.status == 'True')\"}",
		"{apiVersion: v1, kind: ConfigMap, current: \"data.ready == 'true' && metadata.name.lowerAscii().startsWith('a')\"}",
	} {
		w := newWorld(t, "healthCheckExprs: ["+text+"]\nmanifest: ["+goodManifest+"]")
		assert.Nil(t, w.decide().Invalid, text)
	}
}

func TestInvalidHealthExpressions(t *testing.T) {
	for _, row := range []struct{ name, checks, message string }{
		{"no expression", `{apiVersion: v1, kind: ConfigMap}`, "spec.healthCheckExprs[0].current: is missing: write an expression"},
		{"no version", `{apiVersion: "", kind: ConfigMap, current: "true"}`, `spec.healthCheckExprs[0].apiVersion: "" is no group and version: write it as in a manifest, for example apps/v1`},
		{"a kind with a group", `{apiVersion: example.com/v1, kind: Song.example.com, current: "true"}`, `spec.healthCheckExprs[0].kind: "Song.example.com" is no kind: write it as in a manifest`},
		{"an error of syntax", `{apiVersion: v1, kind: ConfigMap, failed: "data.", current: "true"}`, "spec.healthCheckExprs[0].failed: is not a valid CEL expression: Syntax error"},
		{"a string", `{apiVersion: v1, kind: ConfigMap, current: "'yes'"}`, "spec.healthCheckExprs[0].current: must return true or false, not the type string"},
		{"an unknown function", `{apiVersion: v1, kind: ConfigMap, inProgress: data.ready(), current: "true"}`, "spec.healthCheckExprs[0].inProgress: is not a valid CEL expression: undeclared reference to 'ready'"},
		{"an expensive one", `{apiVersion: v1, kind: ConfigMap, current: "data.all(a, data.all(b, data.all(c, data.all(d, a + b + c + d > ''))))"}`, "spec.healthCheckExprs[0].current: may cost too much"},
		{"a kind twice", `{apiVersion: a.io/v1, kind: A, current: "true"}, {apiVersion: a.io/v2, kind: A, current: "true"}`, "spec.healthCheckExprs[1].kind: spec.healthCheckExprs[0] has the same kind: remove one of them"},
		{"a long text", `{apiVersion: v1, kind: ConfigMap, current: "` + strings.Repeat("a", 5000) + `"}`, "spec.healthCheckExprs[0].current: has 5000 bytes"},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, "healthCheckExprs: ["+row.checks+"]\nmanifest: ["+goodManifest+"]")
			assert.ErrorContains(t, intent.Faults(intent.Input{Application: w.app, Kinds: w.kinds})[0], row.message)
			refusedWith(t, w, v1alpha1.ReasonHealthCheckInvalid, row.message)
		})
	}
}

func TestNewObjectsWaitForAnEarlierStage(t *testing.T) {
	const (
		job      = "{apiVersion: batch/v1, kind: Job, metadata: {name: first}, spec: {ttlSecondsAfterFinished: 1}}"
		song     = "{apiVersion: example.com/v1, kind: Song, metadata: {name: second}}"
		finished = "healthCheckExprs: [{apiVersion: batch/v1, kind: Job, current: status.succeeded > 0}]\n"
	)
	first := manifest.ID{Group: "batch", Kind: "Job", Namespace: "default", Name: "first"}
	second := manifest.ID{Group: "example.com", Kind: "Song", Namespace: "default", Name: "second"}

	t.Run("which becomes current", func(t *testing.T) {
		w := newWorld(t, finished+"manifest: ["+song+", "+job+"]")
		w.round()
		require.Contains(t, w.live, first)
		require.NotContains(t, w.live, second)
		_, reason, message := w.condition(v1alpha1.ConditionReady)
		assert.Equal(t, v1alpha1.ReasonWaiting, reason)
		assert.Contains(t, message, "Song.example.com default/second is created when Job.batch default/first is current")
		w.quiet()

		set(w.live[first], int64(1), "status", "succeeded")
		w.round()
		assert.Contains(t, w.live, second)

		set(w.live[first], int64(0), "status", "succeeded")
		w.round()
		assert.Contains(t, w.live, second, "objects that exist are not deleted")
	})
	t.Run("which is gone because it has finished", func(t *testing.T) {
		w := newWorld(t, finished+"manifest: ["+job+"]")
		w.round()
		set(w.live[first], int64(1), "status", "succeeded")
		set(w.live[first], []any{map[string]any{"type": "Complete", "status": "True"}}, "status", "conditions")
		w.round()
		delete(w.live, first)
		w.edit(finished + "manifest: [" + job + ", " + song + "]")
		w.round()
		assert.Contains(t, w.live, second)
	})
	t.Run("without expressions", func(t *testing.T) {
		w := newWorld(t, "manifest: ["+song+", "+job+"]")
		w.round()
		assert.Len(t, w.live, 2)
	})
	t.Run("with built-in expressions", func(t *testing.T) { // it may need the webhook to become current
		w := newWorld(t, "manifest: [{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: web}}, "+
			"{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: web}}]")
		w.round()
		assert.Len(t, w.live, 2)
	})
	t.Run("in the same stage", func(t *testing.T) {
		w := newWorld(t, finished+"manifest: ["+job+", "+strings.Replace(job, "first", "other", 1)+"]")
		w.round()
		assert.Len(t, w.live, 2)
	})
	t.Run("observe-only", func(t *testing.T) {
		w := newWorld(t, finished+"mode: Observe\nmanifest: ["+song+", "+job+"]")
		for _, change := range w.decide().Changes {
			assert.Equal(t, plan.Create, change.Action, change.ID)
		}
	})
}
