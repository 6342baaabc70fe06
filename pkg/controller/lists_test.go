package controller_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var networkPolicies = schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "networkpolicies"}

// ports returns the ports of a Service without the values that the API server allocates.
func (f *fixture) ports(name string) []any {
	f.t.Helper()
	ports, _, _ := unstructured.NestedSlice(f.Get(services, name), "spec", "ports")
	for _, port := range ports {
		delete(port.(map[string]any), "nodePort")
	}
	return ports
}

func portOf(port int64, protocol string) map[string]any {
	return map[string]any{"port": port, "protocol": protocol, "targetPort": int64(80)}
}

// The schema is the example for a Service in the documentation. The changes are typical ones.
func TestTheKeyOfAPortThatDriftsIsPutBack(t *testing.T) {
	f := given(t)
	f.Submit("app", `
manifest:
- {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {type: NodePort, selector: {app: web}, ports: [{port: 8080, protocol: TCP, targetPort: 80}]}}
observerSchema:
- apiVersion: v1
  kind: Service
  metadata: {name: web}
  spec:
    ports:
    - {port: observed, protocol: observed, targetPort: observed}
    - {observer_schema_list_min_length: 1, observer_schema_list_max_length: 4}
`)
	f.AwaitReady("app")
	allocated := value(f.Get(services, "web"), "spec", "ports", "0", "nodePort")
	for name, drift := range map[string]string{
		"another port":     `[{op: replace, path: /spec/ports/0/port, value: 8081}]`,
		"another protocol": `[{op: replace, path: /spec/ports/0/protocol, value: UDP}]`,
		"an added port":    `[{op: replace, path: /spec/ports/0/port, value: 8081}, {op: add, path: /spec/ports/0/name, value: web}, {op: add, path: /spec/ports/-, value: {name: more, port: 9090}}]`,
		"a changed port":   `[{op: replace, path: /spec/ports/0/port, value: 8082}]`,
	} {
		t.Run(name, func(t *testing.T) {
			f := *f
			f.t = t
			f.PatchJSON("mallory", services, "web", drift)
			f.Await(services, "web", "as it was", func(object map[string]any) bool {
				return value(object, "spec", "ports", "0", "port") == int64(8080) && value(object, "spec", "ports", "0", "protocol") == "TCP"
			})
			f.AwaitReady("app")
			assert.Equal(t, allocated, value(f.Get(services, "web"), "spec", "ports", "0", "nodePort"))
			f.Quiet(time.Second)
			f.PatchJSON("user", services, "web", `[{op: replace, path: /spec/ports, value: [{port: 8080, protocol: TCP, targetPort: 80, nodePort: `+
				fmt.Sprint(allocated)+`}]}]`)
			f.AwaitReady("app")
			assert.Equal(t, []any{portOf(8080, "TCP")}, f.ports("web"))
		})
	}
}

// A selector with an added key is a different selector.
func TestAddedSelectorKeyIsRemoved(t *testing.T) {
	f := given(t)
	f.Submit("app", `
manifest:
- {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 80}]}}
- {apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: some}, spec: {podSelector: {matchLabels: {app: web}}, policyTypes: [Ingress]}}
- {apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: all}, spec: {podSelector: {}, policyTypes: [Ingress]}}`)
	f.AwaitReady("app")
	f.Mark()

	f.Patch("mallory", services, "web", `{spec: {selector: {tier: none}}}`)
	f.Patch("mallory", networkPolicies, "some", `{spec: {podSelector: {matchLabels: {tier: none}}}}`)
	f.Patch("mallory", networkPolicies, "all", `{spec: {podSelector: {matchLabels: {tier: none}}}}`)

	f.AwaitValue(services, "web", nil, "spec", "selector", "tier")
	f.AwaitValue(networkPolicies, "some", nil, "spec", "podSelector", "matchLabels", "tier")
	f.AwaitValue(networkPolicies, "all", nil, "spec", "podSelector", "matchLabels", "tier")
	f.AwaitReady("app")
	assert.Equal(t, "web", value(f.Get(services, "web"), "spec", "selector", "app"))
	assert.Equal(t, "web", value(f.Get(networkPolicies, "some"), "spec", "podSelector", "matchLabels", "app"))
	f.Quiet(quiet)
	assert.Equal(t, map[string]int{"patch services": 1, "patch networkpolicies": 2}, counts(f.touched()))
}

