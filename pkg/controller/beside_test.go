package controller_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/controller"
)

// These tests need the controllers of Kubernetes. They fill the aggregated role "edit", and delete the
// objects in a namespace that is being deleted.
func TestWithKubernetesControllers(t *testing.T) {
	f := givenAlone(t, testcluster.Options{ControllerManager: true})
	f.Run(controller.Options{})

	t.Run("the command that a message gives grants what is missing", func(t *testing.T) {
		t.Parallel()
		f := f.Elsewhere(t)
		f.revoke()
		f.Submit("app", oneConfig)
		_, message := f.AwaitReason("app", v1alpha1.ReasonForbidden)

		_, command, _ := strings.Cut(message, "kubectl ")
		_, err := f.cluster.Kubectl(t.Context(), "", strings.Fields(command)...)
		require.NoError(t, err)

		f.AwaitReady("app")
	})

	t.Run("a deleted namespace removes its Application", func(t *testing.T) {
		t.Parallel()
		f := f.Elsewhere(t)
		f.Submit("app", mixed(6))
		f.AwaitHeld("app")

		f.Delete(namespaces, f.namespace)

		f.AwaitGone(namespaces, f.namespace)
		f.Quiet(quiet)
	})

	t.Run("the conditions of a terminating namespace are reported", func(t *testing.T) {
		t.Parallel()
		f := f.Elsewhere(t)
		other := f.Elsewhere(t)
		f.GrantEverywhere()
		other.Create("client", `{apiVersion: v1, kind: ConfigMap, metadata: {name: waits, finalizers: [client.example.com/wait]}}`)
		f.Delete(namespaces, other.namespace)
		f.Await(namespaces, other.namespace, "with what remains", func(object map[string]any) bool {
			return strings.Contains(fmt.Sprint(object["status"]), "client.example.com/wait")
		})

		f.Submit("app", `{manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config, namespace: `+other.namespace+`}}]}`)

		_, message := f.AwaitReason("app", v1alpha1.ReasonWaiting)
		assert.Contains(t, message, "its namespace is being deleted: ")
		assert.Contains(t, message, "client.example.com/wait in 1 resource instances")
		other.Patch("client", configMaps, "waits", `{metadata: {finalizers: null}}`)
		f.AwaitGone(namespaces, other.namespace)
	})

	t.Run("the reason why a Deployment has no Pods", func(t *testing.T) {
		t.Parallel()
		f := f.Elsewhere(t)
		f.Create("user", `{apiVersion: v1, kind: ResourceQuota, metadata: {name: none}, spec: {hard: {pods: "0"}}}`)
		f.Await(schema.GroupVersionResource{Version: "v1", Resource: "resourcequotas"}, "none", "counted", func(object map[string]any) bool {
			return value(object, "status", "hard", "pods") == "0"
		})
		f.Submit("app", "manifest:"+web("", "", ""))

		app := f.AwaitApplication("app", "the quota", func(app *v1alpha1.Application) bool {
			return len(app.Status.Resources) == 1 && strings.Contains(app.Status.Resources[0].Message, "exceeded quota: none")
		})
		assert.Equal(t, "InProgress", app.Status.Resources[0].Health)
		assert.Contains(t, condition(app, v1alpha1.ConditionReady).Message, "FailedCreate: pods")
		told, err := f.kubectl("", "describe", "hfapp", "app")
		require.NoError(t, err)
		assert.Contains(t, told, "exceeded quota: none")
	})

	t.Run("an object in another namespace is deleted", func(t *testing.T) {
		t.Parallel()
		f := f.Elsewhere(t)
		other := f.Elsewhere(t)
		f.GrantEverywhere()
		f.Submit("app", oneConfig+`
- {apiVersion: v1, kind: ConfigMap, metadata: {name: elsewhere, namespace: `+other.namespace+`}, data: {key: ours}}`)
		f.AwaitReady("app")

		f.Delete(namespaces, f.namespace)

		f.AwaitGone(namespaces, f.namespace)
		assert.Nil(t, other.Get(configMaps, "elsewhere"))
		f.Quiet(quiet)
	})
}
