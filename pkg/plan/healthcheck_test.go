package plan_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// liveObject returns a live object as the stores decode it.
func liveObject(t *testing.T, text string) map[string]any {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	live, err := manifest.DecodeJSON(raw)
	require.NoError(t, err)
	return live
}

func TestHealthExpressions(t *testing.T) {
	app := &v1alpha1.Application{}
	require.NoError(t, yaml.UnmarshalStrict([]byte(`
healthCheckExprs:
- apiVersion: example.com/v1
  current: status.conditions.filter(e, e.type == 'Ready').all(e, e.status == 'True' && e.observedGeneration == metadata.generation)
- apiVersion: example.com/v1
  kind: Song
  inProgress: status.phase == 'Mixing'
  failed: status.phase in ['Failed', 'Lost']
  current: |
    status.phase == 'Released' &&
    status.charts > 0
- apiVersion: v1
  kind: Secret
  failed: data.failed == 'aHVudGVyMg=='
  current: int(data.count) > 1
- apiVersion: cert-manager.io/v1alpha3
  kind: Issuer
  current: status.acme.uri != ''
- apiVersion: v1
  kind: Pod
  current: status.phase == 'Running'
`), &app.Spec))
	for _, row := range []struct{ name, object, health, message string }{
		{"current", `{apiVersion: example.com/v1, kind: Song, status: {phase: Released, charts: 1}}`, "Current", ""},
		{"in another version", `{apiVersion: example.com/v3, kind: Song, status: {phase: Released, charts: 1}}`, "Current", ""},
		{
			"in progress", `{apiVersion: example.com/v1, kind: Song, status: {phase: Mixing, message: one hour left}}`, "InProgress",
			"Mixing: one hour left (spec.healthCheckExprs[1].inProgress is true: status.phase == 'Mixing')",
		},
		{
			"failed", `{apiVersion: example.com/v1, kind: Song, status: {phase: Lost, conditions: [{type: Ready, status: "False", reason: Scratched}]}}`, "Failed",
			"Scratched (spec.healthCheckExprs[1].failed is true: status.phase in ['Failed', 'Lost'])",
		},
		{
			"neither", `{apiVersion: example.com/v1, kind: Song, status: {phase: Released, charts: 0}}`, "InProgress",
			"Released (spec.healthCheckExprs[1].current is false: status.phase == 'Released' && status.charts > 0)",
		},
		{
			"without a field", `{apiVersion: example.com/v1, kind: Song, status: {charts: 3}}`, "InProgress",
			"spec.healthCheckExprs[1].inProgress has no result: no such key: phase: status.phase == 'Mixing'",
		},
		{
			"without a status", `{apiVersion: example.com/v1, kind: Song}`, "InProgress",
			"spec.healthCheckExprs[1].inProgress has no result: no such attribute(s): status: status.phase == 'Mixing'",
		},
		{
			"with a field of another type", `{apiVersion: example.com/v1, kind: Song, status: {phase: Released, charts: many}}`, "InProgress",
			"Released (spec.healthCheckExprs[1].current has no result: no such overload: status.phase == 'Released' && status.charts > 0)",
		},
		{
			"of a former generation", `{apiVersion: example.com/v1, kind: Song, metadata: {generation: 3}, status: {phase: Lost, observedGeneration: 2}}`, "InProgress",
			"its status describes generation 2, but the object has generation 3",
		},
		{"with a generation that is a string", `{apiVersion: example.com/v1, kind: Song, metadata: {generation: 3}, status: {phase: Released, charts: 1, observedGeneration: "2"}}`, "Current", ""},
		{"in deletion", `{apiVersion: example.com/v1, kind: Song, metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}, status: {phase: Released, charts: 1}}`, "Terminating", "Resource scheduled for deletion"},
		{"of another kind of the group", `{apiVersion: example.com/v1, kind: Album, metadata: {generation: 2}, status: {conditions: [{type: Ready, status: "True", observedGeneration: 1}]}}`, "InProgress", ""},
		{"of another group", `{apiVersion: other.com/v1, kind: Song}`, "Current", "Resource is current"},
		{"a Secret", `{apiVersion: v1, kind: Secret, data: {failed: bm8=, count: aHVudGVyMg==}}`, "InProgress", "spec.healthCheckExprs[2].current has no result"},
		{"a failed Secret", `{apiVersion: v1, kind: Secret, data: {failed: aHVudGVyMg==}}`, "Failed", "spec.healthCheckExprs[2].failed is true"},
		{"instead of the built-in one", `{apiVersion: cert-manager.io/v1, kind: Issuer, status: {acme: {uri: "https://example.com"}}}`, "Current", ""},
		{"built in", `{apiVersion: cert-manager.io/v1, kind: ClusterIssuer, status: {acme: {uri: "https://example.com"}}}`, "InProgress", ""},
		{
			"a Pod without its image", `{apiVersion: v1, kind: Pod, status: {phase: Pending, containerStatuses: [{name: web, state: {waiting: {reason: ImagePullBackOff, message: "no image"}}}]}}`,
			"InProgress", "container web: ImagePullBackOff: no image (spec.healthCheckExprs[4].current is false: status.phase == 'Running')",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			health, message := plan.Health(app, liveObject(t, row.object))
			assert.Equal(t, row.health, health, message)
			if row.message != "" {
				assert.Equal(t, row.message, message)
			}
		})
	}
}

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
