package controller_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

const oneConfig = `
manifest:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {key: ours}}
`

// touched returns the successful writes to objects in the test's namespace, except Applications.
func (f *fixture) touched() testcluster.Requests {
	return f.Requests().Writes().Where(func(r testcluster.Request) bool {
		return r.Resource != applications.Resource && r.Resource != events.Resource && r.Code < 300
	})
}

func TestAnObjectThatExistsIsAdoptedOrNot(t *testing.T) {
	t.Parallel()
	const foreign = `{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {key: theirs, another: theirs}}`
	const owned = `{apiVersion: v1, kind: ConfigMap, metadata: {name: config, annotations: {meta.helm.sh/release-name: chart}}, data: {key: theirs, another: theirs}}`
	for _, row := range []struct {
		name, exists, adoption string
		refused                string // part of the message
	}{
		{"an unowned object is refused with adoption Never", foreign, "Never", "set spec.adoption to IfUnowned; to share it"},
		{"an object of a Helm release is refused with adoption Never", owned, "Never", "Helm release chart"},
		{"an unowned object is adopted with adoption IfUnowned", foreign, "IfUnowned", ""},
		{"an object of a Helm release is refused with adoption IfUnowned", owned, "IfUnowned", "Helm release chart"},
		{"an object of a Helm release is adopted with adoption Always", owned, "Always", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := given(t)
			before := f.Create("somebody", row.exists)
			f.Submit("app", "adoption: "+row.adoption+oneConfig)

			if row.refused != "" {
				app, message := f.AwaitReason("app", v1alpha1.ReasonResourceConflict)
				assert.Contains(t, message, row.refused)
				assert.Empty(t, app.Status.Resources[0].UID, "it is not in the inventory")
				f.Quiet(quiet)
				assert.Empty(t, f.touched())
				assert.Equal(t, before.Object, f.Get(configMaps, "config"))

				// Then: the object outlives the Application.
				f.Delete(applications, "app")
				f.AwaitGone(applications, "app")
				assert.Equal(t, before.Object, f.Get(configMaps, "config"))
				return
			}
			f.AwaitReady("app")
			f.Quiet(time.Second)
			after := f.Get(configMaps, "config")
			assert.Equal(t, "ours", value(after, "data", "key"))
			assert.Equal(t, "theirs", value(after, "data", "another"), "is free")
			assert.Equal(t, string(before.GetUID()), value(after, "metadata", "uid"), "it is the same object")
			assert.Equal(t, map[string]int{"patch configmaps": 1}, counts(f.touched()), "%s", f.Requests())

			f.Delete(applications, "app")
			f.AwaitGone(applications, "app")
			after = f.Get(configMaps, "config")
			assert.Equal(t, string(before.GetUID()), value(after, "metadata", "uid"), "what was adopted is left")
			assert.Nil(t, value(after, "metadata", "labels", v1alpha1.LabelApplicationUID))
			assert.Nil(t, value(after, "metadata", "annotations", v1alpha1.AnnotationAdopted))
		})
	}
}

func TestConflictEndsWithDeletion(t *testing.T) {
	f := given(t)
	f.Create("somebody", `{apiVersion: v1, kind: ConfigMap, metadata: {name: config}}`)
	f.Submit("app", oneConfig+`
- {apiVersion: v1, kind: ConfigMap, metadata: {name: second}, data: {key: ours}}`)
	f.AwaitReason("app", v1alpha1.ReasonResourceConflict)
	assert.NotNil(t, f.Get(configMaps, "second"), "a resource in the way does not stop the others")
	f.Delete(configMaps, "config")

	f.Submit("app", oneConfig)
	f.AwaitReady("app")
	assert.Equal(t, "ours", value(f.Get(configMaps, "config"), "data", "key"))
	f.AwaitGone(configMaps, "second")
}

