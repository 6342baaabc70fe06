package controller_test

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/samples"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

const (
	part = `
ownership: Share
manifest:
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: web, annotations: {team: net}}
  spec: {template: {spec: {containers: [{name: web, args: [--ours], env: [{name: LEVEL, value: debug}, {name: MORE, value: "1"}]}]}}}`
	whole = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 1,
	  selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {
	  containers: [{name: side, image: "side:1"}, {name: web, image: "web:1", args: [--theirs], env: [{name: LEVEL, value: info}]}]}}}}`
)

// bare returns an object without the metadata that changes with every write.
func bare(object map[string]any) map[string]any {
	metadata := object["metadata"].(map[string]any)
	for _, field := range []string{"managedFields", "resourceVersion", "generation"} {
		delete(metadata, field)
	}
	return object
}

// To share an object, get, list, watch and patch are enough. Nothing is created or deleted, and in the
// end the original values are restored.
func TestSharing(t *testing.T) {
	f := given(t)
	f.mayPatch()
	f.Submit("app", part)
	_, message := f.AwaitReason("app", v1alpha1.ReasonWaiting)
	assert.Contains(t, message, "Deployment.apps "+f.namespace+"/web does not exist; it is shared, so it is not created")
	f.Quiet(quiet)

	before := bare(f.Create("helm", whole).Object)
	f.AwaitHeld("app")
	f.Quiet(quiet)
	assert.Equal(t, map[string]int{"patch deployments": 1}, counts(f.touched()), "%s", f.Requests())
	live := f.Get(deployments, "web")
	assert.Equal(t, "true", value(live, "metadata", "labels", v1alpha1.LabelHeld))
	assert.Equal(t, "debug", value(live, "spec", "template", "spec", "containers", "1", "env", "0", "value"))
	assert.Equal(t, "--theirs", value(live, "spec", "template", "spec", "containers", "1", "args", "0"))

	t.Run("one drift costs one patch", func(*testing.T) {
		f.Mark()
		f.PatchJSON("mallory", deployments, "web", `[{op: replace, path: /metadata/annotations/team, value: web}]`)
		f.AwaitValue(deployments, "web", "net", "metadata", "annotations", "team")
		f.Quiet(quiet)
		assert.Equal(t, map[string]int{"patch deployments": 1}, counts(f.touched()), "%s", f.Requests())
	})
	t.Run("lost marks are put back", func(*testing.T) {
		f.PatchJSON("mallory", deployments, "web", `[{op: remove, path: /metadata/labels}, {op: remove, path: /metadata/annotations}]`)
		f.AwaitValue(deployments, "web", "true", "metadata", "labels", v1alpha1.LabelHeld)
		f.AwaitValue(deployments, "web", "net", "metadata", "annotations", "team")
		f.Quiet(quiet)
	})
	t.Run("a recreated object is held again", func(*testing.T) {
		f.Delete(deployments, "web")
		f.AwaitGone(deployments, "web")
		before = bare(f.Create("helm", whole).Object)
		f.AwaitValue(deployments, "web", "net", "metadata", "annotations", "team")
		f.AwaitHeld("app")
		f.Quiet(quiet)
	})

	f.Mark()
	f.Delete(applications, "app")
	f.AwaitGone(applications, "app")
	f.Quiet(quiet)
	assert.Equal(t, map[string]int{"patch deployments": 1}, counts(f.touched()), "%s", f.Requests())
	after := bare(f.Get(deployments, "web"))
	delete(before, "status")
	delete(after, "status")
	assert.Equal(t, before, after, "hold, then release, is the identity")
	f.AwaitNote("app", "Released")
}

// Nothing is reported about an object that the ServiceAccount cannot read.
func TestSharingReadsAsTheServiceAccount(t *testing.T) {
	f := given(t)
	f.revoke()
	f.Create("helm", `{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}, data: {mode: secret-canary}}`)
	f.Submit("app", `
ownership: Share
manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}, data: {mode: ours}}]
observerSchema:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}, data: observed}`)
	app, message := f.AwaitReason("app", v1alpha1.ReasonForbidden)
	assert.NotContains(t, fmt.Sprint(app.Status), "canary")
	assert.Contains(t, message, "--verb=get,list,watch,patch")
	f.Quiet(time.Second)
	assert.Empty(t, counts(f.touched()))
}

// A field that another client changed while the Application was suspended is not restored. An event
// reports that.
func TestNotRestored(t *testing.T) {
	f := given(t)
	f.Create("helm", `{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}, data: {mode: theirs, other: theirs}}`)
	f.Submit("app", `
