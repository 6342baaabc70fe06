package controller_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/samples"
	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/controller"
)

// drawn generates random objects of an owner, and random parts of them for an Application.
type drawn struct{ *rand.Rand }

// some joins a random part of a list.
func (d drawn) some(items ...string) string {
	var chosen []string
	for _, item := range items {
		if item != "" && d.IntN(2) == 0 {
			chosen = append(chosen, item)
		}
	}
	return strings.Join(chosen, ", ")
}

// object generates a random part of an object with the values of an owner.
func (d drawn) object(kind, name, owner string, whole bool) string {
	gone := "gone: " + owner
	if !whole {
		gone = "" // for rules, see below
	}
	metadata := fmt.Sprintf("{name: %s, labels: {%s}, annotations: {%s}}", name, d.some("a: "+owner, "b: "+owner, gone), d.some("a: "+owner, "b/c.d: "+owner, gone))
	if kind == "ConfigMap" {
		data := d.some("a: "+owner, "b.c: "+owner, "d: "+owner, `e: ""`, gone)
		return fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: %s, data: {%s}}", metadata, data)
	}
	env := d.some("{name: A, value: "+owner+"}", "{name: B, value: "+owner+"}", "{name: C, value: "+owner+"}")
	ports := d.some("{containerPort: 80, name: a-"+owner+"}", "{containerPort: 53, protocol: UDP, name: b-"+owner+"}", "{containerPort: 53, protocol: TCP, name: c-"+owner+"}")
	container := fmt.Sprintf("name: web, env: [%s], args: [%s], ports: [%s]", env, d.some("--a", "--b", "--"+owner), ports)
	spec := d.some("replicas: "+fmt.Sprint(1+d.IntN(3)), "minReadySeconds: 7", "paused: true")
	containers := "{" + container + "}" + d.some(", {name: more, image: more, env: [{name: A, value: "+owner+"}]}")
	if whole {
		containers = "{name: first, image: first}, {image: web, " + container + "}"
		spec += strings.Repeat(", ", min(len(spec), 1)) + "selector: {matchLabels: {app: web}}"
	}
	spec += strings.Repeat(", ", min(len(spec), 1)) + "template: {metadata: {labels: {app: web}, annotations: {" + d.some("x: "+owner, "y: "+owner) + "}}, spec: {containers: [" + containers + "], nodeSelector: {" + d.some(gone, "a: "+owner) + "}}}"
	return fmt.Sprintf("{apiVersion: apps/v1, kind: Deployment, metadata: %s, spec: {%s}}", metadata, spec)
}

// rules generates random rules for fields that our manifests do not set: fields that must be absent,
// and a minimum.
func (d drawn) rules(kind, name string) string {
	paths := []string{"metadata.labels.gone", "metadata.annotations.gone", "data.gone"}
	if kind == "Deployment" {
		paths[2] = "spec.template.spec.nodeSelector.gone"
	}
	hold := `"*"`
	for _, path := range paths {
		hold += d.some(", {path: " + path + ", mode: absent}")
	}
	if kind == "Deployment" {
		hold += d.some(", {path: spec.template.spec.terminationGracePeriodSeconds, minimum: 45}")
	}
	return fmt.Sprintf("- {resource: {kind: %s, name: %s}, hold: [%s]}\n", kind, name, hold)
}

// TestHoldThenReleaseIsTheIdentity holds random fields of random objects, and the controller dies at a
// random write. After everything is released, the objects have their original content.
func TestHoldThenReleaseIsTheIdentity(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	seed := rand.Uint64()
	t.Logf("the seed is %d", seed)
	d := drawn{rand.New(rand.NewPCG(seed, 0))}
	const batch = 10
	moments := []moment{beforeSending, beforeResponse, afterResponse}
	for i := range samples.Of(2, 500/batch) {
		app, manifests, rules, were := fmt.Sprintf("app-%d", i), "", "", map[string]map[string]any{}
		for k := range batch {
			name, kind := fmt.Sprintf("theirs-%d-%d", i, k), []string{"ConfigMap", "Deployment"}[k%2]
			were[name] = settled(f.Create("helm", d.object(kind, name, "theirs", true)).Object)
			manifests += "- " + d.object(kind, name, "ours", false) + "\n"
			rules += d.rules(kind, name)
		}
		dying := func(do func()) {
			end := &death{namespace: f.namespace + "/", at: 1 + (i*7+d.IntN(3))%9, when: moments[(i+d.IntN(3))%3], died: make(chan struct{})}
			doomed := f.RunThrough(end.wrap, controller.Options{})
			do()
			<-end.died
			doomed.Stop()
		}
		dying(func() { f.Submit(app, "ownership: Share\nmanifest:\n"+manifests+"fields:\n"+rules) })
		living := f.Run(controller.Options{})
		f.AwaitHeld(app)
		living.Stop()
		dying(func() { f.Delete(applications, app) })
		living = f.Run(controller.Options{})
		f.AwaitGone(applications, app)
		for name, was := range were {
			resource := configMaps
			if was["kind"] == "Deployment" {
				resource = deployments
			}
			assert.Equal(t, was, settled(f.Get(resource, name)), "%s, and the manifests were\n%sthe rules\n%s", name, manifests, rules)
		}
		living.Stop()
		require.False(t, t.Failed())
	}
	for _, r := range f.Requests().Writes() {
		if (r.Resource == "configmaps" || r.Resource == "deployments") && r.Verb != "patch" {
			t.Errorf("a shared object was written with %s", r)
		}
	}
}

