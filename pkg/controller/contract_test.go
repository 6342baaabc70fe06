package controller_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/controller"
)

// A process dies without recording what it created. The next spec contains fewer fields. The missing
// ones are removed.
func TestObjectOfCrashedCreateGoesWithManifest(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	for _, when := range []moment{beforeResponse, afterResponse} {
		t.Run("of one that dies "+string(when), func(t *testing.T) {
			f := f.Elsewhere(t)
			end := &death{namespace: f.namespace + "/", at: 3, when: when, died: make(chan struct{})}
			first := f.RunThrough(end.wrap, controller.Options{})
			f.Submit("app", "manifest:"+web("paused: true", "hostNetwork: true\ntolerations: [{key: mine, operator: Exists}]", "args: [--quick]\nenv: [{name: A, value: a}, {name: B, value: b}]")+`
- {apiVersion: v1, kind: ConfigMap, metadata: {name: config, labels: {old: "1"}}, data: {removed: "1", kept: "2"}}
`)
			<-end.died
			first.Stop()
			require.Empty(t, f.Application("app").Status.Resources, "nothing is on record")
			created := f.Get(deployments, "web")
			require.Equal(t, true, value(created, "spec", "paused"))
			f.Patch("mallory", deployments, "web", `{metadata: {labels: {theirs: kept}}}`)

			f.Submit("app", "manifest:"+web("", "", "env: [{name: A, value: a}]")+`
- {apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {kept: "2"}}
`)
			next := f.Run(controller.Options{})
			f.AwaitHeld("app")
			f.Quiet(quiet)
			live := f.Get(deployments, "web")
			assert.Nil(t, value(live, "spec", "paused"))
			pod, _, err := unstructured.NestedMap(live, "spec", "template", "spec")
			require.NoError(t, err)
			assert.NotContains(t, pod, "hostNetwork")
			assert.NotContains(t, pod, "tolerations")
			container := pod["containers"].([]any)[0].(map[string]any)
			assert.NotContains(t, container, "args")
			assert.Equal(t, []any{map[string]any{"name": "A", "value": "a"}}, container["env"])
			assert.Equal(t, "kept", value(live, "metadata", "labels", "theirs"))
			assert.Equal(t, "Always", pod["restartPolicy"], "the default of the API server is kept")
			config := f.Get(configMaps, "config")
			assert.Equal(t, map[string]any{"kept": "2"}, config["data"])
			assert.Nil(t, value(config, "metadata", "labels", "old"))
			next.Stop()
		})
	}
}

// If the API server rejects the removal of one field, the whole change has no effect. The controller
// does not retry it repeatedly.
func TestAChangeWithARefusedRemovalChangesNothing(t *testing.T) {
	f := given(t)
	f.Submit("app", `{manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config, labels: {a: "1", b: "1"}}, immutable: true, data: {key: ours}}]}`)
	f.AwaitReady("app")
	f.Mark()
	f.Submit("app", `{manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config, labels: {a: "2"}}, data: {key: ours}}]}`)

	app, message := f.AwaitReason("app", v1alpha1.ReasonRejected)

	assert.Contains(t, message, "immutable")
	config := f.Get(configMaps, "config")
	assert.Equal(t, "1", value(config, "metadata", "labels", "a"))
	assert.Equal(t, "1", value(config, "metadata", "labels", "b"))
	assert.Equal(t, true, config["immutable"])
	assert.Contains(t, string(app.Status.LastAppliedManifest[0].Raw), "immutable", "what was accepted last is on record")
	f.Quiet(quiet)
	assert.Equal(t, 1, counts(f.Requests())["patch configmaps"], "the API server names the field")

	// Then: the user restores that field.
	f.Submit("app", `{manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config, labels: {a: "2"}}, immutable: true, data: {key: ours}}]}`)
	f.AwaitReady("app")
	f.Quiet(time.Second)
}