ownership: Share
manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}, data: {mode: ours, other: ours}}]`)
	f.AwaitHeld("app")
	f.Submit("app", `
ownership: Share
suspend: true
manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}, data: {mode: ours, other: ours}}]`)
	f.AwaitReason("app", v1alpha1.ReasonSuspended)
	f.Patch("mallory", configMaps, "theirs", `{data: {mode: mallorys}}`)
	f.Delete(applications, "app")
	f.AwaitGone(applications, "app")
	live := f.Get(configMaps, "theirs")
	require.Equal(t, map[string]any{"mode": "mallorys", "other": "theirs"}, live["data"])
	assert.Nil(t, whatever(live, "metadata", "labels"))
	assert.Nil(t, whatever(live, "metadata", "annotations"))

	f.AwaitNote("app", "NotRestored", "data.mode", "mallory")
}

// A field that a user releases in spec.fields is left or restored as its list specifies. It can be held
// again.
func TestReleasingByHand(t *testing.T) {
	f := given(t)
	f.Create("helm", `{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}, data: {kept: theirs, back: theirs}}`)
	f.Submit("app", `
ownership: Share
manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}, data: {kept: ours, back: ours, more: ours}}]`)
	f.AwaitHeld("app")
	f.Quiet(quiet)
	f.Mark()
	f.PatchJSON("user", applications, "app", `[{op: add, path: /spec/fields, value: [
		{resource: {kind: ConfigMap, name: theirs}, leave: [data.kept], restore: ["*"]}]}]`)
	f.AwaitValue(configMaps, "theirs", "theirs", "data", "back")
	f.AwaitHeld("app")
	f.Quiet(quiet)
	assert.Equal(t, map[string]int{"patch configmaps": 1}, counts(f.touched()), "%s", f.Requests())
	live := f.Get(configMaps, "theirs")
	assert.Equal(t, map[string]any{"kept": "ours", "back": "theirs"}, live["data"])
	assert.NotContains(t, live["metadata"], "labels")
	assert.NotContains(t, live["metadata"], "annotations")

	f.PatchJSON("user", applications, "app", `[{op: remove, path: /spec/fields}]`)
	f.AwaitValue(configMaps, "theirs", "ours", "data", "back")
	f.AwaitValue(configMaps, "theirs", "ours", "data", "more")
	f.Quiet(quiet)
	f.Delete(applications, "app")
	f.AwaitGone(applications, "app")
	assert.Equal(t, map[string]any{"kept": "ours", "back": "theirs"}, f.Get(configMaps, "theirs")["data"])
}

// All shared objects of one kind in a namespace need only one watch.
func TestSharingMany(t *testing.T) {
	f := given(t)
	spec := "ownership: Share\nmanifest:\n"
	for i := range 25 {
		f.Create("helm", fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs-%d}, data: {mode: theirs}}`, i))
		spec += fmt.Sprintf("- {apiVersion: v1, kind: ConfigMap, metadata: {name: theirs-%d}, data: {mode: ours}}\n", i)
	}
	f.Mark()
	f.Submit("app", spec)
	f.AwaitHeld("app")
	f.Quiet(quiet)
	assert.Equal(t, map[string]int{"patch configmaps": 25}, counts(f.touched()), "%s", f.Requests())
	f.Patch("mallory", configMaps, "theirs-7", `{data: {mode: mallorys}}`)
	f.AwaitValue(configMaps, "theirs-7", "ours", "data", "mode")
	f.Quiet(quiet)
}

