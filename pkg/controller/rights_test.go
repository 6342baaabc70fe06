package controller_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/controller"
)

// unprivileged has an applier without any rights.
func unprivileged(t *testing.T) *fixture {
	t.Helper()
	f := given(t)
	list, err := f.in("user", roleBindings).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for _, binding := range list.Items {
		f.Delete(roleBindings, binding.GetName())
	}
	f.eventually("the end of the rights", func() bool { return !f.allowed(applier, f.createConfigMaps()) })
	return f
}

func TestWithoutRightsNothingHappensUntilTheyAreGranted(t *testing.T) {
	f := unprivileged(t)
	f.Submit("app", oneConfig)
	app, message := f.AwaitReason("app", v1alpha1.ReasonForbidden)
	assert.Contains(t, message, fmt.Sprintf(
		"kubectl create rolebinding holdfast-%s -n %s --clusterrole=edit --serviceaccount=%s:%s", applier, f.namespace, f.namespace, applier))
	assert.Contains(t, message, "system:serviceaccount:"+f.namespace+":"+applier)
	assert.Equal(t, v1alpha1.ReasonForbidden, condition(app, v1alpha1.ConditionStalled).Reason)
	assert.Empty(t, f.touched())

	// When the command is run that the message gives,
	_, command, _ := strings.Cut(message, "kubectl ")
	_, err := f.cluster.Kubectl(t.Context(), "", strings.Fields(command)...)
	require.NoError(t, err)

	// then it goes on by itself.
	begin := time.Now()
	f.AwaitReady("app")
	t.Logf("ready %v after the grant", time.Since(begin).Round(time.Second))
	assert.Equal(t, "ours", value(f.Get(configMaps, "config"), "data", "key"))
}

func TestTheServiceAccountOfTheSpecIsTheOneThatActs(t *testing.T) {
	f := unprivileged(t)
	f.Create("user", `{apiVersion: v1, kind: ServiceAccount, metadata: {name: deployer}}`)
	f.Grant("edit", "deployer")
	f.Mark()
	f.Submit("app", "serviceAccountName: deployer"+oneConfig)
	f.AwaitReady("app")
	for _, r := range f.touched() {
		assert.Equal(t, "system:serviceaccount:"+f.namespace+":deployer", r.ImpersonatedUser, "%s", r)
	}
}

func TestRightsThatGoBeforeTheDeletionLeaveTheInventoryAlone(t *testing.T) {
	f := given(t)
	f.Submit("app", oneConfig)
	f.AwaitReady("app")
	list, err := f.in("user", roleBindings).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for _, binding := range list.Items {
		f.Delete(roleBindings, binding.GetName())
	}
	f.eventually("the end of the rights", func() bool { return !f.allowed(applier, f.createConfigMaps()) })
	f.Mark()

	f.Delete(applications, "app")

	app, message := f.AwaitReason("app", v1alpha1.ReasonForbidden)
	assert.Contains(t, message, "kubectl create rolebinding")
	require.Len(t, app.Status.Resources, 1)
	assert.NotNil(t, f.Get(configMaps, "config"))
	f.Quiet(quiet)
	f.Grant("cluster-admin", applier)
	f.AwaitGone(applications, "app")
	assert.Nil(t, f.Get(configMaps, "config"))
}

// Everything that an Application's life consists of, by whom it was asked for.
func TestEveryWriteIsMadeInTheNameOfTheServiceAccount(t *testing.T) {
	f := given(t)
	f.Submit("app", mixed(5))
	f.AwaitHeld("app")
	f.Patch("mallory", services, "web", `{spec: {selector: {app: other}}}`)
	f.AwaitValue(services, "web", "web", "spec", "selector", "app")
	f.Patch("mallory", configMaps, "config-4", `{metadata: {labels: null}}`)
	f.Quiet(time.Second)
	f.Submit("app", mixed(3))
	f.AwaitHeld("app")
	f.Delete(applications, "app")
	f.AwaitGone(applications, "app")
	f.Quiet(time.Second)

	own := map[string]int{}
	for _, r := range f.Requests() {
		if r.ImpersonatedUser != "" {
			assert.Equal(t, "system:serviceaccount:"+f.namespace+":"+applier, r.ImpersonatedUser, "%s", r)
			continue
		}
		own[counted(r)]++
	}
	for what := range own {
		assert.Contains(t, []string{"patch applications", "patch applications/status", "create events", "patch events", "update events"}, what)
	}
}

// The garbage collector and the namespace controller do what they do in a real cluster.
func TestANamespaceThatIsDeletedGoes(t *testing.T) {
	f := givenAlone(t, testcluster.Options{ControllerManager: true})
	f.Run(controller.Options{})
	f.Submit("app", mixed(6))
	f.AwaitHeld("app")

	f.Delete(namespaces, f.namespace)

	f.AwaitGone(namespaces, f.namespace)
	f.Quiet(quiet)
}
