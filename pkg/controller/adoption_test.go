package controller_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// mayPatch lets the applier read and patch Deployments, but not create them.
func (f *fixture) mayPatch() {
	f.t.Helper()
	f.revoke()
	f.Create("user", `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: patcher}
rules: [{apiGroups: [apps], resources: [deployments], verbs: [get, list, watch, patch]}]`)
	f.Create("user", fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: patcher}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: patcher}
subjects: [{kind: ServiceAccount, name: %s, namespace: $NS}]`, applier))
	f.awaitAccess(applier, fmt.Sprintf(`{namespace: %s, verb: patch, group: apps, resource: deployments}`, f.namespace))
}

// A manifest can contain a part of an object, which is not enough to create that object.
func TestAPartOfAnObjectIsAdopted(t *testing.T) {
	t.Parallel()
	const part = `
manifest:
- {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 3, template: {spec: {containers: [{name: web, image: "web:2"}]}}}}`
	whole := func(annotations string) string {
		return `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, annotations: {` + annotations + `}}, spec: {replicas: 1,
		  selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {
		  containers: [{name: side, image: "side:1"}, {name: web, image: "web:1", args: [--quick]}]}}}}`
	}
	for name, rights := range map[string]func(*fixture){"whose create is refused": func(*fixture) {}, "without the right to create": (*fixture).mayPatch} {
		t.Run(name, func(t *testing.T) {
			f := given(t)
			rights(f)
			before := f.Create("somebody", whole(""))

			f.Submit("app", "adoption: IfUnowned"+part)
			f.AwaitHeld("app")

			f.Quiet(time.Second)
			assert.Equal(t, map[string]int{"patch deployments": 1}, counts(f.touched()), "%s", f.Requests())
			live := f.Get(deployments, "web")
			assert.Equal(t, string(before.GetUID()), value(live, "metadata", "uid"))
			assert.Equal(t, int64(3), value(live, "spec", "replicas"))
			pod, _, err := unstructured.NestedMap(live, "spec", "template", "spec")
			require.NoError(t, err)
			assert.Equal(t, []string{"side", "web"}, namesOf(pod["containers"]), "to adopt is to cut nothing")
			assert.Equal(t, "web:2", value(pod, "containers", "1", "image"))
			assert.Equal(t, "--quick", value(pod, "containers", "1", "args", "0"))

			// Then: an element that another client adds is kept, and the key of a held element is corrected.
			f.PatchJSON("mallory", deployments, "web", `[
			  {op: replace, path: /spec/template/spec/containers/1/name, value: renamed},
			  {op: add, path: /spec/template/spec/containers/-, value: {name: third, image: "third:1"}}]`)
			f.Await(deployments, "web", "with its name again", func(object map[string]any) bool {
				return value(object, "spec", "template", "spec", "containers", "1", "name") == "web"
			})
			f.AwaitHeld("app")
			pod, _, err = unstructured.NestedMap(f.Get(deployments, "web"), "spec", "template", "spec")
			require.NoError(t, err)
			assert.Equal(t, []string{"side", "web", "third"}, namesOf(pod["containers"]), "to hold is to cut nothing")
		})
		t.Run("an object that another owner manages, "+name, func(t *testing.T) {
			f := given(t)
			rights(f)
			before := f.Create("helm", whole("meta.helm.sh/release-name: chart"))

			f.Submit("app", "adoption: IfUnowned"+part)

			_, message := f.AwaitReason("app", v1alpha1.ReasonResourceConflict)
			assert.Contains(t, message, "Helm release chart")
			f.Quiet(quiet)
			assert.Equal(t, before.Object, f.Get(deployments, "web"))
			f.Submit("app", "adoption: Never"+part)
			f.AwaitReason("app", v1alpha1.ReasonResourceConflict)
		})
	}
}