// The order of init containers matters, and so does the order of variables that refer to each other.
func TestNewElementsGoWhereTheManifestHasThem(t *testing.T) {
	f := given(t)
	spec := func(initContainers, env string) string {
		return "manifest:" + web("", "initContainers: ["+initContainers+"]", "env: ["+env+"]")
	}
	f.Submit("app", spec(`{name: fetch, image: "fetch:1"}, {name: check, image: "check:1"}`, `{name: URL, value: "http://$(HOST)"}`))
	f.AwaitHeld("app")
	f.Submit("app", spec(`{name: fetch, image: "fetch:1"}, {name: unpack, image: "unpack:1"}, {name: check, image: "check:1"}`,
		`{name: HOST, value: db}, {name: URL, value: "http://$(HOST)"}`))
	f.AwaitHeld("app")

	pod, _, err := unstructured.NestedMap(f.Get(deployments, "web"), "spec", "template", "spec")
	require.NoError(t, err)
	assert.Equal(t, []string{"fetch", "unpack", "check"}, namesOf(pod["initContainers"]))
	assert.Equal(t, []string{"HOST", "URL"}, namesOf(pod["containers"].([]any)[0].(map[string]any)["env"]))
	f.Quiet(quiet)
}

func namesOf(list any) (names []string) {
	for _, element := range list.([]any) {
		names = append(names, element.(map[string]any)["name"].(string))
	}
	return names
}

// An empty list is free, except for the elements of an earlier manifest. The API server may have
// normalized those, so the controller reads managedFields.
func TestAListThatTheManifestEmpties(t *testing.T) {
	f := given(t)
	limits := schema.GroupVersionResource{Version: "v1", Resource: "limitranges"}
	spec := func(text string) string {
		return `{manifest: [{apiVersion: v1, kind: LimitRange, metadata: {name: limits}, spec: ` + text + `}]}`
	}
	for name, emptied := range map[string]string{"an empty list": "{limits: []}", "no list": "{}"} {
		t.Run(name, func(t *testing.T) {
			f.Submit("app", spec("{limits: [{type: Container, default: {cpu: 1000m}}]}"))
			f.AwaitReady("app")
			require.Equal(t, "1", value(f.Get(limits, "limits"), "spec", "limits", "0", "defaultRequest", "cpu"))
			f.Mark()
			f.Submit("app", spec(emptied))
			f.AwaitReady("app")
			f.Quiet(quiet)
			assert.Nil(t, value(f.Get(limits, "limits"), "spec", "limits", "0", "type"))
			assert.Equal(t, map[string]int{"get limitranges": 1, "patch limitranges": 1, "patch applications/status": 1}, counts(withoutEvents(f.Requests())))
		})
	}
}

// Characters that JSON can escape are equal in guards and objects.
func TestTextThatIsEscapedIsGuardedAsItIs(t *testing.T) {
	f := given(t)
	const ours, theirs = "a && b < c > é 😀 \\u2028", "x && <y> ü \\u2028 \\u0007"
	f.Submit("app", `{manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {key: "`+ours+`", gone: "<&>"}}]}`)
	f.AwaitReady("app")
	written := value(f.Get(configMaps, "config"), "data", "key")
	f.Mark()
	f.Patch("mallory", configMaps, "config", `{data: {key: "`+theirs+`", gone: "`+theirs+`"}}`)
	f.AwaitValue(configMaps, "config", written, "data", "key")
	f.Submit("app", `{manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {key: "`+ours+`"}}]}`)
	f.AwaitReady("app")
	f.Quiet(quiet)
	assert.Nil(t, value(f.Get(configMaps, "config"), "data", "gone"))
	assert.Equal(t, 2, counts(f.Requests())["patch configmaps"], "%s", f.Requests())
}

// The port is a list-map key. A new port in the manifest must not add an element, because a Service
// with two ports needs port names.
func TestAnObservedKeyIsChangedInPlace(t *testing.T) {
	f := given(t)
	spec := func(port string) string {
		return `
manifest:
- {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {type: NodePort, selector: {app: web}, ports: [{port: ` + port + `}]}}
observerSchema:
- {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {ports: [{port: observed}, {observer_schema_list_min_length: 1, observer_schema_list_max_length: 4}]}}
`
	}
	f.Submit("app", spec("80"))
	f.AwaitReady("app")
	allocated := value(f.Get(services, "web"), "spec", "ports", "0", "nodePort")
	require.NotNil(t, allocated)
	f.Mark()
	f.Submit("app", spec("8080"))
	f.AwaitReady("app")
	f.Quiet(quiet)

	live := f.Get(services, "web")
	assert.Equal(t, int64(8080), value(live, "spec", "ports", "0", "port"))
	assert.Equal(t, allocated, value(live, "spec", "ports", "0", "nodePort"), "a free field of the same element is kept")
	assert.Nil(t, value(live, "spec", "ports", "1", "port"))
	assert.Equal(t, 1, counts(f.Requests())["patch services"])
}