// settled returns an object without its status and without the metadata that changes with every write.
func settled(object map[string]any) map[string]any {
	object = bare(object)
	delete(object, "status")
	return object
}

// Several Applications, an autoscaler and other clients write one object. Writes to fields that no
// Application holds are left alone, whichever client makes them and in whatever way.
func TestManyHoldersOfOneObject(t *testing.T) {
	f := given(t)
	f.Create("helm", whole)
	for name, part := range map[string]string{
		"env":   `spec: {template: {spec: {containers: [{name: web, env: [{name: LEVEL, value: debug}]}]}}}`,
		"notes": `spec: {minReadySeconds: 3, template: {metadata: {annotations: {team: net}}}}`,
		"image": `spec: {template: {spec: {containers: [{name: web, image: "web:2", args: [--ours]}]}}}`,
	} {
		f.Submit(name, "ownership: Share\nmanifest: [{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, "+part+"}]")
	}
	for _, name := range []string{"env", "notes", "image"} {
		f.AwaitHeld(name)
	}
	seed := rand.Uint64()
	t.Logf("the seed is %d", seed)
	d := drawn{rand.New(rand.NewPCG(seed, 0))}
	replicas, applied, edited := int64(1), "", ""
	for i := range samples.Of(20, 1000) {
		switch d.IntN(3) {
		case 0:
			replicas = 1 + d.Int64N(9)
			_, err := f.in("hpa", deployments).Patch(t.Context(), "web", types.MergePatchType,
				fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas), metav1.PatchOptions{}, "scale")
			require.NoError(t, err)
		case 1:
			applied = fmt.Sprint("applied-", i)
			u := f.object(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, annotations: {applied: ` + applied + `}},
			  spec: {template: {spec: {containers: [{name: web, env: [{name: APPLIED, value: ` + applied + `}]}, {name: side, image: ` + applied + `}]}}}}`)
			_, err := f.in("ssa", deployments).Apply(t.Context(), "web", u, metav1.ApplyOptions{FieldManager: "ssa", Force: true})
			require.NoError(t, err)
		default:
			edited = fmt.Sprint("edited-", i)
			f.Patch("kubectl-edit", deployments, "web",
				`{metadata: {labels: {edited: `+edited+`}}, spec: {template: {metadata: {annotations: {edited: `+edited+`}}}}}`)
		}
	}
	f.Quiet(quiet)
	live := f.Get(deployments, "web")
	containers := map[any]map[string]any{} // applying the containers changes their order
	list, _, err := unstructured.NestedSlice(live, "spec", "template", "spec", "containers")
	require.NoError(t, err)
	for _, c := range list {
		containers[c.(map[string]any)["name"]] = c.(map[string]any)
	}
	web := containers["web"]
	assert.Equal(t, replicas, value(live, "spec", "replicas"))
	assert.Equal(t, "web:2", web["image"])
	assert.Equal(t, []any{"--theirs", "--ours"}, web["args"])
	assert.Contains(t, web["env"], map[string]any{"name": "LEVEL", "value": "debug"})
	if applied != "" {
		assert.Equal(t, applied, value(live, "metadata", "annotations", "applied"))
		assert.Equal(t, applied, containers["side"]["image"])
		assert.Contains(t, web["env"], map[string]any{"name": "APPLIED", "value": applied})
	}
	if edited != "" {
		assert.Equal(t, edited, value(live, "metadata", "labels", "edited"))
		assert.Equal(t, edited, value(live, "spec", "template", "metadata", "annotations", "edited"))
	}
	f.becomesHealthy("web")
	for _, name := range []string{"env", "notes", "image"} {
		assert.Empty(t, f.AwaitReady(name).Status.Contested, name)
	}
}

// becomesHealthy writes the status that the Deployment controller would write.
func (f *fixture) becomesHealthy(name string) {
	f.t.Helper()
	live := f.Get(deployments, name)
	u := &unstructured.Unstructured{Object: live}
	replicas, _ := value(live, "spec", "replicas").(int64)
	u.Object["status"] = map[string]any{
		"observedGeneration": u.GetGeneration(), "replicas": replicas, "updatedReplicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas,
		"conditions": []any{
			map[string]any{"type": "Available", "status": "True"},
			map[string]any{"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"},
		},
	}
	_, err := f.in("kube-controller-manager", deployments).UpdateStatus(f.t.Context(), u, metav1.UpdateOptions{})
	require.NoError(f.t, err)
}

// Two Applications claim the same field at the same moment. They belong to two controllers that do not
// know each other. One Application gets the field.
func TestSharingAcrossControllers(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	const pairs = 20
	submit := func(i, k int, shard string) {
		name := []string{"a", "b"}[(i+k)%2]
		f.Create("user", fmt.Sprintf(`{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: %[1]s-%[2]d, labels: {shard: %[3]s}},
		  spec: {ownership: Share, manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs-%[2]d}, data: {mode: %[1]s}}]}}`, name, i, cmp.Or(shard, name)))
	}
	for i := range 2 * pairs {
		f.Create("helm", fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs-%d}, data: {mode: theirs}}`, i))
	}
	for i := pairs; i < 2*pairs; i++ {
		submit(i, 0, "a")
		submit(i, 1, "a")
	}
	for _, shard := range []string{"a", "b"} {
		selector, err := labels.Parse("shard=" + shard)
		require.NoError(t, err)
		f.Run(controller.Options{Selection: cluster.Selection{Labels: selector}})
	}
	for i := pairs; i < 2*pairs; i++ {
		f.theOlderHolds(i) // one controller knows both Applications before anything is written
	}
	f.Quiet(quiet)
	f.noStrays()
	f.Mark()
	for i := range pairs {
		for k := range 2 {
			submit(i, k, "")
		}
	}
	for i := range pairs {
		f.awaitOneHolder(i)
	}
	f.Quiet(quiet)
	f.noStrays()
	for i := range pairs {
		mode := value(f.Get(configMaps, fmt.Sprintf("theirs-%d", i)), "data", "mode")
		f.Delete(applications, fmt.Sprintf("%s-%d", mode, i))
		other := map[any]string{"a": "b", "b": "a"}[mode]
		f.AwaitValue(configMaps, fmt.Sprintf("theirs-%d", i), other, "data", "mode")
		f.AwaitHeld(fmt.Sprintf("%s-%d", other, i))
	}
}

