package controller_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/controller"
)

const observed = `
mode: Observe
adoption: IfUnowned
manifest:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}, data: {key: ours}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: absent}, data: {key: ours}}`

// mayGet leaves the ServiceAccount only the right to get ConfigMaps.
func (f *fixture) mayGet() {
	f.t.Helper()
	f.revoke()
	f.Create("user", `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: reader}, rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]}`)
	f.Create("user", fmt.Sprintf(`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: reader},
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}, subjects: [{kind: ServiceAccount, name: %s, namespace: $NS}]}`, applier))
	f.awaitAccess(applier, fmt.Sprintf(`{namespace: %s, verb: get, resource: configmaps}`, f.namespace))
}

// awaitObserved waits for a status that reports this live value for a field of the first ConfigMap.
func (f *fixture) awaitObserved(value string) *v1alpha1.Application {
	f.t.Helper()
	return f.AwaitApplication("app", "data.key is "+value, func(app *v1alpha1.Application) bool {
		for _, w := range app.Status.Reported {
			if w.Resource.Name == "theirs" && w.Path == "data.key" && w.Live != nil && string(w.Live.Raw) == `"`+value+`"` {
				return true
			}
		}
		return false
	})
}

// A ServiceAccount that can only get objects can observe them. The controller writes only to the
// Application itself, whichever client changes the objects. At rest, observing costs no requests.
// Setting spec.mode to Hold starts corrections.
func TestObserving(t *testing.T) {
	f := given(t)
	f.mayGet()
	before := f.Create("helm", `{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}, data: {key: theirs}}`).Object
	f.Mark()
	f.Submit("app", observed)
	app := f.awaitObserved("theirs")
	assert.Empty(t, app.Finalizers)
	assert.NotContains(t, app.Annotations, v1alpha1.AnnotationKinds)
	assert.NotContains(t, app.Annotations, v1alpha1.AnnotationCreating)
	ready := apimeta.FindStatusCondition(app.Status.Conditions, v1alpha1.ConditionReady)
	assert.Equal(t, v1alpha1.ReasonObserving, ready.Reason)
	assert.Contains(t, ready.Message, "which would create 1, adopt 1 (1 field)")
	f.AwaitNote("app", "Observed", `data.key is "theirs"`, `"ours" is desired`)
	f.Quiet(quiet)

	f.Patch("mallory", configMaps, "theirs", `{data: {key: mallorys}}`)
	f.awaitObserved("mallorys")
	f.Patch("mallory", configMaps, "theirs", `{data: {key: ours}}`)
	f.AwaitApplication("app", "the missing object as the only drift", func(app *v1alpha1.Application) bool {
		return len(app.Status.Reported) == 1 && app.Status.Reported[0].Resource.Name == "absent" && app.Status.Reported[0].Path == ""
	})
	f.Patch("mallory", configMaps, "theirs", `{data: {key: mallorys}}`)
	f.awaitObserved("mallorys")
	f.Create("mallory", `{apiVersion: v1, kind: ConfigMap, metadata: {name: absent}, data: {key: ours}}`)
	f.AwaitApplication("app", "both are there", func(app *v1alpha1.Application) bool { return len(app.Status.Reported) == 1 })
	f.Delete(configMaps, "absent")
	app = f.AwaitApplication("app", "one has gone", func(app *v1alpha1.Application) bool { return len(app.Status.Reported) == 2 })
	assert.NotEmpty(t, app.Status.History)
	f.Quiet(quiet)
	assert.Empty(t, counts(f.touched()), "%s", f.Requests())
	after := f.Get(configMaps, "theirs")
	assert.Equal(t, whatever(before, "metadata", "labels"), whatever(after, "metadata", "labels"))
	assert.Equal(t, whatever(before, "metadata", "annotations"), whatever(after, "metadata", "annotations"))

	t.Run("an Application without held objects is deleted at once", func(t *testing.T) {
		f := f.Elsewhere(t)
		f.Create("helm", `{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}, data: {key: theirs}}`)
		f.Submit("app", observed)
		f.awaitObserved("theirs")
		f.Mark()
		f.Delete(applications, "app")
		f.AwaitGone(applications, "app")
		f.Quiet(time.Second)
		assert.Empty(t, counts(f.touched()))
		assert.Equal(t, "theirs", value(f.Get(configMaps, "theirs"), "data", "key"))
	})
}

