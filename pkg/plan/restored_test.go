package plan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
)

func records(texts ...string) (all []runtime.RawExtension) {
	for _, text := range texts {
		all = append(all, runtime.RawExtension{Raw: []byte(text)})
	}
	return all
}

func TestOnlyAStatusThatHasAllOfItIsRestored(t *testing.T) {
	whole := func() *v1alpha1.Application {
		app := &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Name: "app", Namespace: "default", Generation: 3}}
		app.Status.SourceDigest = "digest"
		app.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionHeld, Status: metav1.ConditionTrue, ObservedGeneration: 3}}
		app.Status.Resources = []v1alpha1.ResourceStatus{{ResourceReference: v1alpha1.ResourceReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: "page"}}}
		app.Status.LastAppliedManifest = records(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "page"}}`)
		return app
	}
	require.NotNil(t, plan.Restored(whole()))
	assert.Len(t, plan.Restored(whole()).Objects, 1)
	for name, change := range map[string]func(*v1alpha1.Application){
		"it was not held":               func(app *v1alpha1.Application) { app.Status.Conditions[0].Status = metav1.ConditionFalse },
		"nothing is known of it":        func(app *v1alpha1.Application) { app.Status.Conditions = nil },
		"it was another spec":           func(app *v1alpha1.Application) { app.Generation++ },
		"it was no translation":         func(app *v1alpha1.Application) { app.Status.SourceDigest = "" },
		"an object has no record":       func(app *v1alpha1.Application) { app.Status.LastAppliedManifest = nil },
		"a record cannot be read":       func(app *v1alpha1.Application) { app.Status.LastAppliedManifest = records(`{`) },
		"a record is of another object": func(app *v1alpha1.Application) { app.Status.Resources[0].Name = "other" },
	} {
		app := whole()
		change(app)
		assert.Nil(t, plan.Restored(app), name)
	}
}

// Learned values stay held. A learned element may still be removed, but a learned value may not change.
func TestARestoredTranslationHoldsWhatWasHeld(t *testing.T) {
	w := newWorld(t, `
tosca: {url: "https://example.com/t.yaml"}
observerSchema:
- apiVersion: example.com/v1
  kind: Song
  metadata: {name: top50}
  spec:
    title: observed
    key: observed
    tags: [{name: observed}, {name: observed}, {observer_schema_list_min_length: 0, observer_schema_list_max_length: 0, observer_schema_list_map_keys: [name]}]`)
	object := map[string]any{
		"apiVersion": "example.com/v1", "kind": "Song", "metadata": map[string]any{"name": "top50"},
		"spec": map[string]any{"title": "bonnie", "tags": []any{map[string]any{"name": "pop"}}},
	}
	w.respond = func(live map[string]any) {
		set(live, "C", "spec", "key")
		set(live, []any{map[string]any{"name": "pop"}, map[string]any{"name": "new"}}, "spec", "tags")
	}
	round := func(source *intent.Source) *plan.Plan {
		t.Helper()
		p := plan.Decide(plan.Input{Application: w.app, Live: w.live, Kinds: intent.Offline(), Memory: w.mem, Now: w.now, Source: source})
		outcomes := map[manifest.ID]plan.Outcome{}
		for _, c := range p.Changes {
			if c.Writes() {
				outcomes[c.ID] = w.execute(c)
			}
		}
		w.store(p.Summarize(outcomes, w.now))
		return p
	}
	translation := &intent.Source{Objects: []map[string]any{object}, Digest: "digest"}
	round(translation)
	w.respond = nil
	require.Empty(t, paths(round(translation)))
	before := w.app.Status.DeepCopy()

	restored := plan.Restored(w.app)
	require.NotNil(t, restored)
	restored.Problem = &plan.Problem{Reason: v1alpha1.ReasonFetchFailed, Message: "gone"}
	require.Empty(t, paths(round(restored)))
	assert.Equal(t, before.LastAppliedManifest, w.app.Status.LastAppliedManifest)
	assert.Equal(t, before.MangledObserverSchema, w.app.Status.MangledObserverSchema)
	assert.Equal(t, before.ManifestDigest, w.app.Status.ManifestDigest)
	assert.Equal(t, "digest", w.app.Status.SourceDigest)

	w.set([]any{map[string]any{"name": "pop"}}, "spec", "tags")
	assert.Empty(t, paths(round(restored)), "a learned element may go")
	w.set("D", "spec", "key")
	assert.Equal(t, []string{"spec.key changed"}, paths(round(restored)))
	assert.Equal(t, "C", get(w.only(), "spec", "key"))

	// An object is not deleted if a later translation had started to create it before its process died.
	second := observer.CopyMap(object)
	set(second, "second", "metadata", "name")
	w.app.Spec.ObserverSchema = nil
	in := plan.Input{Application: w.app, Live: w.live, Kinds: intent.Offline(), Memory: w.mem, Now: w.now}
	in.Source = &intent.Source{Objects: []map[string]any{object, second}, Digest: "later"}
	later := plan.Decide(in)
	creating, _ := later.PendingCreates(true)
	w.app.Annotations = map[string]string{v1alpha1.AnnotationCreating: creating}
	require.Equal(t, plan.Create, later.Changes[1].Action)
	w.execute(later.Changes[1])
	round(restored)
	assert.Len(t, w.live, 2)
	round(translation)
	assert.Len(t, w.live, 1, "unless the source names the object")
}
