package plan_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// A leaf that the API server rejects is deferred for a while. The other leaves are corrected.
func TestARefusedLeafIsHeldBackAlone(t *testing.T) {
	w := newWorld(t, `manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: field}, data: {a: ours, b: ours}}]`)
	w.round()
	w.set("theirs", "data", "a")
	w.set("theirs", "data", "b")
	p := w.decide()
	require.Equal(t, []string{"data.a changed", "data.b changed"}, paths(p))
	units := p.Changes[0].Units()
	require.Len(t, units, 2)
	ops := p.Changes[0].PatchOf(units[1:], nil)
	assert.Equal(t, "/data/b", ops[len(ops)-1].Path)

	id := p.Changes[0].ID
	immutable := &plan.Problem{Reason: v1alpha1.ReasonRejected, Message: "b is immutable"}
	problem := p.RecordRejection(plan.Leaf{ID: id, Path: "data.b"}, immutable).Problem
	assert.True(t, problem.Partial)
	assert.Equal(t, 2*time.Minute, problem.RetryAfter)
	change, result := w.refused(p, "data.b", immutable)
	assert.Equal(t, []string{"data.a changed", "data.b changed held back"}, pathsOf(change))
	assert.Equal(t, []string{"data.b changed held back"}, paths(w.decide()))
	assert.Equal(t, "ours", get(w.only(), "data", "a"))
	assert.Equal(t, "theirs", get(w.only(), "data", "b"))
	status, reason, message := w.condition(v1alpha1.ConditionHeld)
	assert.Equal(t, []string{"False", v1alpha1.ReasonRejected, "b is immutable"}, []string{status, reason, message})
	assert.LessOrEqual(t, result.RetryAfter, 2*time.Minute)
	assert.Empty(t, w.app.Status.Contested)

	t.Run("later, when it is refused again", func(t *testing.T) {
		w.now = w.now.Add(2 * time.Minute)
		p := w.decide()
		assert.Equal(t, []string{"data.b changed"}, paths(p))
		_, result := w.refused(p, "data.b", immutable)
		assert.Equal(t, 4*time.Minute, result.RetryAfter)
	})
	t.Run("and forgotten when it is in place", func(t *testing.T) {
		w.set("ours", "data", "b")
		w.round()
		status, _, _ := w.condition(v1alpha1.ConditionHeld)
		assert.Equal(t, "True", status)
		assert.Empty(t, w.mem.Rejections)
	})
}

// A removal that the API server rejects is deferred. The other leaves are corrected.
func TestARefusedRemovalIsHeldBackAlone(t *testing.T) {
	w := newWorld(t, `manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: field}, immutable: true, data: {a: ours}}]`)
	w.round()
	w.edit(`manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: field}, data: {a: new}}]`)
	p := w.decide()
	require.Equal(t, []string{"data.a changed", "immutable removed"}, paths(p))

	problem := &plan.Problem{Reason: v1alpha1.ReasonRejected, Message: "immutable is set"}
	change, _ := w.refused(p, "immutable", problem)
	assert.Equal(t, []string{"data.a changed", "immutable removed held back"}, pathsOf(change))
	assert.Equal(t, "new", get(w.only(), "data", "a"))
	assert.Equal(t, true, get(w.only(), "immutable"))
	_, reason, _ := w.condition(v1alpha1.ConditionHeld)
	assert.Equal(t, v1alpha1.ReasonRejected, reason)

	t.Run("and made when it is tried again", func(t *testing.T) {
		w.now = w.now.Add(2 * time.Minute)
		w.round()
		assert.NotContains(t, w.only(), "immutable")
		w.quiet()
		assert.Empty(t, w.mem.Rejections)
	})
}

func TestAClaimedFieldIsNoSibling(t *testing.T) {
	const budget = `manifest: [{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web}, spec: {selector: {matchLabels: {app: web}}}}]`
	w := newWorld(t, budget)
	w.round()
	w.set("50%", "spec", "maxUnavailable")
	w.edit(replace(budget, "spec: {", "spec: {minAvailable: 1, "))
	change := w.decide().Changes[0]
	require.True(t, change.HasSiblings(change.Units()[0]))

	w.set(`{"default/sharer": {"uid": "app-2", "leaves": ["spec.maxUnavailable"]}}`, "metadata", "annotations", v1alpha1.AnnotationHolders)
	change = w.decide().Changes[0]
	require.Contains(t, pathsOf(change), "spec.minAvailable missing")
	for _, u := range change.Units() {
		assert.False(t, change.HasSiblings(u), u.Path)
	}
}

// A field of another client next to a new field of the manifest may be older than the adoption.
func TestAnAdoptedObjectKeepsSiblingsOfOthers(t *testing.T) {
	const budget = `manifest: [{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web}, spec: {selector: {matchLabels: {app: web}}}}]`
	siblings := func(spec string, live func(w *world)) (found []string) {
		w := newWorld(t, spec)
		live(w)
		w.round()
		w.set("50%", "spec", "maxUnavailable")
		w.set("AlwaysAllow", "spec", "unhealthyPodEvictionPolicy")
		w.set([]any{map[string]any{"manager": "theirs", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": map[string]any{
			"f:spec": map[string]any{"f:maxUnavailable": map[string]any{}},
		}}}, "metadata", "managedFields")
		w.edit(replace(spec, "spec: {", "spec: {minAvailable: 1, "))
		p := w.decide()
		for _, s := range p.Siblings(p.Changes[0], p.Changes[0].Units()[0]) {
			found = append(found, s.Path())
		}
		return found
	}
	assert.Equal(t, []string{"spec.maxUnavailable", "spec.unhealthyPodEvictionPolicy"}, siblings(budget, func(*world) {}))
	assert.Equal(t, []string{"spec.unhealthyPodEvictionPolicy"}, siblings("adoption: Always\n"+budget, func(w *world) {
		w.live[manifest.ID{Group: "policy", Kind: "PodDisruptionBudget", Namespace: "default", Name: "web"}] = map[string]any{
			"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": map[string]any{"name": "web", "namespace": "default", "uid": "u-9", "resourceVersion": "7"},
			"spec": map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": "web"}}},
		}
	}))
}
