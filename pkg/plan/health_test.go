package plan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/plan"
)

func TestAnAPIServiceIsHealthyWhenItIsAvailable(t *testing.T) {
	for _, row := range []struct{ name, object, health, message string }{
		{"available", `status: {conditions: [{type: Available, status: "True", reason: Passed}]}`, "Current", ""},
		{"without endpoints", `status: {conditions: [{type: Available, status: "False", reason: MissingEndpoints, message: "endpoints for service/x in \"y\" have no addresses"}]}`,
			"InProgress", "its API is not available: MissingEndpoints"},
		{"not answering", `status: {conditions: [{type: Other, status: "True"}, {type: Available, status: Unknown, reason: FailedDiscoveryCheck}]}`,
			"InProgress", "its API is not available: FailedDiscoveryCheck"},
		{"new", `spec: {}`, "InProgress", "its API is not available: nobody has looked yet"},
		{"with conditions that are none", `status: {conditions: text}`, "Unknown", ""},
		{"in deletion", `{metadata: {name: a, deletionTimestamp: "2026-01-01T00:00:00Z"}, status: {conditions: [{type: Available, status: "True"}]}}`, "Terminating", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			live := map[string]any{}
			require.NoError(t, yaml.Unmarshal([]byte(row.object), &live))
			live["apiVersion"], live["kind"] = "apiregistration.k8s.io/v1", "APIService"
			health, message := plan.Health(live)
			assert.Equal(t, row.health, health)
			if row.message != "" {
				assert.Equal(t, row.message, message)
			}
		})
	}
	t.Run("but a kind of that name of another group is what kstatus says", func(t *testing.T) {
		health, _ := plan.Health(map[string]any{"apiVersion": "example.com/v1", "kind": "APIService"})
		assert.Equal(t, "Current", health)
	})
}
