package plan_test

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/internal/observertest"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/explain"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

const twoConfigs = `manifest:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {a: "1", b: "2"}}
- {apiVersion: v1, kind: Secret, metadata: {name: two}, stringData: {password: canary}}`

func TestPendingCreatesAreRecordedOnce(t *testing.T) {
	w := newWorld(t, twoConfigs)
	creating := func() (string, bool) { return w.decide().PendingCreates(false) }
	first, changed := creating()
	require.True(t, changed)
	again, changed := creating()
	assert.True(t, changed)
	assert.Equal(t, first, again, "it is the same each time")

	w.die(true)
	_, changed = creating()
	assert.False(t, changed, "it is written down")
	w.edit(strings.Replace(twoConfigs, `b: "2"`, `c: "3"`, 1))
	more, changed := creating()
	assert.True(t, changed)
	w.round()
	assert.Equal(t, more, w.app.Annotations[v1alpha1.AnnotationCreating])
	w.quiet()
	one := w.live[manifest.ID{Kind: "ConfigMap", Namespace: "default", Name: "one"}]
	assert.Equal(t, map[string]any{"a": "1", "c": "3"}, one["data"])

	w.edit(twoConfigs)
	_, changed = creating()
	assert.False(t, changed, "what is on record needs nothing")
	clear(w.live)
	_, changed = creating()
	assert.False(t, changed, "not even when it is created again")
}

func TestForeignObjectsAreNotRecorded(t *testing.T) {
	w := newWorld(t, `{adoption: Always, manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {a: "1", b: "2"}}]}`)
	id := manifest.ID{Kind: "ConfigMap", Namespace: "default", Name: "one"}
	w.live[id] = map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "one", "namespace": "default", "uid": "theirs", "resourceVersion": "1"},
		"data": map[string]any{"a": "1", "b": "2"},
	}
	// The annotation is from an earlier object with the same name.
	w.app.Annotations = map[string]string{v1alpha1.AnnotationCreating: valueOf(newWorld(t, twoConfigs))}
	w.die(true)
	assert.JSONEq(t, `{"objects": ["/ConfigMap/default/one", "/Secret/default/two"], "states": [
		{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "two"}, "data": {"password": "***"}}]}`, observertest.Unpacked(t, w.app.Annotations[v1alpha1.AnnotationCreating]))

	w.edit(`{adoption: Always, manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {a: "1"}}]}`)
	w.round()
	assert.Equal(t, map[string]any{"a": "1", "b": "2"}, w.live[id]["data"])
}

// A process died when it was about to create an object. The object may return to the manifest with
// fewer fields before it is deleted. The Application can still remove the other fields.
func TestPendingCreatesOfAProcessAreKept(t *testing.T) {
	before := valueOf(newWorld(t, twoConfigs))
	w := newWorld(t, `manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: three}}]`)
	w.app.Annotations = map[string]string{v1alpha1.AnnotationCreating: before}
	says := func(keep bool) string {
		value, changed := w.decide().PendingCreates(keep)
		assert.True(t, changed)
		return observertest.Unpacked(t, value)
	}
	kept := says(true)
	for _, name := range []string{"one", "two", "three"} {
		assert.Contains(t, kept, `"name":"`+name+`"`)
	}
	assert.NotContains(t, says(false), `"name":"one"`, "a process that knows better has it no more")
}

func valueOf(w *world) string {
	value, _ := w.decide().PendingCreates(false)
	return value
}

func TestTheAnnotationKeepsToItsRoom(t *testing.T) {
	var spec strings.Builder
	spec.WriteString("manifest:\n")
	random := rand.NewChaCha8([32]byte{})
	for i := range 8 {
		noise := make([]byte, 9*1024)
		_, _ = random.Read(noise)
		fmt.Fprintf(&spec, "- {apiVersion: v1, kind: ConfigMap, metadata: {name: c%d}, data: {gone: %s}}\n", i, base64.StdEncoding.EncodeToString(noise))
	}
	w := newWorld(t, spec.String())
	value, changed := w.decide().PendingCreates(false)
	require.True(t, changed)
	assert.Less(t, len(value), 32*1024)
	assert.Greater(t, len(value), 16*1024)

	// The annotations of other clients leave no room.
	w.app.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": strings.Repeat("x", 250*1024)}
	value, changed = w.decide().PendingCreates(false)
	assert.Empty(t, value)
	assert.False(t, changed)
	// Everything works without the annotation.
	w.die(true)
	w.round()
	w.quiet()
}

func TestForeignAnnotationIsIgnored(t *testing.T) {
	for _, text := range []string{"", "x", "eA==", "H4sIAAAAAAAA/w==", "[]", valueOf(newWorld(t, twoConfigs)) + "x"} {
		w := newWorld(t, twoConfigs)
		w.die(true)
		w.app.Annotations[v1alpha1.AnnotationCreating] = text
		assert.Empty(t, paths(w.decide()), text)
		assert.Empty(t, plan.DecideDeletion(plan.Input{Application: w.app, Kinds: intent.Offline()}).Changes)
	}
}