func TestRecreatedObjectIsNeverDeleted(t *testing.T) {
	f := given(t)
	f.Submit("app", oneConfig)
	f.AwaitReady("app")
	// Given an Application that cannot create its object again at once,
	f.Submit("app", "suspend: true"+oneConfig)
	f.AwaitReason("app", v1alpha1.ReasonSuspended)
	// when another client creates an object with the same name,
	f.Delete(configMaps, "config")
	f.AwaitGone(configMaps, "config")
	foreign := f.Create("somebody", `{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {key: theirs}}`)
	f.Submit("app", oneConfig)
	f.AwaitReason("app", v1alpha1.ReasonResourceConflict)
	f.Mark()
	f.Delete(applications, "app")
	f.AwaitGone(applications, "app")

	assert.Equal(t, foreign.Object, f.Get(configMaps, "config"))
	assert.Empty(t, f.touched())
}

func TestRecreatedObjectLeavesManifest(t *testing.T) {
	f := given(t)
	f.Submit("app", oneConfig+`
- {apiVersion: v1, kind: ConfigMap, metadata: {name: second}, data: {key: ours}}`)
	f.AwaitReady("app")
	f.Submit("app", "suspend: true"+oneConfig)
	f.AwaitReason("app", v1alpha1.ReasonSuspended)
	f.Delete(configMaps, "second")
	foreign := f.Create("somebody", `{apiVersion: v1, kind: ConfigMap, metadata: {name: second}, data: {key: theirs}}`)

	f.Submit("app", oneConfig)

	app := f.AwaitReady("app")
	f.Quiet(time.Second)
	assert.Equal(t, foreign.Object, f.Get(configMaps, "second"))
	assert.Len(t, app.Status.Resources, 1)
}

func TestACopyOfOurObjectIsNeverTouched(t *testing.T) {
	f := given(t)
	f.Submit("app", oneConfig)
	app := f.AwaitReady("app")
	// Given a copy with tracking metadata, which another client created,
	copied := clone(t, f.Get(configMaps, "config"))
	labels, _, err := unstructured.NestedStringMap(copied, "metadata", "labels")
	require.NoError(t, err)
	require.Equal(t, string(app.UID), labels[v1alpha1.LabelApplicationUID])
	copied["metadata"] = map[string]any{
		"name": "copy", "labels": copied["metadata"].(map[string]any)["labels"], "annotations": copied["metadata"].(map[string]any)["annotations"],
	}
	created := f.createObject("somebody", copied)
	f.Quiet(time.Second)

	// when the copy and the Application change, and the Application is deleted,
	f.Patch("somebody", configMaps, "copy", `{data: {key: theirs}}`)
	f.Submit("app", oneConfig+`
- {apiVersion: v1, kind: ConfigMap, metadata: {name: second}, data: {key: ours}}`)
	f.AwaitReady("app")
	f.Delete(applications, "app")
	f.AwaitGone(applications, "app")

	// then the copy is unchanged.
	after := f.Get(configMaps, "copy")
	require.NotNil(t, after)
	assert.Equal(t, string(created.GetUID()), value(after, "metadata", "uid"))
	assert.Equal(t, "theirs", value(after, "data", "key"))
	for _, r := range f.touched() {
		assert.NotEqual(t, "copy", r.Name, "%s", r)
	}
	assert.Nil(t, f.Get(configMaps, "config"))
}

func TestRemovedTrackingMetadataIsRestored(t *testing.T) {
	t.Parallel()
	for name, patch := range map[string]string{
		"the label":      `{metadata: {labels: {holdfast.dev/application-uid: null}}}`,
		"the annotation": `{metadata: {annotations: {holdfast.dev/tracking-id: null}}}`,
		"all labels":     `{metadata: {labels: null}}`,
		"both":           `{metadata: {labels: null, annotations: null}}`,
	} {
		t.Run(name, func(t *testing.T) {
			f := given(t)
			f.Submit("app", oneConfig)
			f.AwaitReady("app")
			f.Quiet(time.Second)
			before := f.Get(configMaps, "config")
			f.Mark()
			f.Patch("mallory", configMaps, "config", patch)

			restored := f.Await(configMaps, "config", "marked again", func(object map[string]any) bool {
				u := &unstructured.Unstructured{Object: object}
				return u.GetLabels()[v1alpha1.LabelApplicationUID] != "" && u.GetAnnotations()[v1alpha1.AnnotationTrackingID] != ""
			})
			assert.Equal(t, value(before, "metadata", "uid"), value(restored, "metadata", "uid"))
			f.Quiet(quiet)
			f.AwaitReady("app")
			assert.Equal(t, map[string]int{"patch configmaps": 1}, counts(f.touched()), "%s", f.Requests())

			// Then: it is held as before.
			f.Patch("mallory", configMaps, "config", `{data: {key: theirs}}`)
			f.AwaitValue(configMaps, "config", "ours", "data", "key")
		})
	}
}

