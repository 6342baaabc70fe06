package controller_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// New subjects of a binding never get the old role.
func TestARefusedRoleKeepsTheSubjects(t *testing.T) {
	f := given(t)
	binding := func(role, group string) string {
		return `{manifest: [{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: team},
			roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: ` + role + `}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: ` + group + `}]}]}`
	}
	f.Submit("app", binding("admin", "platform-admins"))
	f.AwaitReady("app")
	f.Submit("app", binding("view", "all-developers"))
	_, message := f.AwaitReason("app", v1alpha1.ReasonRejected)
	assert.Contains(t, message, "roleRef")
	f.Quiet(quiet)
	live := f.Get(roleBindings, "team")
	assert.Equal(t, "admin", value(live, "roleRef", "name"))
	assert.Equal(t, "platform-admins", live["subjects"].([]any)[0].(map[string]any)["name"])
}

// A rule that another client rewrites is restored completely.
func TestRuleIsRestoredWhole(t *testing.T) {
	f := given(t)
	f.Submit("app", `{manifest: [{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: db},
		spec: {podSelector: {}, ingress: [{from: [{podSelector: {matchLabels: {app: web}}}], ports: [{port: 5432}]}]}}]}`)
	f.AwaitReady("app")
	before := f.Get(networkPolicies, "db")["spec"]
	f.Patch("mallory", networkPolicies, "db", `{spec: {ingress: [{from: [{ipBlock: {cidr: 0.0.0.0/0}}], ports: [{port: 9999}]}]}}`)
	f.Await(networkPolicies, "db", "with our rule alone", func(object map[string]any) bool {
		return assert.ObjectsAreEqual(before, object["spec"])
	})
	f.Quiet(quiet)
}

// If another client replaces our field with an alternative, our field is restored. Unrelated fields of
// the other client stay. A field and its alias are removed together.
func TestUnionFieldIsRestored(t *testing.T) {
	f := given(t)
	spec := func(account string) string {
		return "manifest:" + web("", account, `env: [{name: A, value: "1"}]`)
	}
	f.Submit("app", spec("serviceAccountName: default"))
	f.AwaitHeld("app")
	f.Patch("mallory", deployments, "web", `{spec: {minReadySeconds: 7, template: {spec: {containers: [
		{name: web, image: "web:1", workingDir: /theirs, env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]}]}}}}`)
	live := f.Await(deployments, "web", "with our value", func(object map[string]any) bool {
		return assert.ObjectsAreEqual([]any{map[string]any{"name": "A", "value": "1"}}, containerOf(t, object)["env"])
	})
	assert.Equal(t, "/theirs", containerOf(t, live)["workingDir"])
	assert.EqualValues(t, 7, value(live, "spec", "minReadySeconds"))
	f.AwaitHeld("app")

	f.Submit("app", spec(""))
	f.AwaitHeld("app")
	live = f.Await(deployments, "web", "without the account", func(object map[string]any) bool {
		return value(object, "spec", "template", "spec", "serviceAccountName") == nil
	})
	assert.Nil(t, value(live, "spec", "template", "spec", "serviceAccount"))
	f.Quiet(quiet)
}

func containerOf(t *testing.T, deployment map[string]any) map[string]any {
	t.Helper()
	containers, _, err := unstructured.NestedSlice(deployment, "spec", "template", "spec", "containers")
	require.NoError(t, err)
	return containers[0].(map[string]any)
}