// The Application that holds a field keeps it. When it releases the field, the other Application takes
// it over.
func TestSharingOfOneFieldByTwo(t *testing.T) {
	f := given(t)
	share := func(name, data string) {
		f.Submit(name, "ownership: Share\nmanifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}, data: "+data+"}]")
	}
	f.Create("helm", `{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}, data: {mode: theirs, other: theirs}}`)
	share("one", "{mode: one}")
	f.AwaitHeld("one")
	share("two", "{mode: two, other: two}")
	_, message := f.AwaitReason("two", v1alpha1.ReasonFieldClaimed)
	assert.Contains(t, message, "data.mode is held by Application "+f.namespace+"/one")
	f.AwaitValue(configMaps, "theirs", "two", "data", "other")
	f.Mark()
	f.Quiet(quiet)
	assert.Empty(t, counts(f.touched()))
	assert.Equal(t, "one", value(f.Get(configMaps, "theirs"), "data", "mode"))

	f.AwaitApplication("two", "a copy of the original value", func(app *v1alpha1.Application) bool {
		return slices.ContainsFunc(app.Status.Resources[0].Baseline, func(b v1alpha1.BaselineField) bool { return b.Holder != "" })
	})
	stream, err := f.in("user", configMaps).Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=theirs"})
	require.NoError(t, err)
	defer stream.Stop()
	f.Delete(applications, "one")
	for mode := "one"; mode != "two"; {
		mode = value((<-stream.ResultChan()).Object.(*unstructured.Unstructured).Object, "data", "mode").(string)
		assert.NotEqual(t, "theirs", mode, "the original value is not written in between")
	}
	row := f.AwaitHeld("two").Status.Resources[0]
	assert.Equal(t, value(f.Get(configMaps, "theirs"), "metadata", "uid"), string(row.UID))
	recorded := map[string]string{}
	for _, b := range row.Baseline {
		recorded[b.Path] = string(b.Value.Raw)
		assert.Equal(t, "helm", b.Manager, b.Path)
		assert.Empty(t, b.Holder, b.Path)
		assert.False(t, b.Time.IsZero(), b.Path)
	}
	assert.Equal(t, map[string]string{"data.mode": `"theirs"`, "data.other": `"theirs"`}, recorded)
	f.Delete(applications, "two")
	f.AwaitGone(applications, "two")
	f.Quiet(quiet)
	live := f.Get(configMaps, "theirs")
	assert.Equal(t, map[string]any{"mode": "theirs", "other": "theirs"}, live["data"])
	assert.Nil(t, whatever(live, "metadata", "labels"))
	assert.Nil(t, whatever(live, "metadata", "annotations"))
}

// Two Applications with a claim on one field exist before the object does. The older one gets the
// field, with at most one stray write per pair. The same holds when the object is created again.
func TestOfTwoThatWantAFieldTheOlderHolds(t *testing.T) {
	f := given(t)
	pairs := samples.Of(8, 20)
	for i := range pairs {
		names := []string{"a", "b"}
		if i%2 == 1 {
			names = []string{"b", "a"}
		}
		for _, name := range names {
			f.Submit(fmt.Sprintf("%s-%d", name, i), fmt.Sprintf(
				"ownership: Share\nmanifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs-%d}, data: {mode: %s}}]", i, name))
		}
	}
	for i := range pairs {
		f.AwaitReason(fmt.Sprintf("a-%d", i), v1alpha1.ReasonWaiting)
		f.AwaitReason(fmt.Sprintf("b-%d", i), v1alpha1.ReasonWaiting)
	}
	f.Quiet(quiet)
	for range 2 {
		f.Mark()
		for i := range pairs {
			f.Create("helm", fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs-%d}, data: {mode: theirs}}`, i))
		}
		for i := range pairs {
			f.theOlderHolds(i)
		}
		f.Quiet(quiet)
		f.noStrays()
		for i := range pairs {
			f.Delete(configMaps, fmt.Sprintf("theirs-%d", i))
			f.AwaitReason(fmt.Sprintf("a-%d", i), v1alpha1.ReasonWaiting)
			f.AwaitReason(fmt.Sprintf("b-%d", i), v1alpha1.ReasonWaiting)
		}
	}
}

// theOlderHolds waits until one Application of a pair holds the field, and checks that it is the older
// one.
func (f *fixture) theOlderHolds(i int) {
	f.t.Helper()
	f.awaitOneHolder(i)
	a, b := f.Application(fmt.Sprintf("a-%d", i)), f.Application(fmt.Sprintf("b-%d", i))
	older := "b"
	if cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(string(a.UID), string(b.UID))) < 0 {
		older = "a"
	}
	assert.Equal(f.t, older, value(f.Get(configMaps, fmt.Sprintf("theirs-%d", i)), "data", "mode"), "pair %d", i)
}

// noStrays checks the patches of each pair's ConfigMap. The holder patches it once, and the other
// Application once to record its pending claim. The guards reject other patches, and there is at most
// one of these.
func (f *fixture) noStrays() {
	f.t.Helper()
	done, strays := map[string]int{}, map[string]int{}
	for _, r := range f.Requests().Writes() {
		switch {
		case r.Resource != "configmaps" || r.Verb != "patch":
		case r.Code == http.StatusOK:
			done[r.Name]++
		default:
			strays[r.Name]++
		}
	}
	assert.NotEmpty(f.t, done)
	for name, n := range done {
		assert.Equal(f.t, 2, n, "patches of %s", name)
		assert.LessOrEqual(f.t, strays[name], 1, "stray patches of %s", name)
	}
}

// If two Applications claim the same field at the same moment, one gets it.
func TestSharingInPairs(t *testing.T) {
	f := given(t)
	pairs := samples.Of(8, 20)
	for i := range pairs {
		f.Create("helm", fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs-%d}, data: {mode: theirs}}`, i))
	}
	for i := range pairs {
		for k, name := range []string{"a", "b"} {
			if i%2 == 1 {
				name = []string{"b", "a"}[k]
			}
			f.Submit(fmt.Sprintf("%s-%d", name, i), fmt.Sprintf(
				"ownership: Share\nmanifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs-%d}, data: {mode: %s}}]", i, name))
		}
	}
	for i := range pairs {
		f.awaitOneHolder(i)
	}
	f.Mark()
	f.Quiet(quiet)
	assert.Empty(t, counts(f.touched()), "nobody fights")
}

