package controller_test

import (
	"encoding/json"
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

// unprivileged returns a fixture whose applier has no rights.
func unprivileged(t *testing.T) *fixture {
	t.Helper()
	f := given(t)
	f.revoke()
	return f
}

// revoke removes all rights in the namespace, and returns when the API server enforces that.
func (f *fixture) revoke() {
	f.t.Helper()
	list, err := f.in("user", roleBindings).List(f.t.Context(), metav1.ListOptions{})
	require.NoError(f.t, err)
	for _, binding := range list.Items {
		f.Delete(roleBindings, binding.GetName())
	}
	f.eventually("the end of the rights", func() bool { return !f.allowed(applier, f.createConfigMaps()) })
}

func TestWithoutRightsNothingHappens(t *testing.T) {
	f := unprivileged(t)
	f.Submit("app", oneConfig)
	app, message := f.AwaitReason("app", v1alpha1.ReasonForbidden)
	assert.Contains(t, message, fmt.Sprintf(`User "system:serviceaccount:%[1]s:%[2]s" cannot create resource "configmaps" in API group "" in the namespace "%[1]s"`, f.namespace, applier))
	assert.Contains(t, message, f.command())
	assert.Equal(t, v1alpha1.ReasonForbidden, condition(app, v1alpha1.ConditionStalled).Reason)
	f.Quiet(quiet)
	assert.Empty(t, f.touched())

	f.Grant("cluster-admin", applier)

	f.AwaitReady("app")
	assert.Equal(t, "ours", value(f.Get(configMaps, "config"), "data", "key"))
}

// command returns the command that messages suggest to an administrator.
func (f *fixture) command() string {
	return fmt.Sprintf("kubectl create rolebinding %s -n %s --clusterrole=edit --serviceaccount=%s:%s", applier, f.namespace, f.namespace, applier)
}

func TestTheServiceAccountOfTheSpecActs(t *testing.T) {
	f := unprivileged(t)
	f.Create("user", `{apiVersion: v1, kind: ServiceAccount, metadata: {name: deployer}}`)
	f.Grant("cluster-admin", "deployer")
	f.Mark()
	f.Submit("app", "serviceAccountName: deployer"+oneConfig)
	f.AwaitReady("app")
	for _, r := range f.touched() {
		assert.Equal(t, "system:serviceaccount:"+f.namespace+":deployer", r.ImpersonatedUser, "%s", r)
	}
}

// The controller may read more than an author. If the ServiceAccount cannot read an object, messages
// contain only the name of that object.
func TestAnObjectThatMayNotBeReadIsNotDescribed(t *testing.T) {
	f := unprivileged(t)
	f.Create("user", `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: creator}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [create, patch]}]`)
	f.Create("user", fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: creator}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: creator}
subjects: [{kind: ServiceAccount, name: %s, namespace: $NS}]`, applier))
	f.awaitAccess(applier, f.createConfigMaps())
	f.Create("canary-manager", `{apiVersion: v1, kind: ConfigMap, metadata: {name: config, labels: {app.kubernetes.io/managed-by: canary-label}}, data: {key: canary-value}}`)
	f.Submit("app", "adoption: Always"+oneConfig)
	app, message := f.AwaitReason("app", v1alpha1.ReasonForbidden)
	assert.Contains(t, message, `cannot get resource "configmaps"`)
	told, err := json.Marshal(app)
	require.NoError(t, err)
	assert.NotContains(t, string(told), "canary")
	assert.Equal(t, "canary-value", value(f.Get(configMaps, "config"), "data", "key"))
}

// If the spec names no ServiceAccount, the one from --default-service-account acts.
func TestAnotherServiceAccountMayBeTheDefault(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	f.revoke()
	f.Create("user", `{apiVersion: v1, kind: ServiceAccount, metadata: {name: deployer}}`)
	f.Run(controller.Options{DefaultServiceAccount: "deployer"})
	f.Submit("app", oneConfig)
	_, message := f.AwaitReason("app", v1alpha1.ReasonForbidden)
	assert.Contains(t, message, "--serviceaccount="+f.namespace+":deployer")
	f.Grant("cluster-admin", "deployer")
	f.AwaitReady("app")
	for _, r := range f.Requests().Writes() {
		if r.Resource == "configmaps" {
			assert.Equal(t, "system:serviceaccount:"+f.namespace+":deployer", r.ImpersonatedUser, "%s", r)
		}
	}
}

func TestRightsThatGoBeforeTheDeletion(t *testing.T) {
	f := given(t)
	f.Submit("app", oneConfig)
	f.AwaitReady("app")
	f.revoke()
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

// TestEveryWriteUsesServiceAccount checks which user makes each write in the life of an Application.
func TestEveryWriteUsesServiceAccount(t *testing.T) {
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

// After the rights of the ServiceAccount have ended, the status and the events report nothing new about an object.
func TestOnlyReadableValuesAreReported(t *testing.T) {
	const own = "manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {key: ours}}]"
	for name, spec := range map[string]string{
		"created":   own,
		"observed":  "mode: Observe\n" + own,
		"shared":    "ownership: Share\n" + own,
		"adopted":   "adoption: Always\n" + own,
		"suspended": "suspend: true\nownership: Share\n" + own,
		"reported":  "ownership: Share\n" + own + "\n" + `fields: [{resource: {kind: ConfigMap, name: config}, hold: [{path: data.key, mode: report}]}]`,
		"selected":  "select: [{apiVersion: v1, kind: ConfigMap, names: [config], hold: {data: {key: ours}}}]",
	} {
		t.Run(name, func(t *testing.T) {
			f := given(t)
			if name != "created" {
				f.Create("other", `{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {key: ours}}`)
			}
			f.Submit("app", spec)
			f.eventually("the first status", func() bool { return len(f.Application("app").Status.Resources) == 1 })
			f.Patch("other", configMaps, "config", `{data: {key: before}}`)
			f.eventually("the value in the status", func() bool { return f.reports("before") })
			f.revoke()
			f.Quiet(quiet) // the last review of the right counts for a second
			f.Mark()

			f.Patch("other", configMaps, "config", `{data: {key: canary}}`)

			f.eventually("the missing right in the status", func() bool { return f.reports("system:serviceaccount:" + f.namespace + ":" + applier + "\\\" cannot ") })
			f.Quiet(quiet)
			assert.False(t, f.reports("canary"))

			f.Grant("cluster-admin", applier)
			f.Patch("user", applications, "app", `{metadata: {annotations: {holdfast.dev/reconcile: again}}}`)
			f.eventually("the value in the status", func() bool { return f.reports("canary") })
		})
	}
}

// reports reports whether the Application app or an event contains a text.
func (f *fixture) reports(text string) bool {
	f.t.Helper()
	status, err := json.Marshal(f.Application("app").Status)
	require.NoError(f.t, err)
	events, err := f.in("user", events).List(f.t.Context(), metav1.ListOptions{})
	require.NoError(f.t, err)
	more, err := events.MarshalJSON()
	require.NoError(f.t, err)
	return strings.Contains(string(status)+string(more), text)
}
