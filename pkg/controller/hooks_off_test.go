package controller_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/controller"
)

// Without a callback server, an Application that already uses hooks is still held, with the data in its
// Secret. Only an Application without that Secret is rejected.
func TestWithoutTheCallbackServerNothingChanges(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	const hooked = "hooks: {complete: {action: Keep}}\nmanifest:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {key: ours}}" + job
	s := f.RunWithCallbacks(controller.Options{})
	f.Submit("app", hooked)
	f.Workload("app")
	f.AwaitHeld("app")
	f.Quiet(quiet)
	secret, work := f.Get(secrets, "app-hooks"), f.Get(jobs, "work")

	s.Stop()
	f.Patch("mallory", configMaps, "config", "{data: {key: theirs}}")
	off := f.Run(controller.Options{})
	f.AwaitValue(configMaps, "config", "ours", "data", "key")
	app := f.AwaitApplication("app", "held, with a warning", func(app *v1alpha1.Application) bool {
		return condition(app, v1alpha1.ConditionHeld).Status == metav1.ConditionTrue && len(condition(app, v1alpha1.ConditionRendered).Message) > 20
	})
	assert.Contains(t, condition(app, v1alpha1.ConditionRendered).Message, "the callback server is off")
	assert.Equal(t, metav1.ConditionTrue, condition(app, v1alpha1.ConditionRendered).Status)
	f.Patch("mallory", configMaps, "config", "{data: {key: again}}")
	f.AwaitValue(configMaps, "config", "ours", "data", "key")
	f.Quiet(quiet)
	assert.Equal(t, secret, f.Get(secrets, "app-hooks"))
	assert.Equal(t, work, f.Get(jobs, "work"))

	t.Run("a first start is refused", func(t *testing.T) {
		f := f.Elsewhere(t)
		f.Submit("next", "hooks: {complete: {}}\nmanifest:"+job)
		_, message := f.AwaitReason("next", v1alpha1.ReasonHookFailed)
		assert.Contains(t, message, "--callback-bind-address")
		assert.Nil(t, f.Get(jobs, "work"))
		f.Delete(applications, "next")
		f.AwaitGone(applications, "next")
	})

	// The running workloads have tokens from this Secret, so a new one would be of no use.
	f.Delete(secrets, "app-hooks")
	f.AwaitReason("app", v1alpha1.ReasonHookFailed)
	f.Quiet(quiet)
	require.Equal(t, work, f.Get(jobs, "work"))

	off.Stop()
	f.RunWithCallbacks(controller.Options{})
	f.AwaitHeld("app")
	f.Workload("app")
	f.AwaitApplication("app", "as before", func(app *v1alpha1.Application) bool {
		return condition(app, v1alpha1.ConditionRendered).Message == "3 resources"
	})
	f.Quiet(quiet)
}
