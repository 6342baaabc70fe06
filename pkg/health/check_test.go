package health_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/health"
	"holdfast.dev/holdfast/pkg/manifest"
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
			state, message := health.Compute(app, liveObject(t, row.object))
			assert.Equal(t, row.health, state, message)
			if row.message != "" {
				assert.Equal(t, row.message, message)
			}
		})
	}
}
