package controller_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/internal/samples"
	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/controller"
)

// configs returns a spec with n ConfigMaps.
func configs(n int) string {
	var text strings.Builder
	text.WriteString("manifest:\n")
	for i := range n {
		fmt.Fprintf(&text, "- {apiVersion: v1, kind: ConfigMap, metadata: {name: config-%d}, data: {key: held}}\n", i)
	}
	return text.String()
}

// mixed returns a spec with n resources of several kinds, from all stages.
func mixed(n int) string {
	objects := []string{
		`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2, selector: {matchLabels: {app: web}},
		   template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "web:1", ports: [{containerPort: 80}]}]}}}}`,
		`{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 80, targetPort: http}]}}`,
		`{apiVersion: v1, kind: Secret, metadata: {name: web}, stringData: {password: secret}}`,
		`{apiVersion: v1, kind: ServiceAccount, metadata: {name: web}}`,
	}
	var text strings.Builder
	text.WriteString("manifest:\n")
	for i := range n {
		if i < len(objects) {
			fmt.Fprintf(&text, "- %s\n", objects[i])
			continue
		}
		fmt.Fprintf(&text, "- {apiVersion: v1, kind: ConfigMap, metadata: {name: config-%d}, data: {key: held}}\n", i)
	}
	return text.String()
}

// TestBudgets limits the requests in each phase of an Application's life. All requests of the
// controller count here, whatever they concern.
func TestBudgets(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	f.Run(controller.Options{})
	// holding returns a namespace with an Application of n ConfigMaps, after all of its events were
	// emitted.
	holding := func(t *testing.T, n int) *fixture {
		t.Helper()
		f := f.Elsewhere(t)
		f.Submit("app", configs(n))
		f.AwaitReady("app")
		f.awaitEvents(1)
		f.Quiet(time.Second)
		f.Mark()
		return f
	}

	for _, n := range []int{1, 4, 10} {
		t.Run(fmt.Sprintf("creating %d resources of a kind takes %d requests, and deleting them %d", n, n+2, n+1), func(t *testing.T) {
			f := f.Elsewhere(t)
			f.Submit("app", configs(n))
			f.AwaitReady("app")
			f.AssertAsked(map[string]int{
				"create configmaps": n, "patch applications": 1, "patch applications/status": 1, "create events": 1,
			}, unrelatedToKinds)

			f.Mark()
			f.Delete(applications, "app")
			f.AwaitGone(applications, "app")
			f.AssertAsked(map[string]int{"delete configmaps": n, "patch applications": 1, "create events": 1})
			assert.Nil(t, f.Get(configMaps, "config-0"))
		})
	}

	t.Run("what holdfast submit creates needs no patch of the Application", func(t *testing.T) {
		for _, spec := range []string{configs(10), mixed(10)} {
			f := f.Elsewhere(t)
			f.SubmitByCommand("app", spec)
			f.AwaitHeld("app")
			creates := map[string]int{"create configmaps": 10}
			if spec != configs(10) {
				creates = map[string]int{"create deployments": 1, "create services": 1, "create secrets": 1, "create serviceaccounts": 1, "create configmaps": 6}
			}
			creates["patch applications/status"], creates["create events"] = 1, 1
			f.AssertAsked(creates, unrelatedToKinds)

			f.Delete(applications, "app")
			f.AwaitGone(applications, "app")
			assert.Nil(t, f.Get(configMaps, "config-5"))
		}
	})

	t.Run("ten resources of five kinds cost no more than ten of one kind", func(t *testing.T) {
		f := f.Elsewhere(t)
		f.Submit("app", mixed(10))
		f.AwaitHeld("app")
		f.AssertAsked(map[string]int{
			"create deployments": 1, "create services": 1, "create secrets": 1, "create serviceaccounts": 1, "create configmaps": 6,
			"patch applications": 1, "patch applications/status": 1, "create events": 1,
		}, unrelatedToKinds)
	})

	t.Run("one drift takes one patch, and one status write to say so", func(t *testing.T) {
		f := holding(t, 4)
		f.Patch("mallory", configMaps, "config-2", `{data: {key: changed}}`)
		f.AwaitValue(configMaps, "config-2", "held", "data", "key")
		f.awaitEvents(2)
		f.AssertAsked(map[string]int{"patch configmaps": 1, "patch applications/status": 1, "create events": 2}) // one on the object
	})

	t.Run("a free field that changes costs nothing", func(t *testing.T) {
		f := holding(t, 1)
		f.Patch("mallory", configMaps, "config-0", `{data: {another: free}, metadata: {annotations: {note: free}}}`)
		f.Quiet(2 * time.Second)
		assert.Empty(t, f.Requests())
	})

	t.Run("a deleted object costs one create", func(t *testing.T) {
		f := holding(t, 2)
		f.Delete(configMaps, "config-1")
		f.AwaitValue(configMaps, "config-1", "held", "data", "key")
		f.awaitEvents(2)
		f.AssertAsked(map[string]int{"create configmaps": 1, "patch applications/status": 1, "create events": 2})
	})

	t.Run("a resource more costs its create, and a patch that writes down what is created", func(t *testing.T) {
		f := holding(t, 2)
		f.Submit("app", configs(3))
		f.AwaitReady("app")
		f.AssertAsked(map[string]int{"create configmaps": 1, "patch applications": 1, "patch applications/status": 1, "create events": 1})
	})

	t.Run("a new version of the spec costs the writes it asks for and a status", func(t *testing.T) {
		f := holding(t, 4)
		f.Submit("app", strings.Replace(configs(3), "key: held", "key: other", 1))
		f.AwaitReady("app")
		f.AssertAsked(map[string]int{"patch configmaps": 1, "delete configmaps": 1, "patch applications/status": 1, "create events": 1})
	})
	t.Run("a dropped field costs one read of its object", func(t *testing.T) {
		f := holding(t, 4)
		f.Submit("app", strings.Replace(configs(4), "key: held", "key: held, more: held", 1))
		f.AwaitReady("app")
		f.awaitEvents(1)
		f.Mark()
		f.Submit("app", configs(4))
		f.AwaitReady("app")
		f.awaitEvents(1)
		f.AssertAsked(map[string]int{"get configmaps": 1, "patch configmaps": 1, "patch applications/status": 1, "create events": 1})
	})
}

