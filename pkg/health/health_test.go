package health_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/health"
)

func TestAnAPIServiceIsHealthyWhenItIsAvailable(t *testing.T) {
	const isFalse = ` (current is false: status.conditions.exists(c, c.type == 'Available' && c.status == 'True' && ` +
		`(!has(c.observedGeneration) || c.observedGeneration == metadata.generation)))`
	for _, row := range []struct{ name, object, health, message string }{
		{"available", `status: {conditions: [{type: Available, status: "True", reason: Passed}]}`, "Current", ""},
		{"without endpoints", `status: {conditions: [{type: Available, status: "False", reason: MissingEndpoints, message: "endpoints for service/x in \"y\" have no addresses"}]}`,
			"InProgress", `MissingEndpoints: endpoints for service/x in "y" have no addresses` + isFalse},
		{"not answering", `status: {conditions: [{type: Other, status: "True"}, {type: Available, status: Unknown, reason: FailedDiscoveryCheck}]}`,
			"InProgress", "FailedDiscoveryCheck" + isFalse},
		{"new", `spec: {}`, "InProgress", "current has no result: no such attribute(s): status"},
		{"with conditions that are none", `status: {conditions: text}`, "InProgress", "current has no result: "},
		{"in deletion", `{metadata: {name: a, deletionTimestamp: "2026-01-01T00:00:00Z"}, status: {conditions: [{type: Available, status: "True"}]}}`, "Terminating", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			live := map[string]any{}
			require.NoError(t, yaml.Unmarshal([]byte(row.object), &live))
			live["apiVersion"], live["kind"] = "apiregistration.k8s.io/v1", "APIService"
			state, message := health.Compute(&v1alpha1.Application{}, live)
			assert.Equal(t, row.health, state)
			if row.message != "" {
				assert.Contains(t, message, row.message)
			}
		})
	}
	t.Run("a kind of that name in another group", func(t *testing.T) {
		state, _ := health.Compute(&v1alpha1.Application{}, map[string]any{"apiVersion": "example.com/v1", "kind": "APIService"})
		assert.Equal(t, "Current", state)
	})
}

// The message of an unhealthy object contains more detail than kstatus provides.
func TestMessageOfUnhealthyObject(t *testing.T) {
	for _, row := range []struct{ name, object, health, message string }{
		{
			"a Deployment whose Pods may not be made", `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 2}, status: {conditions: [
			  {type: Available, status: "False", reason: MinimumReplicasUnavailable, message: "Deployment does not have minimum availability."},
			  {type: ReplicaFailure, status: "True", reason: FailedCreate, message: "pods \"web\" is forbidden: exceeded quota"}]}}`,
			"InProgress", `FailedCreate: pods "web" is forbidden: exceeded quota`,
		},
		{
			"a Deployment that does not get on", `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 2}, status: {conditions: [
			  {type: Progressing, status: "False", reason: ProgressDeadlineExceeded, message: "ReplicaSet \"web-1\" has timed out progressing."}]}}`,
			"Failed", `ProgressDeadlineExceeded: ReplicaSet "web-1" has timed out progressing.`,
		},
		{
			"a Deployment that gets on", `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 2}, status: {replicas: 1, conditions: [
			  {type: Progressing, status: "True", reason: ReplicaSetUpdated}]}}`,
			"InProgress", "Replicas: 1/2",
		},
		{
			"a Pod that finds no node", `{apiVersion: v1, kind: Pod, status: {phase: Pending, conditions: [
			  {type: PodScheduled, status: "False", reason: Unschedulable, message: "0/1 nodes are available: 1 Insufficient cpu."}]}}`,
			"Failed", "Unschedulable: 0/1 nodes are available: 1 Insufficient cpu.",
		},
		{
			"a Pod without its image", `{apiVersion: v1, kind: Pod, status: {phase: Pending, containerStatuses: [
			  {name: side, state: {running: {}}}, {name: next, state: {waiting: {reason: PodInitializing}}},
			  {name: web, state: {waiting: {reason: ImagePullBackOff, message: "Back-off pulling image \"web:1\""}}}]}}`,
			"InProgress", `container web: ImagePullBackOff: Back-off pulling image "web:1"`,
		},
		{
			"a Pod that begins", `{apiVersion: v1, kind: Pod, status: {phase: Pending, containerStatuses: [{name: web, state: {waiting: {reason: ContainerCreating}}}]}}`,
			"InProgress", "Pod is in the Pending phase",
		},
		{
			"a claim without a volume", `{apiVersion: v1, kind: PersistentVolumeClaim, status: {phase: Pending}}`,
			"InProgress", "PVC is not Bound. phase: Pending",
		},
		{
			"a custom kind, by its condition Ready", `{apiVersion: example.com/v1, kind: Certificate, status: {conditions: [
			  {type: Progressing, status: "False"}, {type: Ready, status: "False", reason: DoesNotExist, message: "there is no issuer"}]}}`,
			"InProgress", "there is no issuer",
		},
		{
			"a Pod whose status is none", `{apiVersion: v1, kind: Pod, status: {phase: Pending, conditions: [text], containerStatuses: {}}}`,
			"Unknown", "its health is not known: cannot restore struct from: string",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			state, message := health.Compute(&v1alpha1.Application{}, liveObject(t, row.object))
			assert.Equal(t, row.health, state)
			assert.Equal(t, row.message, message)
		})
	}
}
