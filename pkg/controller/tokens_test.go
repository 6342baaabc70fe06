package controller_test

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/controller"
	"holdfast.dev/holdfast/pkg/hooks"
)

// A fast workload can call back before the Application's other resources are created.
func TestATokenIsKnownBeforeTheWorkloadIs(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	var known atomic.Int32
	h := hooks.New()
	h.ResourcePreCreate.Listen("look", func(c *hooks.CreateEvent) error {
		if c.ID.Kind == "Job" {
			known.Store(-1)
			if app := f.Application("app"); app.Status.Hooks != nil {
				known.Store(int32(len(app.Status.Hooks.Tokens)))
			}
		}
		return nil
	})
	f.RunWithCallbacks(controller.Options{Hooks: h})
	f.Submit("app", "hooks: {complete: {action: Keep}}\nmanifest:"+job)
	f.AwaitHeld("app")
	assert.Equal(t, int32(1), known.Load())
	f.Quiet(quiet)
}

// Tokens are read from the Secret in the cluster, even after a crash.
func TestATokenIsKnownAfterACrash(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	first := f.RunThrough(func(next http.RoundTripper) http.RoundTripper {
		return sender(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/status") {
				return nil, errors.New("cut off")
			}
			return next.RoundTrip(r)
		})
	}, controller.Options{Callback: func() hooks.Callback { return hooks.Callback{URL: "https://before.example.com"} }})
	f.Submit("app", "hooks: {complete: {action: Keep}}\nmanifest:"+job)
	made := f.Await(secrets, "app-hooks", "made", func(object map[string]any) bool { return object != nil })
	first.Stop()
	assert.Nil(t, f.Application("app").Status.Hooks)
	assert.Nil(t, f.Get(jobs, "work"), "no workload before the status knows its token")
	second := f.RunWithCallbacks(controller.Options{})
	f.AwaitHeld("app")
	w := f.again(f.Workload("app"), second)
	assert.Equal(t, decoded(t, made, "complete-token"), w.data["complete-token"])
	code, _ := w.call(http.MethodPut, "complete", w.body("complete"))
	assert.Equal(t, http.StatusOK, code)
	f.AwaitApplication("app", "completed", func(app *v1alpha1.Application) bool {
		return condition(app, v1alpha1.ConditionCompleted).Status == "True"
	})
	f.Quiet(time.Second)
}

// Hooks can be added and removed during the life of an Application.
func TestHooksMayBeAddedAndTakenAway(t *testing.T) {
	f := given(t)
	const web = `
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: web}
  spec:
    selector: {matchLabels: {app: web}}
    template:
      metadata: {labels: {app: web}}
      spec: {containers: [{name: web, image: "web:1", env: [{name: OWN, value: own}]}]}`
	const schema = `
observerSchema: [{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: observed}}]`
	for name, schema := range map[string]string{"default": "", "users": schema} {
		app := "app-" + name
		manifest := "\nmanifest:" + web + schema
		t.Run("under the schema "+name, func(t *testing.T) {
			f := f.Elsewhere(t)
			container := func() map[string]any {
				list, _, err := unstructured.NestedSlice(f.Get(deployments, "web"), "spec", "template", "spec", "containers")
				require.NoError(t, err)
				return list[0].(map[string]any)
			}
			env := func() (names []string) {
				for _, e := range container()["env"].([]any) {
					names = append(names, e.(map[string]any)["name"].(string))
				}
				return names
			}
			f.Submit(app, manifest)
			f.awaitResources(app, 1)
			assert.Equal(t, []string{"OWN"}, env())

			f.Submit(app, "hooks: {complete: {action: Keep}}"+manifest)
			f.awaitResources(app, 2)
			f.Quiet(quiet)
			assert.Len(t, env(), 3)
			w := f.Workload(app)

			// The token for a second hook is added to the existing Secret.
			f.Submit(app, "hooks: {complete: {action: Keep}, reconcile: {}}"+manifest)
			f.Await(secrets, app+"-hooks", "with another address", func(object map[string]any) bool {
				return value(object, "data", "reconcile-url") != nil
			})
			f.Quiet(quiet)
			both := f.Workload(app)
			assert.Equal(t, w.data["complete-token"], both.data["complete-token"])
			code, _ := both.call(http.MethodPost, "reconcile", both.body("reconcile"))
			assert.Equal(t, http.StatusOK, code)

			f.Submit(app, "hooks: {reconcile: {}}"+manifest)
			f.eventually("the variables to go", func() bool { return len(env()) == 1 })
			f.Quiet(quiet)
			code, result := both.call(http.MethodPut, "complete", both.body("complete"))
			assert.Equal(t, []any{http.StatusUnauthorized, "wrong_token"}, []any{code, result})

			f.Submit(app, manifest)
			f.awaitResources(app, 1)
			f.Quiet(quiet)
			assert.Nil(t, f.Get(secrets, app+"-hooks"))
			assert.NotContains(t, container(), "volumeMounts")
			_, volumes, _ := unstructured.NestedSlice(f.Get(deployments, "web"), "spec", "template", "spec", "volumes")
			assert.False(t, volumes)
			assert.Nil(t, f.Application(app).Status.Hooks)
		})
	}
}

// awaitResources waits until an Application holds n resources. Deployments are never ready here.
func (f *fixture) awaitResources(name string, n int) {
	f.t.Helper()
	f.AwaitApplication(name, "to hold its resources", func(app *v1alpha1.Application) bool {
		return len(app.Status.Resources) == n && app.Status.ObservedGeneration == app.Generation &&
			condition(app, v1alpha1.ConditionHeld).Status == "True"
	})
}

// A Secret that another client created is not used, whatever spec.adoption specifies.
func TestForeignTokenSecretIsNotUsed(t *testing.T) {
	f := given(t)
	f.Create("mallory", `{apiVersion: v1, kind: Secret, metadata: {name: app-hooks},
  stringData: {complete-token: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}}`)
	f.Submit("app", "adoption: Always\nhooks: {complete: {action: Keep}}\nmanifest:"+job)
	_, message := f.AwaitReason("app", v1alpha1.ReasonResourceConflict)
	assert.Contains(t, message, "Secret "+f.namespace+"/app-hooks already exists")
	require.Nil(t, f.Application("app").Status.Hooks)
	f.Delete(secrets, "app-hooks")
	f.Patch("user", applications, "app", `{metadata: {annotations: {holdfast.dev/reconcile: now}}}`)
	f.AwaitHeld("app")
	f.Quiet(quiet)
}

// A Secret that a user deletes is created again. Workloads with the old tokens can still call.
func TestTheTokensOfRunningPodsOutliveTheirSecret(t *testing.T) {
	f := given(t)
	f.Submit("app", "hooks: {complete: {action: Keep}}\nmanifest:"+job)
	w := f.Workload("app")
	f.AwaitHeld("app")
	f.Delete(secrets, "app-hooks")
	f.AwaitApplication("app", "to know both tokens", func(app *v1alpha1.Application) bool { return len(app.Status.Hooks.Tokens) == 2 })
	assert.NotEqual(t, w.data["complete-token"], f.Workload("app").data["complete-token"])
	f.Quiet(quiet)
	code, _ := w.call(http.MethodPut, "complete", w.body("complete"))
	assert.Equal(t, http.StatusOK, code)
}