// awaitEvents waits until the controller has sent n events since the last Mark. Events are sent
// asynchronously.
func (f *fixture) awaitEvents(n int) {
	f.t.Helper()
	f.eventually("events", func() bool { return counts(f.Requests())["create events"] >= n })
}

// unrelatedToKinds filters out discovery requests, which the controller sends once per kind.
func unrelatedToKinds(r testcluster.Request) bool {
	return r.Namespace != "" || !strings.HasPrefix(r.URI, "/api")
}

func TestARestartWritesNothing(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	first := f.Run(controller.Options{})
	const n = 30
	for i := range n {
		f.Submit(fmt.Sprintf("app-%d", i), fmt.Sprintf(`
manifest:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: config-%d}, data: {key: held}}
- {apiVersion: v1, kind: Service, metadata: {name: service-%d}, spec: {ports: [{port: 80}]}}
observerSchema:
- {apiVersion: v1, kind: Service, metadata: {name: service-%d}, spec: {sessionAffinity: observed}}
`, i, i, i))
	}
	for i := range 5 {
		f.Create("user", fmt.Sprintf(`{apiVersion: v1, kind: ServiceAccount, metadata: {name: many-%d}}`, i))
	}
	f.Submit("many", `select: [{apiVersion: v1, kind: ServiceAccount, names: ["many-*"], hold: {metadata: {annotations: {team: net}}}}]`)
	f.AwaitHeld("many")
	for i := range n {
		f.AwaitReady(fmt.Sprintf("app-%d", i))
	}
	f.awaitEvents(n + 1)
	f.Quiet(time.Second)
	first.Stop()

	// The audit log contains a watch only after it has ended.
	f.eventually("the end of the streams", func() bool { return len(f.streams("configmaps")) > 0 })
	for _, r := range f.streams("configmaps") {
		assert.Contains(t, r.URI, "labelSelector=holdfast.dev%2Fapplication-uid", "a watch costs what is held, not what exists")
	}

	f.Mark()
	f.Run(controller.Options{})
	f.Quiet(3 * time.Second)
	all := f.Requests()
	assert.Empty(t, all.Writes(), "%s", all)
	asked := counts(all)
	t.Logf("a restart with %d Applications: %v", n, asked)
	assert.LessOrEqual(t, asked["get "], 2, "one discovery request for the group of held objects, and one for the group of HoldProfiles")

	// Then: the Application holds all objects, including learned values.
	f.Patch("mallory", services, "service-7", `{spec: {sessionAffinity: ClientIP}}`)
	f.AwaitValue(services, "service-7", "None", "spec", "sessionAffinity")
	f.Patch("mallory", configMaps, "config-7", `{data: {key: changed}}`)
	f.AwaitValue(configMaps, "config-7", "held", "data", "key")
	f.Quiet(time.Second)
	writes := counts(f.Requests().Writes())
	assert.Equal(t, 1, writes["patch services"])
	assert.Equal(t, 1, writes["patch configmaps"])
}

// streams returns the watches of a resource that have ended.
func (f *fixture) streams(resource string) testcluster.Requests {
	f.t.Helper()
	all, err := f.cluster.Requests(0)
	require.NoError(f.t, err)
	return all.By(f.agent).Where(func(r testcluster.Request) bool { return r.Verb == "watch" && r.Resource == resource })
}

func TestAtRestNothingIsAsked(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	f.Run(controller.Options{})
	n := samples.Of(50, 200)
	for i := range n {
		f.Submit(fmt.Sprintf("app-%d", i),
			fmt.Sprintf(`{manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config-%d}, data: {key: held}}]}`, i))
	}
	for i := range n {
		f.AwaitReady(fmt.Sprintf("app-%d", i))
	}
	f.awaitEvents(n)
	f.Quiet(time.Second)
	f.Mark()
	select {
	case <-time.After(time.Minute):
	case <-t.Context().Done():
	}
	assert.Empty(t, f.Requests(), "in a minute")
}