func TestAnObjectWithoutItsLabelIsDeleted(t *testing.T) {
	f := given(t)
	f.Submit("app", oneConfig)
	f.AwaitReady("app")
	// Given an Application that cannot restore the label,
	f.Submit("app", "suspend: true"+oneConfig)
	f.AwaitReason("app", v1alpha1.ReasonSuspended)
	f.Patch("mallory", configMaps, "config", `{metadata: {labels: null}}`)

	f.Delete(applications, "app")

	f.AwaitGone(applications, "app")
	assert.Nil(t, f.Get(configMaps, "config"))
}

func TestAnObjectWithoutItsLabelThatLeaves(t *testing.T) {
	f := given(t)
	const second = `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: second}, data: {key: ours}}`
	f.Submit("app", oneConfig+second)
	f.AwaitReady("app")
	f.Submit("app", "suspend: true"+oneConfig+second)
	f.AwaitReason("app", v1alpha1.ReasonSuspended)
	f.Patch("mallory", configMaps, "second", `{metadata: {labels: null}}`)

	f.Submit("app", oneConfig)

	f.AwaitReady("app")
	f.AwaitGone(configMaps, "second")
}

func TestObjectAdoptedByOtherApplicationIsReleased(t *testing.T) {
	f := given(t)
	f.Submit("first", oneConfig)
	f.AwaitReady("first")
	f.Submit("second", "adoption: Always"+`
manifest:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {key: second}}`)
	f.AwaitReady("second")

	_, message := f.AwaitReason("first", v1alpha1.ReasonResourceConflict)
	assert.Contains(t, message, f.namespace+"/second")
	f.Quiet(quiet)
	assert.Equal(t, "second", value(f.Get(configMaps, "config"), "data", "key"))

	// Then: the first Application is deleted without the object.
	f.Delete(applications, "first")
	f.AwaitGone(applications, "first")
	f.Quiet(time.Second)
	assert.Equal(t, "second", value(f.Get(configMaps, "config"), "data", "key"))
	f.AwaitReady("second")
}

func TestAForeignFinalizerKeepsItsResource(t *testing.T) {
	f := given(t)
	const second = `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: second}, data: {key: ours}}`
	f.Submit("app", oneConfig+second)
	f.AwaitReady("app")
	f.Patch("somebody", configMaps, "second", `{metadata: {finalizers: [somebody.example.com/wait]}}`)
	f.Quiet(time.Second)

	// When the object leaves the manifest,
	f.Mark()
	f.Submit("app", oneConfig)
	app := f.AwaitApplication("app", "waiting for a finalizer", func(app *v1alpha1.Application) bool {
		return len(app.Status.Resources) == 2 && app.Status.Resources[1].Reason == v1alpha1.ReasonDeleting
	})
	// then it is still in the inventory, and the message names the finalizer,
	assert.Contains(t, app.Status.Resources[1].Message, "somebody.example.com/wait")
	f.Quiet(quiet)
	assert.Equal(t, map[string]int{"delete configmaps": 1}, counts(f.touched()), "%s", f.Requests())

	// until it is deleted.
	f.Patch("somebody", configMaps, "second", `{metadata: {finalizers: null}}`)
	app = f.AwaitReady("app")
	assert.Len(t, app.Status.Resources, 1)

	// The same applies when the Application is deleted.
	f.Patch("somebody", configMaps, "config", `{metadata: {finalizers: [somebody.example.com/wait]}}`)
	f.Quiet(time.Second)
	f.Mark()
	f.Delete(applications, "app")
	_, message := f.AwaitReason("app", v1alpha1.ReasonWaiting)
	assert.Contains(t, message, "somebody.example.com/wait")
	f.Quiet(quiet)
	assert.Equal(t, map[string]int{"delete configmaps": 1}, counts(f.touched()), "%s", f.Requests())
	f.Patch("somebody", configMaps, "config", `{metadata: {finalizers: null}}`)
	f.AwaitGone(applications, "app")
}

