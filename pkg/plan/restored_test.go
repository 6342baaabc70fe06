package plan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/record"
)

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

	restored := record.Translation(w.app)
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

// A masked value is only taken from the same item of spec.select, because the order of the items can change.
func TestARestoredSelectionIsNotConfused(t *testing.T) {
	w := newWorld(t, `tosca: {url: "https://example.com/t.yaml"}`)
	item := func(name, value string) map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": "Secret", "names": []any{name}, "hold": map[string]any{"data": map[string]any{"key": value}}}
	}
	object := map[string]any{
		"apiVersion": "holdfast.dev/v1alpha1", "kind": "Application", "metadata": map[string]any{"name": "inner"},
		"spec": map[string]any{"select": []any{item("a", "MQ=="), item("b", "Mg==")}},
	}
	in := plan.Input{Application: w.app, Live: w.live, Kinds: intent.Offline(), Now: w.now, Source: &intent.Source{Objects: []map[string]any{object}, Digest: "digest"}}
	p := plan.Decide(in)
	w.store(p.Summarize(map[manifest.ID]plan.Outcome{p.Changes[0].ID: w.execute(p.Changes[0])}, w.now))
	in.Source = record.Translation(w.app)
	require.NotNil(t, in.Source)
	require.Nil(t, plan.Decide(in).Changes[0].Problem)

	w.set([]any{item("b", "Mg=="), item("a", "MQ==")}, "spec", "select")
	change := plan.Decide(in).Changes[0]
	assert.False(t, change.Writes(), change.Patch)
	require.NotNil(t, change.Problem)
	assert.Equal(t, v1alpha1.ReasonFetchFailed, change.Problem.Reason)
}