// An Application that shares objects is deleted, with any deletion policy. No shared object is deleted,
// and no missing object is created.
func TestASharedObjectIsNeitherMadeNorEnded(t *testing.T) {
	f := given(t)
	for i, policy := range []string{"deletionPolicy: Delete", "adoptedDeletionPolicy: Delete", "deletionPolicy: Orphan", "adoption: Always\ndeletionPolicy: Delete", "onRelease: Leave"} {
		f.Create("helm", fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs-%d}, data: {mode: theirs}}`, i))
		name := fmt.Sprintf("app-%d", i)
		f.Submit(name, fmt.Sprintf(`
ownership: Share
%s
manifest:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: theirs-%d, annotations: {holdfast.dev/deletion-policy: Delete}}, data: {mode: ours}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: absent-%d}, data: {mode: ours}}`, policy, i, i))
		f.AwaitReason(name, v1alpha1.ReasonWaiting)
		f.AwaitValue(configMaps, fmt.Sprintf("theirs-%d", i), "ours", "data", "mode")
		f.Delete(applications, name)
		f.AwaitGone(applications, name)
		assert.NotNil(t, f.Get(configMaps, fmt.Sprintf("theirs-%d", i)), policy)
	}
	f.Quiet(quiet)
	assert.Equal(t, map[string]int{"patch configmaps": 10}, counts(f.touched()), "one patch to hold, and one to release")
}