// Another client changes the port of a Service, which is a list-map key. The default schema allows more ports, but a
// Service with two ports needs port names.
func TestAPortThatAnotherClientChanges(t *testing.T) {
	f := given(t)
	for name, port := range map[string]string{"bare": "port: 80", "named": "port: 80, name: http", "with-a-target": "port: 80, targetPort: http"} {
		f.Submit(name, `
manifest:
- {apiVersion: v1, kind: Service, metadata: {name: `+name+`}, spec: {type: LoadBalancer, selector: {app: web}, ports: [{`+port+`}]}}`)
		f.AwaitReady(name)
		for _, change := range []string{
			`[{op: replace, path: /spec/ports/0/port, value: 81}]`,
			`[{op: replace, path: /spec/ports, value: [{` + strings.Replace(port, "80", "81", 1) + `}]}]`,
		} {
			f.PatchJSON("mallory", services, name, change)
			f.AwaitValue(services, name, int64(80), "spec", "ports", "0", "port")
			f.AwaitHeld(name)
			assert.Nil(t, value(f.Get(services, name), "spec", "ports", "1", "port"), "%s, %s", name, change)
		}
	}
	refused := f.Requests().Where(func(r testcluster.Request) bool { return r.Code == 422 })
	assert.Empty(t, refused)
}

// A learned value is used again. If that is not possible, a new value is learned.
func TestALearnedAddressThatIsTakenIsLearnedAgain(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	first := f.Run(controller.Options{})
	f.Submit("app", `
manifest:
- {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 80}]}}
observerSchema:
- {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {clusterIP: observed, sessionAffinity: observed}}
`)
	f.AwaitReady("app")
	ip := func() any { return value(f.Get(services, "web"), "spec", "clusterIP") }
	// recorded waits until the status contains the address. The Application is Ready before that.
	recorded := func() *v1alpha1.Application {
		return f.AwaitApplication("app", "the address", func(app *v1alpha1.Application) bool {
			return len(app.Status.LastAppliedManifest) == 1 &&
				strings.Contains(string(app.Status.LastAppliedManifest[0].Raw), fmt.Sprintf(`"clusterIP":%q`, ip()))
		})
	}
	recorded()
	learned := ip()
	first.Stop()
	f.Delete(services, "web")
	f.Create("mallory", fmt.Sprintf(`{apiVersion: v1, kind: Service, metadata: {name: thief}, spec: {clusterIP: %q, ports: [{port: 80}]}}`, learned))

	f.Run(controller.Options{})
	f.Await(services, "web", "there once more", func(object map[string]any) bool { return object != nil })
	assert.NotEqual(t, learned, ip())
	app := recorded()
	f.Quiet(quiet)
	assert.Contains(t, string(app.Status.LastAppliedManifest[0].Raw), `"sessionAffinity":"None"`)
	f.Patch("mallory", services, "web", `{spec: {sessionAffinity: ClientIP}}`)
	f.AwaitValue(services, "web", "None", "spec", "sessionAffinity")
}

// The watch reports the deletion of a Service a moment before its address is free.
func TestALearnedAddressOutlivesItsService(t *testing.T) {
	f := given(t)
	f.Submit("app", `
manifest:
- {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 80}]}}
observerSchema:
- {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {clusterIP: observed}}
`)
	app := f.AwaitReady("app")
	before := f.Get(services, "web")
	learned := value(before, "spec", "clusterIP")
	require.Contains(t, string(app.Status.LastAppliedManifest[0].Raw), fmt.Sprintf(`"clusterIP":%q`, learned))
	kept := 0
	for range 4 { // a fifth deletion would be contested
		f.Mark()
		f.Delete(services, "web")
		after := f.Await(services, "web", "there again", func(object map[string]any) bool {
			return object != nil && value(object, "metadata", "uid") != value(before, "metadata", "uid")
		})
		if address := value(after, "spec", "clusterIP"); address == learned {
			kept++
		} else { // The API server did not free the address before the last retry.
			refused := f.Requests().Where(func(r testcluster.Request) bool { return r.Code == http.StatusUnprocessableEntity })
			require.Len(t, refused, 4, "%s", f.Requests())
			learned = address
		}
		before = after
	}
	assert.Positive(t, kept)
}