// With mode Hold, the Application holds its objects. Back in observe-only mode, it corrects nothing,
// and its tracking metadata and finalizer stay. When it is deleted, its deletion policies apply.
func TestObservingWhatWasHeld(t *testing.T) {
	f := given(t)
	f.Create("helm", `{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}, data: {key: theirs}}`)
	f.Submit("app", observed)
	f.awaitObserved("theirs")
	f.PatchJSON("user", applications, "app", `[{op: add, path: /spec/mode, value: Hold}]`)
	app := f.AwaitReady("app")
	assert.Empty(t, app.Status.Reported)
	assert.Equal(t, "ours", value(f.Get(configMaps, "theirs"), "data", "key"))
	f.Quiet(time.Second)

	f.PatchJSON("user", applications, "app", `[{op: replace, path: /spec/mode, value: Observe}]`)
	f.AwaitReason("app", v1alpha1.ReasonObserving)
	f.Mark()
	f.Patch("mallory", configMaps, "theirs", `{data: {key: mallorys}}`)
	app = f.awaitObserved("mallorys")
	assert.Contains(t, app.Finalizers, v1alpha1.Finalizer)
	entry := f.AwaitHistory("app", "the drift", func(e v1alpha1.HistoryEntry) bool { return e.Outcome == v1alpha1.OutcomeObserved && e.Manager != "" })
	assert.Equal(t, "mallory", entry.Manager)
	f.Patch("mallory", configMaps, "theirs", `{metadata: {labels: null}}`)
	f.Delete(configMaps, "absent")
	f.AwaitApplication("app", "one has gone", func(app *v1alpha1.Application) bool { return len(app.Status.Reported) == 2 })
	f.Quiet(quiet)
	assert.Empty(t, counts(f.touched()), "%s", f.Requests())

	f.PatchJSON("user", applications, "app", `[{op: replace, path: /spec/manifest, value: []}]`)
	f.AwaitApplication("app", "it would be released", func(app *v1alpha1.Application) bool {
		return len(app.Status.Resources) == 1 && app.Status.Resources[0].Reason == v1alpha1.ReasonDeleting
	})
	f.Quiet(time.Second)
	assert.Empty(t, counts(f.touched()), "%s", f.Requests())
	f.Delete(applications, "app")
	f.AwaitGone(applications, "app")
	left := f.Get(configMaps, "theirs")
	require.NotNil(t, left, "it was adopted")
	assert.Nil(t, value(left, "metadata", "annotations", v1alpha1.AnnotationTrackingID))
}

// Nothing is reported about an object that the ServiceAccount cannot read.
func TestObservingReadsAsTheServiceAccount(t *testing.T) {
	f := given(t)
	f.revoke()
	f.Create("helm", `{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}, data: {key: secret-canary}}`)
	f.Mark()
	f.Submit("app", observed)
	app := f.AwaitApplication("app", "what is forbidden", func(app *v1alpha1.Application) bool {
		return len(app.Status.Resources) == 2 && app.Status.Resources[0].Reason == v1alpha1.ReasonForbidden
	})
	assert.NotContains(t, fmt.Sprint(app.Status), "canary")
	assert.Contains(t, app.Status.Resources[0].Remedy.Command, "--verb=get ")
	assert.Empty(t, app.Status.Reported)
	assert.Empty(t, counts(f.touched()))
	gets := 0
	for _, r := range f.Requests() {
		if r.Verb == "get" && r.Resource == configMaps.Resource && r.Name == "theirs" {
			gets++
			assert.Equal(t, http.StatusForbidden, r.Code)
		}
	}
	assert.Positive(t, gets)
}

// After a restart, the controller does not report unchanged drift again.
func TestObservingAfterARestart(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	f.Create("helm", `{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}, data: {key: theirs}}`)
	first := f.Run(controller.Options{})
	f.Submit("app", observed)
	before := f.awaitObserved("theirs")
	f.Quiet(quiet)
	first.Stop()
	f.Mark()
	f.Run(controller.Options{})
	f.Quiet(quiet)
	assert.Empty(t, withoutEvents(f.Requests()).Writes(), "%s", f.Requests())
	assert.Equal(t, before.Status, f.Application("app").Status)
	f.Patch("mallory", configMaps, "theirs", `{data: {key: mallorys}}`)
	f.awaitObserved("mallorys")
}
