package controller_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/deploy/crd"
	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/controller"
)

// newer returns a definition of a newer version: the spec and the status have one more field, and deletionPolicy has
// one more value.
func newer(definition []byte) string {
	const news = "              news: {type: string}\n"
	return strings.NewReplacer(
		"              suspend:\n", news+"              suspend:\n",
		"              rules:\n", news+"              rules:\n",
		"              summary:\n", news+"              summary:\n",
		"                enum:\n                - Delete\n                - Orphan\n", "                enum: [Delete, Orphan, Archive]\n",
	).Replace(string(definition))
}

// upgradeDefinitions installs the definitions of a newer version, and waits until the API server uses them.
func (f *fixture) upgradeDefinitions() {
	f.t.Helper()
	f.SubmitAs("probe", "{suspend: true, manifest: []}", nil)
	f.Create("admin", "{apiVersion: holdfast.dev/v1alpha1, kind: HoldProfile, metadata: {name: probe}, spec: {rules: [{kinds: [{kind: None}], free: [data]}]}}")
	for resource, definition := range map[schema.GroupVersionResource][]byte{applications: crd.Applications, holdProfiles: crd.Profiles} {
		f.Patch("admin", definitions, resource.GroupResource().String(), newer(definition))
		f.eventually("the new definition of "+resource.Resource, func() bool {
			return value(f.Patch("admin", resource, "probe", "{spec: {news: x}}"), "spec", "news") != nil
		})
		f.Delete(resource, "probe")
		f.AwaitGone(resource, "probe")
	}
}

func isWrite(r testcluster.Request) bool { return len(testcluster.Requests{r}.Writes()) > 0 }

const twoConfigMaps = `{manifest: [
  {apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: b}},
  {apiVersion: v1, kind: ConfigMap, metadata: {name: more}, data: {a: b}}]}`

// If an Application has a field that only a newer version knows, the controller writes only its conditions. The
// rest of the status remains as the newer version wrote it. When the field is removed, the controller continues.
func TestUnknownFieldStopsAllWrites(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	f.upgradeDefinitions()
	running := f.Run(controller.Options{})
	f.Submit("app", twoConfigMaps)
	before := f.AwaitReady("app")
	_, err := f.in("newer", applications).Patch(t.Context(), "app", types.MergePatchType, []byte(`{"status":{"news":"x"}}`), metav1.PatchOptions{}, "status")
	require.NoError(t, err)
	f.Quiet(quiet)
	f.Mark()
	f.Patch("newer", applications, "app", `{spec: {news: x, manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: c}}]}}`)
	_, message := f.AwaitReason("app", v1alpha1.ReasonSpecNotSupported)
	assert.Equal(t, "this version of Holdfast does not know spec.news, so it creates, corrects and deletes nothing. "+
		"Upgrade Holdfast, or remove what it does not know", message)
	f.Patch("mallory", configMaps, "settings", `{data: {a: mallorys}}`)
	f.AssertAsked(map[string]int{"patch applications/status": 1}, noEvent, isWrite)
	app := f.Application("app")
	assert.Equal(t, metav1.ConditionTrue, condition(app, v1alpha1.ConditionStalled).Status)
	assert.Equal(t, before.Status.Resources, app.Status.Resources)
	assert.Equal(t, before.Status.LastAppliedManifest, app.Status.LastAppliedManifest)
	assert.Equal(t, "x", value(f.Get(applications, "app"), "status", "news"))

	running.Stop()
	f.Mark()
	f.Run(controller.Options{})
	f.AssertAsked(map[string]int{}, noEvent, isWrite)

	f.Patch("user", applications, "app", `{spec: {news: null}}`)
	f.AwaitReady("app")
	f.AwaitValue(configMaps, "settings", "c", "data", "a")
	f.AwaitGone(configMaps, "more")
}