func TestDeletionPolicyOrphanTakesOnlyOurMarksOff(t *testing.T) {
	f := given(t)
	f.Submit("app", "deletionPolicy: Orphan"+`
manifest:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: config, labels: {own: label}, annotations: {own: annotation}}, data: {key: ours}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: second}, data: {key: ours}}`)
	f.AwaitReady("app")
	f.Quiet(time.Second)
	before := f.Get(configMaps, "config")
	f.Mark()

	f.Delete(applications, "app")

	f.AwaitGone(applications, "app")
	f.Quiet(time.Second)
	after := &unstructured.Unstructured{Object: f.Get(configMaps, "config")}
	assert.Equal(t, value(before, "metadata", "uid"), string(after.GetUID()))
	assert.Equal(t, map[string]string{"own": "label"}, after.GetLabels())
	assert.Equal(t, map[string]string{"own": "annotation"}, after.GetAnnotations())
	assert.Equal(t, "ours", value(after.Object, "data", "key"))
	assert.NotNil(t, f.Get(configMaps, "second"))
	assert.Equal(t, map[string]int{"patch configmaps": 2}, counts(f.touched()), "%s", f.Requests())
}

// A manifest can specify that its own object is not deleted.
func TestTheDeletionPolicyOfOneObject(t *testing.T) {
	t.Parallel()
	const kept = `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: kept, annotations: {holdfast.dev/deletion-policy: Orphan}}, data: {key: ours}}`
	const gone = `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: gone, annotations: {holdfast.dev/deletion-policy: Delete}}, data: {key: ours}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: last}, data: {key: ours}}`
	released := func(t *testing.T, f *fixture, uid any) {
		t.Helper()
		after := &unstructured.Unstructured{Object: f.Get(configMaps, "kept")}
		require.NotNil(t, after.Object)
		assert.Equal(t, uid, string(after.GetUID()))
		assert.Empty(t, after.GetLabels())
		assert.Equal(t, map[string]string{v1alpha1.AnnotationDeletionPolicy: "Orphan"}, after.GetAnnotations())
	}
	t.Run("when it leaves the manifest", func(t *testing.T) {
		f := given(t)
		f.Submit("app", "manifest:"+kept+gone)
		f.AwaitReady("app")
		uid := value(f.Get(configMaps, "kept"), "metadata", "uid")
		f.empty("app")
		f.AwaitGone(configMaps, "last")
		f.AwaitGone(configMaps, "gone")
		app := f.AwaitApplication("app", "empty", func(app *v1alpha1.Application) bool { return len(app.Status.Resources) == 0 })
		assert.Empty(t, app.Status.LastAppliedManifest)
		f.Quiet(quiet)
		released(t, f, uid)
	})
	t.Run("when the Application is deleted", func(t *testing.T) {
		f := given(t)
		f.Submit("app", "manifest:"+kept+gone)
		f.AwaitReady("app")
		uid := value(f.Get(configMaps, "kept"), "metadata", "uid")
		f.Delete(applications, "app")
		f.AwaitGone(applications, "app")
		assert.Nil(t, f.Get(configMaps, "last"))
		released(t, f, uid)

		// Then: the next Application with that name adopts it, if its policy allows that.
		f.Submit("app", "adoption: IfUnowned\nmanifest:"+kept)
		f.AwaitReady("app")
		assert.Equal(t, uid, value(f.Get(configMaps, "kept"), "metadata", "uid"))
	})
	t.Run("that deletes although the Application orphans", func(t *testing.T) {
		f := given(t)
		f.Submit("app", "deletionPolicy: Orphan\nmanifest:"+gone)
		f.AwaitReady("app")
		f.Delete(applications, "app")
		f.AwaitGone(applications, "app")
		assert.Nil(t, f.Get(configMaps, "gone"))
		assert.NotNil(t, f.Get(configMaps, "last"))
	})
}

func TestRecreatedApplicationOwnsNothing(t *testing.T) {
	f := given(t)
	f.Submit("app", "deletionPolicy: Orphan"+oneConfig)
	f.AwaitReady("app")
	f.Delete(applications, "app")
	f.AwaitGone(applications, "app")

	f.Submit("app", oneConfig)

	f.AwaitReason("app", v1alpha1.ReasonResourceConflict)
}
