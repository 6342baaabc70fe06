package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/explain"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
)

const sharedNode = `
ownership: Share
manifest:
- apiVersion: apps/v1
  kind: DaemonSet
  metadata: {name: aws-node, annotations: {team: net}}
  spec:
    template:
      spec:
        containers:
        - name: aws-node
          args: [--ours]
          env:
          - {name: WARM_IP, value: "2"}
          - {name: LEVEL, value: debug}
`

var node = manifest.ID{Group: "apps", Kind: "DaemonSet", Namespace: "default", Name: "aws-node"}

// theirs returns a DaemonSet that another client owns.
func theirs() map[string]any {
	return map[string]any{
		"apiVersion": "apps/v1", "kind": "DaemonSet",
		"metadata": map[string]any{"name": "aws-node", "namespace": "default", "uid": "u-9", "resourceVersion": "7"},
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{
			map[string]any{"name": "init", "image": "init:1"},
			map[string]any{
				"name": "aws-node", "image": "cni:1", "args": []any{"--theirs"},
				"env": []any{map[string]any{"name": "LEVEL", "value": "info"}, map[string]any{"name": "OTHER", "value": "2"}},
			},
		}}}},
	}
}

func sharedWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, sharedNode)
	w.live[node] = theirs()
	return w
}

func TestHoldThenReleaseIsTheIdentity(t *testing.T) {
	w := sharedWorld(t)
	before := observer.CopyMap(w.live[node])
	p, _ := w.round()
	require.Equal(t, "hold", p.Changes[0].Verb())
	w.quiet()
	env := get(w.only(), "spec", "template", "spec", "containers").([]any)[1].(map[string]any)
	assert.Equal(t, []any{"--theirs", "--ours"}, env["args"])
	assert.Len(t, env["env"], 3)
	assert.Equal(t, "true", get(w.only(), "metadata", "labels", v1alpha1.LabelHeld))

	w.edit("ownership: Share\nmanifest: []")
	p, result := w.round()
	require.Equal(t, "restore", p.Changes[0].Verb())
	assert.Equal(t, before, w.live[node])
	assert.Equal(t, "Released", result.Event.Reason)
	assert.Empty(t, w.app.Status.Resources)
	w.quiet()
}

func TestReleaseOfALeafRestoresThatLeaf(t *testing.T) {
	w := sharedWorld(t)
	w.round()
	w.edit(`
ownership: Share
manifest:
- apiVersion: apps/v1
  kind: DaemonSet
  metadata: {name: aws-node}
  spec: {template: {spec: {containers: [{name: aws-node, env: [{name: WARM_IP, value: "2"}]}]}}}
`)
	w.round()
	w.round()
	w.quiet()
	container := get(w.only(), "spec", "template", "spec", "containers").([]any)[1].(map[string]any)
	assert.Equal(t, []any{"--theirs"}, container["args"])
	assert.Equal(t, []any{
		map[string]any{"name": "WARM_IP", "value": "2"}, map[string]any{"name": "LEVEL", "value": "info"}, map[string]any{"name": "OTHER", "value": "2"},
	}, container["env"])
	w.edit("ownership: Share\nmanifest: []")
	w.round()
	assert.Equal(t, theirs(), w.live[node])
}

func TestASharedObjectIsNeverMadeOrEnded(t *testing.T) {
	w := newWorld(t, sharedNode)
	p, _ := w.round()
	assert.Equal(t, "wait", p.Changes[0].Verb())
	assert.Equal(t, plan.Unchanged, p.Changes[0].Action)
	_, reason, message := w.condition(v1alpha1.ConditionHeld)
	assert.Equal(t, v1alpha1.ReasonWaiting, reason)
	assert.Equal(t, "DaemonSet.apps default/aws-node does not exist; it is shared, so it is not created", message)
	w.quiet()

	w.live[node] = theirs()
	w.round()
	w.quiet()
	delete(w.live, node)
	w.round()
	w.quiet()
	again := theirs()
	set(again, "u-10", "metadata", "uid")
	w.live[node] = observer.CopyMap(again)
	p, _ = w.round()
	assert.Equal(t, "hold", p.Changes[0].Verb())
	w.quiet()
	w.edit("ownership: Share\nmanifest: []")
	w.round()
	assert.Equal(t, again, w.live[node], "the release restores the values of this object, not of its predecessor")
}

func TestForeignChangeIsKeptOnRelease(t *testing.T) {
	w := sharedWorld(t)
	w.round()
	set(w.only(), "theirs now", "metadata", "annotations", "team")
	w.edit("ownership: Share\nmanifest: []")
	_, result := w.round()
	assert.Equal(t, plan.NotRestored, result.Event.Reason)
	assert.Contains(t, result.Event.Note, "metadata.annotations.team of DaemonSet.apps default/aws-node: it was changed while it was held")
	assert.Equal(t, map[string]any{"team": "theirs now"}, get(w.only(), "metadata", "annotations"))
	delete(w.only()["metadata"].(map[string]any), "annotations")
	assert.Equal(t, theirs(), w.live[node])
}