// awaitOneHolder waits until one Application of a pair holds the field and the other reports that it
// does not.
func (f *fixture) awaitOneHolder(i int) {
	f.t.Helper()
	f.eventually(fmt.Sprintf("one holder of pair %d", i), func() bool {
		mode := value(f.Get(configMaps, fmt.Sprintf("theirs-%d", i)), "data", "mode")
		held, claimed := 0, 0
		for _, name := range []string{"a", "b"} {
			app := f.Application(fmt.Sprintf("%s-%d", name, i))
			switch c := apimeta.FindStatusCondition(app.Status.Conditions, v1alpha1.ConditionHeld); {
			case c == nil:
			case c.Status == metav1.ConditionTrue && mode == name:
				held++
			case c.Reason == v1alpha1.ReasonFieldClaimed && mode != name:
				claimed++
			}
		}
		return held == 1 && claimed == 1
	})
}

// With spec.onRelease Restore, an adopted object gets its original values back. This applies to single
// fields and to the deletion of the Application.
func TestReleasingWhatWasAdopted(t *testing.T) {
	f := given(t)
	before := settled(f.Create("helm", whole).Object)
	spec := func(more string) string {
		return `
adoption: IfUnowned
onRelease: Restore
manifest:
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: web` + more + `}
  spec: {template: {spec: {containers: [{name: web, image: "web:2", env: [{name: LEVEL, value: debug}, {name: MORE, value: "1"}]}]}}}`
	}
	f.Submit("app", spec(", annotations: {team: net}"))
	f.AwaitValue(deployments, "web", "web:2", "spec", "template", "spec", "containers", "1", "image")
	f.AwaitHeld("app")
	f.Quiet(quiet)
	assert.Equal(t, map[string]int{"patch deployments": 1}, f.patched(), "%s", f.Requests())
	app := f.Application("app")
	require.Len(t, app.Status.Resources, 1)
	row := app.Status.Resources[0]
	assert.Equal(t, v1alpha1.OriginAdopted, row.Origin)
	recorded := map[string]string{}
	for _, b := range row.Baseline {
		recorded[b.Path] = b.Manager
	}
	const web = "spec.template.spec.containers[name=web]"
	assert.Equal(t, map[string]string{
		"metadata.annotations.team": "", web + ".env[name=LEVEL].value": "helm", web + ".env[name=MORE].name": "", web + ".env[name=MORE].value": "", web + ".image": "helm",
	}, recorded)

	f.Submit("app", spec(""))
	f.eventually("the annotation is gone", func() bool {
		return value(f.Get(deployments, "web"), "metadata", "annotations", "team") == nil
	})
	f.AwaitHeld("app")
	f.Quiet(quiet)
	f.Delete(applications, "app")
	f.AwaitGone(applications, "app")
	assert.Equal(t, before, settled(f.Get(deployments, "web")))
}

// patched counts the patches of held objects.
func (f *fixture) patched() map[string]int {
	counted := counts(f.touched())
	for what := range counted {
		if !strings.HasPrefix(what, "patch ") {
			delete(counted, what)
		}
	}
	return counted
}
