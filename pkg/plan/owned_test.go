package plan_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/explain"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
)

const adoptedNode = `
adoption: IfUnowned
onRelease: Restore
manifest:
- apiVersion: apps/v1
  kind: DaemonSet
  metadata: {name: aws-node, annotations: {team: net}}
  spec:
    template:
      spec:
        containers:
        - {name: init, image: "init:1"}
        - name: aws-node
          image: "cni:2"
          args: [--ours]
          env:
          - {name: WARM_IP, value: "5"}
          - {name: LEVEL, value: debug}
`

// without returns an object without empty labels and annotations, as an API server stores it.
func without(object map[string]any) map[string]any {
	object = observer.CopyMap(object)
	metadata := object["metadata"].(map[string]any)
	for _, field := range []string{"labels", "annotations"} {
		if m, _ := metadata[field].(map[string]any); len(m) == 0 {
			delete(metadata, field)
		}
	}
	return object
}

func TestReleaseRestoresAdoptedFields(t *testing.T) {
	nothing := "adoption: IfUnowned\nonRelease: Restore\nmanifest: []"
	for name, letGo := range map[string]func(w *world){
		"it leaves the manifests": func(w *world) { w.edit(nothing); w.round() },
		"the Application is deleted": func(w *world) {
			for _, change := range w.retire().Changes {
				w.execute(change)
			}
		},
		"it dies before the release": func(w *world) { w.edit(nothing); w.die(false); w.round() },
		"it dies during the release": func(w *world) { w.edit(nothing); w.die(true); w.round() },
	} {
		for held, hold := range map[string]func(w *world){
			"held":                    func(w *world) { w.round(); w.quiet() },
			"died before it was held": func(w *world) { w.die(false); w.round(); w.quiet() },
			"died when it was held":   func(w *world) { w.die(true); w.round(); w.quiet() },
			"a lost response": func(w *world) {
				w.refuse = map[plan.Action]plan.Outcome{plan.Update: {Action: plan.Update, Problem: &plan.Problem{Reason: v1alpha1.ReasonRetrying}}}
				p, _ := w.round()
				w.execute(p.Changes[0])
				w.refuse = nil
				w.round()
				w.quiet()
			},
		} {
			t.Run(held+", "+name, func(t *testing.T) {
				w := newWorld(t, adoptedNode)
				w.live[node] = theirs()
				hold(w)
				env := get(w.only(), "spec", "template", "spec", "containers").([]any)[1].(map[string]any)
				require.Equal(t, []any{"--ours"}, env["args"])
				require.Equal(t, v1alpha1.OriginAdopted, w.app.Status.Resources[0].Origin)
				assert.Empty(t, w.app.Status.Resources[0].BaselineUID)
				letGo(w)
				assert.Equal(t, theirs(), without(w.live[node]))
			})
		}
	}
}

func TestReleaseRestoresOwnedLeaf(t *testing.T) {
	w := newWorld(t, adoptedNode)
	w.live[node] = theirs()
	w.round()
	w.edit(`
adoption: IfUnowned
onRelease: Restore
manifest:
- apiVersion: apps/v1
  kind: DaemonSet
  metadata: {name: aws-node}
  spec: {template: {spec: {containers: [{name: aws-node, env: [{name: WARM_IP, value: "5"}]}]}}}
`)
	explained, _ := explain.Resource(w.decide(), node, false)
	for _, f := range explained.Fields {
		if f.Path == "spec.template.spec.containers[name=aws-node].env[name=WARM_IP].value" {
			assert.Equal(t, "on release, it is removed: it had no original value", f.OnRelease)
		}
	}
	w.round()
	w.round()
	w.quiet()
	containers := get(w.only(), "spec", "template", "spec", "containers").([]any)
	require.Len(t, containers, 2, "what was there before is not cut")
	container := containers[1].(map[string]any)
	assert.Equal(t, "cni:1", container["image"])
	assert.Equal(t, []any{"--theirs"}, container["args"])
	assert.ElementsMatch(t, []any{
		map[string]any{"name": "WARM_IP", "value": "5"}, map[string]any{"name": "LEVEL", "value": "info"}, map[string]any{"name": "OTHER", "value": "2"},
	}, container["env"])
	w.edit("adoption: IfUnowned\nonRelease: Restore\nmanifest: []")
	w.round()
	assert.Equal(t, theirs(), without(w.live[node]))
}