// A field whose original value exceeds the size limit is held but not restored. The plan warns before
// the first write.
func TestABaselineThatHasNoRoom(t *testing.T) {
	id := manifest.ID{Kind: "ConfigMap", Namespace: "default", Name: "theirs"}
	large := map[string]any{"a": strings.Repeat("a", 40*1024), "b": strings.Repeat("b", 40*1024), "c": "small"}
	w := newWorld(t, "ownership: Share\nmanifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}, data: {a: ours, b: ours, c: ours}}]")
	w.live[id] = map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": observer.CopyMap(large),
		"metadata": map[string]any{"name": "theirs", "namespace": "default", "uid": "u-9", "resourceVersion": "7"},
	}
	warning := id.String() + ": the original value of data.b exceeds the limit of 64 KiB: it is held, but cannot be restored"
	for name, app := range map[string]*v1alpha1.Application{"submitted": w.app, "not submitted": {ObjectMeta: metav1.ObjectMeta{Name: w.app.Name, Namespace: w.app.Namespace}, Spec: w.app.Spec}} {
		p := plan.Decide(plan.Input{Application: app, Kinds: intent.Offline(), Live: map[manifest.ID]map[string]any{id: w.live[id]}})
		assert.Contains(t, p.Warnings, warning, name)
		view, err := explain.ViewOf(p).YAML()
		require.NoError(t, err)
		assert.Contains(t, string(view), "the original value of data.b exceeds the limit", name)
	}

	first := w.decide()
	w.protect(first)
	again := first.Replan(id, w.live[id])
	assert.True(t, again.Writes(), "what was left out is no reason to wait: %v", again.Problem)
	result := w.store(first.Summarize(map[manifest.ID]plan.Outcome{id: {Change: again, Problem: &plan.Problem{Reason: v1alpha1.ReasonRetrying}}}, w.now))
	assert.Len(t, result.Status.Resources[0].Baseline, 2, "nor is it on record then")

	for range 3 { // the warning remains while it applies
		w.round()
		_, _, message := w.condition(v1alpha1.ConditionRendered)
		assert.Equal(t, "1 resource; 1 warning: "+warning, message)
	}
	w.quiet()
	explained, _ := explain.Resource(w.decide(), id, false)
	for _, f := range explained.Fields {
		if f.Path == "data.b" {
			assert.Equal(t, "on release, the live value is kept: its original value was too large to record", f.OnRelease)
		}
	}
	assert.Equal(t, map[string]any{"a": "ours", "b": "ours", "c": "ours"}, w.only()["data"], "all is held")
	var recorded []string
	for _, b := range w.app.Status.Resources[0].Baseline {
		recorded = append(recorded, b.Path)
	}
	assert.Equal(t, []string{"data.a", "data.c"}, recorded)
	assert.Equal(t, []string{"data.b"}, w.app.Status.Resources[0].Unrecorded)

	// The baseline does not record a value that another client writes while the field is held, even if
	// it now fits.
	set(w.only(), "small", "data", "b")
	w.round()
	w.quiet()
	assert.Len(t, w.app.Status.Resources[0].Baseline, 2)

	w.edit("ownership: Share\nmanifest: []")
	_, result = w.round()
	assert.Equal(t, map[string]any{"a": large["a"], "b": "ours", "c": "small"}, w.live[id]["data"])
	assert.Equal(t, plan.NotRestored, result.Event.Reason)
	assert.Contains(t, result.Event.Note, "data.b of "+id.String()+": its original value was too large to record")
}

// A release restores absent fields, even if the API server has dropped their empty map. It restores a
// bounded field only if no other client has moved the value since.
func TestReleaseOfRules(t *testing.T) {
	for _, moved := range []bool{false, true} {
		t.Run(fmt.Sprintf("moved=%t", moved), func(t *testing.T) {
			w := sharedWorld(t)
			set(w.live[node], map[string]any{"disk": "ssd", "zone": "a"}, "spec", "template", "spec", "nodeSelector")
			set(w.live[node], int64(30), "spec", "minReadySeconds")
			want := observer.CopyMap(w.live[node])
			w.edit(`
ownership: Share
manifest: [{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: aws-node}}]
fields:
- resource: {kind: DaemonSet, name: aws-node}
  hold:
  - {path: spec.minReadySeconds, minimum: 45}
  - {path: spec.template.spec.nodeSelector.disk, mode: absent}
  - {path: spec.template.spec.nodeSelector.zone, mode: absent}
`)
			w.round()
			delete(get(w.only(), "spec", "template", "spec").(map[string]any), "nodeSelector")
			w.round()
			w.quiet()
			assert.EqualValues(t, 45, get(w.only(), "spec", "minReadySeconds"))
			if moved {
				set(w.only(), int64(60), "spec", "minReadySeconds")
				set(want, int64(60), "spec", "minReadySeconds")
			}
			w.edit("ownership: Share\nmanifest: []")
			w.round()
			assert.Equal(t, want, w.live[node])
		})
	}
}

// TestAConfirmedContainerIsRemovedOnRelease checks that a deferred container is recorded as new when
// spec.fields names it and it is added.
func TestAConfirmedContainerIsRemovedOnRelease(t *testing.T) {
	const spec = `
ownership: Share
manifest: [{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: aws-node}, spec: {template: {spec: {containers: [{name: aws-nod, image: "cni:2"}]}}}}]
`
	w := newWorld(t, spec)
	w.live[node] = theirs()
	before := len(podSpecOf(w.live[node])["containers"].([]any))
	for range 2 {
		p, _ := w.round()
		assert.Equal(t, v1alpha1.ReasonWaiting, p.Changes[0].Problem.Reason)
		assert.True(t, p.Changes[0].Problem.Stalled(), "only the user can help")
		assert.Len(t, podSpecOf(w.live[node])["containers"], before)
	}
	w.edit(spec + `fields: [{resource: {kind: DaemonSet, name: aws-node}, hold: ["*", "spec.template.spec.containers[name=aws-nod]"]}]`)
	w.round()
	require.Len(t, podSpecOf(w.live[node])["containers"], before+1)
	w.quiet()
	w.edit("ownership: Share\nmanifest: []")
	for range 3 {
		w.round()
	}
	assert.Len(t, podSpecOf(w.live[node])["containers"], before)
}