// TestValuesOfSecretsAreNotWrittenDown checks that the annotation contains only the keys of a Secret.
func TestValuesOfSecretsAreNotWrittenDown(t *testing.T) {
	w := newWorld(t, twoConfigs)
	w.die(true)
	w.edit(strings.Replace(twoConfigs, "password: canary", "user: canary", 1))
	p := w.decide()
	assert.Equal(t, []string{"data.user missing", "data.password removed"}, paths(p))
	for _, c := range p.Changes {
		for _, d := range c.Fields {
			assert.NotContains(t, fmt.Sprint(explain.MaskedField(c.ID, d).Desired.Any), "Y2FuYXJ5")
		}
	}
	assert.NotContains(t, observertest.Unpacked(t, w.app.Annotations[v1alpha1.AnnotationCreating]), "Y2FuYXJ5")
	assert.Contains(t, observertest.Unpacked(t, w.app.Annotations[v1alpha1.AnnotationCreating]), "***")
}

// TestRecentCreatesAreRemembered drops a resource that a process has created and not recorded. The
// resource returns to the manifest before it can be deleted.
func TestRecentCreatesAreRemembered(t *testing.T) {
	const one = `{apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {a: "1", b: "2"}}`
	const other = `{apiVersion: v1, kind: ConfigMap, metadata: {name: other}, data: {a: "1"}}`
	for name, meanwhile := range map[string]string{"something else is created": other, "nothing is": ""} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "manifest: ["+one+"]")
			w.die(true)
			w.edit("manifest: [" + meanwhile + "]")
			if meanwhile != "" {
				w.die(false)
			}
			w.refuse = map[plan.Action]plan.Outcome{plan.Delete: {Action: plan.Delete, Problem: &plan.Problem{Reason: v1alpha1.ReasonForbidden}}}
			w.round()
			w.refuse = nil
			w.edit(`manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {a: "1"}}]`)
			w.round()
			kept := w.live[manifest.ID{Kind: "ConfigMap", Namespace: "default", Name: "one"}]
			assert.Equal(t, map[string]any{"a": "1"}, kept["data"])
		})
	}
}

// TestPossibleCreatesAreKept creates an object that the watch has not delivered yet. The next create
// fails.
func TestPossibleCreatesAreKept(t *testing.T) {
	w := newWorld(t, `manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {a: "1", b: "2"}}]`)
	w.die(true)
	unseen := w.live
	w.live = map[manifest.ID]map[string]any{}
	w.edit(`manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {a: "1"}}]`)
	w.die(false)
	w.live = unseen
	w.round()
	assert.Equal(t, map[string]any{"a": "1"}, w.only()["data"])
}

// TestOnlyWhatIsNamedIsDeletedWithoutARecord checks that an unrecorded object is deleted only if the
// write-ahead record names it. A client that can patch the metadata of an object can forge tracking
// metadata.
func TestOnlyWhatIsNamedIsDeletedWithoutARecord(t *testing.T) {
	forged := func() (manifest.ID, map[string]any) {
		id := manifest.ID{Kind: "ConfigMap", Namespace: "kube-system", Name: "forged"}
		return id, map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{
			"name": "forged", "namespace": "kube-system", "uid": "theirs",
			"labels":      map[string]any{v1alpha1.LabelApplicationUID: "app-1"},
			"annotations": map[string]any{v1alpha1.AnnotationTrackingID: "default/shop:/ConfigMap:kube-system/forged"},
		}}
	}
	t.Run("forged tracking metadata is reported", func(t *testing.T) {
		w := newWorld(t, settings)
		w.round()
		id, object := forged()
		w.live[id] = object
		p, _ := w.round()
		require.Len(t, p.Warnings, 1)
		_, _, message := w.condition(v1alpha1.ConditionRendered)
		assert.Contains(t, message, "kube-system/forged has the tracking metadata")
		w.quiet()
		w.edit("manifest: []")
		w.round()
		assert.Contains(t, w.live, id)
	})
	t.Run("forged tracking metadata is reported on deletion", func(t *testing.T) {
		w := newWorld(t, settings)
		id, object := forged()
		w.live[id] = object
		p := w.retire()
		assert.Empty(t, p.Changes)
		assert.Contains(t, p.Summarize(nil, w.now).Event.Note, "kube-system/forged")
	})
	t.Run("an object with a schema of the user is recorded", func(t *testing.T) {
		w := newWorld(t, songs)
		w.die(true)
		w.edit("manifest: []")
		p, _ := w.round()
		assert.Equal(t, plan.Delete, p.Changes[0].Action)
	})
	t.Run("the record is kept while the create can still arrive", func(t *testing.T) {
		w := newWorld(t, songs)
		w.die(true)
		slow := w.live
		w.live = map[manifest.ID]map[string]any{}
		w.edit(settings)
		w.round()
		w.live[songID] = slow[songID]
		p, _ := w.round()
		assert.Equal(t, []plan.Action{plan.Unchanged, plan.Delete}, []plan.Action{p.Changes[0].Action, p.Changes[1].Action})
	})
	t.Run("an object that does not fit into the annotation is in the inventory", func(t *testing.T) {
		w := newWorld(t, songs)
		w.app.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": strings.Repeat("x", 250*1024)}
		w.die(true)
		require.Len(t, w.app.Status.Resources, 1)
		assert.Nil(t, w.decide().WriteAheadStatus(), "once is enough")
		w.edit("manifest: []")
		p, _ := w.round()
		assert.Equal(t, plan.Delete, p.Changes[0].Action)
	})
}