// An Application with an unknown deletion policy keeps its finalizer and its objects until the policy is changed.
func TestUnknownDeletionPolicyDeletesNothing(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	f.upgradeDefinitions()
	f.Run(controller.Options{})
	f.Submit("app", twoConfigMaps)
	f.AwaitReady("app")
	f.Patch("newer", applications, "app", `{spec: {deletionPolicy: Archive}}`)
	_, message := f.AwaitReason("app", v1alpha1.ReasonSpecNotSupported)
	assert.Contains(t, message, "does not know spec.deletionPolicy: Archive")
	f.Quiet(quiet)

	f.Mark()
	f.Delete(applications, "app")
	app := f.AwaitApplication("app", "being deleted", func(app *v1alpha1.Application) bool { return app.DeletionTimestamp != nil })
	f.AssertAsked(map[string]int{}, noEvent, isWrite, func(r testcluster.Request) bool { return r.Subresource != "status" })
	assert.Equal(t, []string{v1alpha1.Finalizer}, app.Finalizers)
	app, _ = f.AwaitReason("app", v1alpha1.ReasonSpecNotSupported)
	assert.Equal(t, metav1.ConditionTrue, condition(app, v1alpha1.ConditionStalled).Status)
	assert.NotNil(t, f.Get(configMaps, "settings"))

	f.Patch("user", applications, "app", `{spec: {deletionPolicy: Orphan}}`)
	f.AwaitGone(applications, "app")
	assert.NotNil(t, f.Get(configMaps, "settings"))
	assert.NotNil(t, f.Get(configMaps, "more"))
}

// Older definitions drop the field, so that no controller can know of it: the Application is held without it.
func TestOlderDefinitionsDropUnknownFields(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	f.upgradeDefinitions()
	running := f.Run(controller.Options{})
	f.Submit("app", twoConfigMaps)
	f.AwaitReady("app")
	f.Patch("newer", applications, "app", `{spec: {news: x}}`)
	f.AwaitReason("app", v1alpha1.ReasonSpecNotSupported)
	f.Quiet(quiet)
	running.Stop()

	f.replaceDefinition(string(crd.Applications))
	f.eventually("the older definition", func() bool { return value(f.Get(applications, "app"), "spec", "news") == nil })
	f.Run(controller.Options{})
	f.AwaitReady("app")
}

// replaceDefinition replaces a definition, also what a patch would keep.
func (f *fixture) replaceDefinition(text string) {
	f.t.Helper()
	definition, client := f.object(text), f.As("admin").Resource(definitions)
	stored, err := client.Get(f.t.Context(), definition.GetName(), metav1.GetOptions{})
	require.NoError(f.t, err)
	definition.SetResourceVersion(stored.GetResourceVersion())
	_, err = client.Update(f.t.Context(), definition, metav1.UpdateOptions{})
	require.NoError(f.t, err)
}

// Freed fields keep their live values while the profile has a field that only a newer version knows.
func TestUnknownProfileStopsAllWrites(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	f.upgradeDefinitions()
	f.Run(controller.Options{})
	profile := f.Profile("    kinds: [{kind: ConfigMap}]\n    free: [data.a]\n")
	f.Submit("app", twoConfigMaps)
	f.AwaitProfiles("app", profile)
	f.Patch("autoscaler", configMaps, "settings", `{data: {a: freed}}`)
	f.Quiet(quiet)

	f.Mark()
	f.Patch("newer", holdProfiles, profile, `{spec: {news: x}}`)
	assert.Equal(t, "HoldProfile "+profile+": this version of Holdfast does not know spec.news, so it creates, corrects and deletes nothing. "+
		"Upgrade Holdfast, or remove what it does not know", f.AwaitProfile(profile, v1alpha1.ProfileNotSupported))
	app, _ := f.AwaitReason("app", v1alpha1.ReasonSpecNotSupported)
	assert.Equal(t, []string{profile}, app.Status.Resources[0].Profiles)
	f.AssertAsked(map[string]int{"patch applications/status": 1, "patch holdprofiles/status": 1}, noEvent, isWrite)
	assert.Equal(t, "freed", value(f.Get(configMaps, "settings"), "data", "a"))

	f.Patch("user", holdProfiles, profile, `{spec: {news: null}}`)
	f.AwaitReady("app")
	f.AwaitProfile(profile, v1alpha1.ProfileInEffect)
	assert.Equal(t, "freed", value(f.Get(configMaps, "settings"), "data", "a"))
}
