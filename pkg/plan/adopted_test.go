package plan_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

func (w *world) retire() *plan.Plan {
	return plan.DecideDeletion(plan.Input{Application: w.app, Live: w.live, Kinds: w.kinds, Memory: w.mem, Now: w.now})
}

func TestAdoptedObjectsAreLeft(t *testing.T) {
	adopted := func(t *testing.T, spec string) *world {
		t.Helper()
		w := newWorld(t, "adoption: IfUnowned\n"+spec+settings)
		w.live[settingsID] = foreignSettings()
		_, result := w.round()
		assert.Equal(t, "Adopted", result.Event.Reason)
		require.Equal(t, v1alpha1.OriginAdopted, w.app.Status.Resources[0].Origin)
		require.Equal(t, "true", get(w.only(), "metadata", "annotations", v1alpha1.AnnotationAdopted))
		w.quiet()
		return w
	}
	t.Run("when it leaves the manifest", func(t *testing.T) {
		w := adopted(t, "")
		w.edit("manifest: []")
		w.round()
		metadata := w.only()["metadata"].(map[string]any)
		assert.Empty(t, metadata["labels"])
		assert.Empty(t, metadata["annotations"])
	})
	t.Run("when the Application is deleted", func(t *testing.T) {
		assert.Equal(t, plan.Update, adopted(t, "").retire().Changes[0].Action)
	})
	t.Run("with adoptedDeletionPolicy Delete", func(t *testing.T) {
		assert.Equal(t, plan.Delete, adopted(t, "adoptedDeletionPolicy: Delete\n").retire().Changes[0].Action)
	})
	t.Run("unless the Application orphans all objects", func(t *testing.T) {
		w := adopted(t, "adoptedDeletionPolicy: Delete\ndeletionPolicy: Orphan\n")
		assert.Equal(t, plan.Update, w.retire().Changes[0].Action)
	})
	t.Run("after the annotation and the inventory are lost", func(t *testing.T) {
		w := adopted(t, "")
		delete(w.only()["metadata"].(map[string]any)["annotations"].(map[string]any), v1alpha1.AnnotationAdopted)
		p, _ := w.round()
		assert.Equal(t, []string{"metadata.annotations['holdfast.dev/adopted'] missing"}, paths(p), "it is held")
		w.app.Status.Resources = nil
		w.round()
		assert.Equal(t, v1alpha1.OriginAdopted, w.app.Status.Resources[0].Origin)
	})
	t.Run("an object that is created again is owned", func(t *testing.T) {
		w := adopted(t, "")
		w.live = map[manifest.ID]map[string]any{}
		w.round()
		assert.Equal(t, v1alpha1.OriginCreated, w.app.Status.Resources[0].Origin)
		assert.NotContains(t, get(w.only(), "metadata", "annotations"), v1alpha1.AnnotationAdopted)
		assert.Equal(t, plan.Delete, w.retire().Changes[0].Action)
	})
}

func TestAnObjectThatIsTakenBackIsNotAdopted(t *testing.T) {
	w := newWorld(t, settings)
	w.round()
	w.app.Status, w.app.UID = v1alpha1.ApplicationStatus{ObservedGeneration: -1}, "restored"
	w.app.CreationTimestamp = metav1.NewTime(w.now)
	set(w.only(), w.now.Add(-time.Hour).Format(time.RFC3339), "metadata", "creationTimestamp")
	w.round()
	assert.Equal(t, "restored", get(w.only(), "metadata", "labels", v1alpha1.LabelApplicationUID))
	assert.Equal(t, v1alpha1.OriginCreated, w.app.Status.Resources[0].Origin)
	w.quiet()
	assert.Equal(t, plan.Delete, w.retire().Changes[0].Action)
}

// kubectl delete --cascade=orphan orphans all objects, regardless of the policies.
func TestDeletionMayOrphanObjects(t *testing.T) {
	for name, say := range map[string]func(app *v1alpha1.Application){
		"with the finalizer for the garbage collector": func(app *v1alpha1.Application) {
			app.Finalizers = []string{metav1.FinalizerOrphanDependents, v1alpha1.Finalizer}
		},
		"with the annotation": func(app *v1alpha1.Application) {
			app.Annotations = map[string]string{v1alpha1.AnnotationOrphan: "true"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, annotations: {holdfast.dev/deletion-policy: Delete}}}]")
			w.round()
			require.Equal(t, plan.Delete, w.retire().Changes[0].Action)
			deleted := metav1.NewTime(w.now)
			w.app.DeletionTimestamp = &deleted
			say(w.app)
			assert.Equal(t, plan.Update, w.retire().Changes[0].Action)
			assert.True(t, plan.Orphans(w.app))
			assert.Equal(t, len(w.app.Finalizers) > 0, plan.RequestsOrphan(w.app))
		})
	}
}