// Another client adds the same variable twice and changes one of the held variables. The controller
// finds each of those by name.
func TestADuplicateKeySpoilsOnlyItself(t *testing.T) {
	f := given(t)
	f.Submit("app", "manifest:"+web("", "", "env: [{name: A, value: a}, {name: B, value: b}]")+`
observerSchema:
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: web}
  spec: {template: {spec: {containers: [{name: observed, env: [{name: observed, value: observed}, {name: observed, value: observed},
    {observer_schema_list_min_length: 2, observer_schema_list_max_length: 0}]}, {observer_schema_list_min_length: 1, observer_schema_list_max_length: 0}]}}}
`)
	f.AwaitHeld("app")
	variables := func(object map[string]any) any {
		list, _, _ := unstructured.NestedSlice(object, "spec", "template", "spec", "containers")
		return list[0].(map[string]any)["env"]
	}
	f.Mark()

	f.PatchJSON("mallory", deployments, "web", `[{op: replace, path: /spec/template/spec/containers/0/env,
	  value: [{name: X, value: x}, {name: X, value: z}, {name: A, value: a}, {name: B, value: theirs}]}]`)

	f.AwaitValue(deployments, "web", "b", "spec", "template", "spec", "containers", "0", "env", "3", "value")
	f.AwaitHeld("app")
	f.Quiet(quiet)
	variable := func(name, value string) any { return map[string]any{"name": name, "value": value} }
	assert.Equal(t, []any{variable("X", "x"), variable("X", "z"), variable("A", "a"), variable("B", "b")}, variables(f.Get(deployments, "web")))
	assert.Equal(t, map[string]int{"patch deployments": 1}, counts(f.touched()))
}

// If two variables have the same name, the last one takes effect. The API server keeps both.
func TestAVariableOfTwoIsPutBackInItsPlace(t *testing.T) {
	f := given(t)
	f.Submit("app", "manifest:"+web("", "", "env: [{name: A, value: one}, {name: B, value: b}, {name: A, value: two}]"))
	f.AwaitHeld("app")
	variables := func(object map[string]any) any {
		list, _, _ := unstructured.NestedSlice(object, "spec", "template", "spec", "containers")
		return list[0].(map[string]any)["env"]
	}
	desired := variables(f.Get(deployments, "web"))
	f.Mark()

	f.PatchJSON("mallory", deployments, "web", `[{op: remove, path: /spec/template/spec/containers/0/env/0}]`)

	f.AwaitValue(deployments, "web", "one", "spec", "template", "spec", "containers", "0", "env", "0", "value")
	app := f.AwaitHeld("app")
	f.Quiet(quiet)
	assert.Equal(t, desired, variables(f.Get(deployments, "web")))
	assert.Empty(t, app.Status.Accepted)
	assert.Equal(t, map[string]int{"patch deployments": 1}, counts(f.touched()))
}

func TestAKeyThatIsNotObservedIsFree(t *testing.T) {
	f := given(t)
	f.Submit("app", `
manifest:
- {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 80, targetPort: 80}]}}
observerSchema:
- {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {ports: [{port: observed, targetPort: observed},
   {observer_schema_list_min_length: 1, observer_schema_list_max_length: 1}]}}
`)
	f.AwaitReady("app")
	f.Quiet(time.Second)
	f.Mark()

	f.PatchJSON("mallory", services, "web", `[{op: replace, path: /spec/ports/0/protocol, value: UDP}]`)
	f.Quiet(quiet)
	assert.Empty(t, f.touched())
	f.AwaitReady("app")

	f.PatchJSON("mallory", services, "web", `[{op: replace, path: /spec/ports/0/targetPort, value: 81}]`)
	f.AwaitValue(services, "web", int64(80), "spec", "ports", "0", "targetPort")
	f.AwaitReady("app")
	assert.Equal(t, []any{portOf(80, "UDP")}, f.ports("web"))
}