// The parent that was created for a field is removed with the last field in it, whichever is released first.
func TestTheLastReleasedFieldRemovesItsParent(t *testing.T) {
	const spec = "%s\nonRelease: Restore\nmanifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {%s}}]"
	id := manifest.ID{Kind: "ConfigMap", Namespace: "default", Name: "web"}
	for _, relation := range []string{"adoption: IfUnowned", "ownership: Share"} {
		w := newWorld(t, fmt.Sprintf(spec, relation, "a: x"))
		w.live[id] = map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "web", "namespace": "default", "uid": "theirs"}}
		for _, data := range []string{"a: x", "a: x, b: x", "b: x"} {
			w.edit(fmt.Sprintf(spec, relation, data))
			w.round()
			w.round()
		}
		require.Equal(t, map[string]any{"b": "x"}, w.live[id]["data"], relation)
		w.edit(relation + "\nonRelease: Restore\nmanifest: []")
		w.round()
		assert.NotContains(t, w.live[id], "data", relation)
	}
}

// A field of a created object was free at first and is held later. Its release restores the value from
// before the hold.
func TestReleaseRestoresFieldsHeldLater(t *testing.T) {
	const spec = `
onRelease: Restore
manifest: [{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 3, paused: true}}]
fields: [{resource: {kind: Deployment, name: web}, `
	id := manifest.ID{Group: "apps", Kind: "Deployment", Namespace: "default", Name: "web"}
	w := newWorld(t, spec+"free: [spec.replicas]}]")
	w.round()
	w.set(int64(7), "spec", "replicas")
	w.round()
	w.edit(spec + `hold: ["*"]}]`)
	w.round()
	w.round()
	w.quiet()
	require.Equal(t, int64(3), get(w.only(), "spec", "replicas"))
	w.set(int64(9), "spec", "replicas") // drift does not replace the baseline
	w.round()
	w.edit(spec + "free: [spec.replicas]}]")
	p, _ := w.round()
	assert.Equal(t, int64(7), get(w.live[id], "spec", "replicas"), "%v", p.Changes)
	w.quiet()
	assert.Empty(t, w.app.Status.Resources[0].Baseline)
	w.edit(spec + "free: [spec.paused]}]") // so the replicas are held again, and 7 is not kept
	w.round()
	assert.Equal(t, true, get(w.live[id], "spec", "paused"), "nothing was there before it was made")
}

// With onRelease: Leave, the default, no baseline of an owned object is recorded.
func TestReleaseWithLeaveKeepsOwnedObject(t *testing.T) {
	w := newWorld(t, "adoption: IfUnowned\n"+adoptedNode[len("\nadoption: IfUnowned\nonRelease: Restore\n"):])
	w.live[node] = theirs()
	w.round()
	assert.Empty(t, w.app.Status.Resources[0].Baseline)
	w.edit("adoption: IfUnowned\nmanifest: []")
	w.round()
	container := get(w.live[node], "spec", "template", "spec", "containers").([]any)[1].(map[string]any)
	assert.Equal(t, "cni:2", container["image"])
}

// The write-ahead record of a planned adoption does not make the Application the owner.
func TestUnadoptedObjectIsNotOwned(t *testing.T) {
	w := newWorld(t, adoptedNode)
	w.live[node] = theirs()
	w.die(false)
	require.NotEmpty(t, w.app.Status.Resources[0].Baseline)
	assert.Equal(t, "u-9", string(w.app.Status.Resources[0].BaselineUID))
	w.edit("adoptedDeletionPolicy: Delete\nmanifest: []")
	p, _ := w.round()
	assert.False(t, p.HasWork())
	assert.Equal(t, theirs(), w.live[node])
	assert.Empty(t, w.app.Status.Resources)
}
