package template_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/template"
)

func parse(text string) (object map[string]any) {
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		panic(err)
	}
	return object
}

func ExampleObserve() {
	entry := template.Observe(parse(`
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, labels: {app: db}, annotations: {note: text}}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`), "spec.accessModes", "metadata.annotations")
	text, _ := yaml.Marshal(entry)
	fmt.Print(string(text))
	// Output:
	// apiVersion: v1
	// kind: PersistentVolumeClaim
	// metadata:
	//   labels:
	//     app: observed
	//   name: data
	// spec:
	//   resources:
	//     requests:
	//       storage: observed
}

func TestObserveListTypes(t *testing.T) {
	entry := template.Observe(parse(`{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: b}, spec: {
	  containers: [{name: x, command: [a, b]}], none: []}}`))
	text, err := json.Marshal(entry)
	require.NoError(t, err)
	assert.JSONEq(t, `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "b"}, "spec": {
	  "containers": [
	    {"name": "observed", "command": ["observed", "observed", {"observer_schema_list_min_length": 2, "observer_schema_list_max_length": 2}]},
	    {"observer_schema_list_min_length": 1, "observer_schema_list_max_length": 0}],
	  "none": [{"observer_schema_list_min_length": 0, "observer_schema_list_max_length": 0}]}}`, string(text))
}

func rendered() template.RenderedTemplate {
	return template.RenderedTemplate{
		Manifests: []map[string]any{parse(`{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {b: c}}`)},
		Schema:    []map[string]any{parse(`{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {b: observed}}`)},
		Labels:    map[string]string{"example.com/kind": "a"},
	}
}

var owner = parse(`{apiVersion: example.com/v1, kind: Greeting, metadata: {name: hello, namespace: shop, uid: one}}`)

func TestApplicationHasControllerReference(t *testing.T) {
	app, err := rendered().Application(owner)
	require.NoError(t, err)
	assert.Equal(t, "hello", app.Name)
	assert.Equal(t, "shop", app.Namespace)
	yes := true
	assert.Equal(t, []metav1.OwnerReference{{
		APIVersion: "example.com/v1", Kind: "Greeting", Name: "hello", UID: "one", Controller: &yes, BlockOwnerDeletion: &yes,
	}}, app.OwnerReferences)
	assert.Equal(t, v1alpha1.AdoptNever, app.Spec.Adoption)
	assert.Equal(t, v1alpha1.DeletionDelete, app.Spec.DeletionPolicy)
	assert.True(t, template.IsOwner(owner, app))
	later := parse(`{metadata: {name: hello, namespace: shop, uid: two}}`)
	assert.False(t, template.IsOwner(later, app), "an earlier resource of the same name is another one")

	labelled, err := rendered().Application(parse(`{metadata: {name: hello, labels: {shard: a, example.com/kind: theirs}}}`))
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"shard": "a", "example.com/kind": "a"}, labelled.Labels, "it has the labels of its resource")

	fromFile, err := rendered().Application(parse(`{apiVersion: example.com/v1, kind: Greeting, metadata: {name: hello}}`))
	require.NoError(t, err)
	assert.Empty(t, fromFile.OwnerReferences)
}

// Applying the update gives the desired Application, changes nothing else, and is idempotent.
func TestUpdate(t *testing.T) {
	desired, err := rendered().Application(owner)
	require.NoError(t, err)
	desired.Spec.ServiceAccountName = "deployer"
	for _, row := range []struct {
		name   string
		change func(live *v1alpha1.Application)
		paths  []string
	}{
		{"nothing differs", func(*v1alpha1.Application) {}, nil},
		{"the rest of the spec is other people's", func(live *v1alpha1.Application) { live.Spec.Suspend = true }, nil},
		{"the order of keys does not matter", func(live *v1alpha1.Application) {
			live.Spec.Manifest[0].Raw = []byte(`{"metadata": {"name": "a"}, "kind": "ConfigMap", "data": {"b": "c"}, "apiVersion": "v1"}`)
		}, nil},
		{"another manifest", func(live *v1alpha1.Application) { live.Spec.Manifest = []runtime.RawExtension{} }, []string{"/metadata/uid", "/spec/manifest"}},
		{"no observer schema", func(live *v1alpha1.Application) { live.Spec.ObserverSchema = nil }, []string{"/metadata/uid", "/spec/observerSchema"}},
		{"another account", func(live *v1alpha1.Application) { live.Spec.ServiceAccountName = "" }, []string{"/metadata/uid", "/spec/serviceAccountName"}},
		{"other policies", func(live *v1alpha1.Application) {
			live.Spec.Adoption, live.Spec.DeletionPolicy = v1alpha1.AdoptAlways, v1alpha1.DeletionOrphan
		}, []string{"/metadata/uid", "/spec/adoption", "/spec/deletionPolicy"}},
		{"no labels at all", func(live *v1alpha1.Application) { live.Labels = nil }, []string{"/metadata/uid", "/metadata/labels", "/metadata/labels"}},
		{"a label of another client, and not the template's", func(live *v1alpha1.Application) { live.Labels = map[string]string{"other": "x"} },
			[]string{"/metadata/uid", "/metadata/labels/example.com~1kind"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			live := desired.DeepCopy()
			live.UID = "app"
			row.change(live)
			ops := template.Update(live, desired)
			var paths []string
			for _, op := range ops {
				paths = append(paths, op.Path)
			}
			assert.Equal(t, row.paths, paths)
			if ops == nil {
				return
			}
			updated := patched(t, live, ops)
			assert.Empty(t, template.Update(updated, desired))
			assert.Equal(t, live.Spec.Suspend, updated.Spec.Suspend)
			for key, value := range live.Labels {
				assert.Equal(t, value, updated.Labels[key])
			}
		})
	}
	t.Run("an account that is no longer named is removed", func(t *testing.T) {
		live := desired.DeepCopy()
		desired := desired.DeepCopy()
		desired.Spec.ServiceAccountName = ""
		ops := template.Update(live, desired)
		require.Len(t, ops, 2)
		assert.Equal(t, "remove", ops[1].Op)
		assert.Empty(t, patched(t, live, ops).Spec.ServiceAccountName)
	})
}

// The first label is added with the whole map. It must not replace labels that another client has added since the read.
func TestUpdateKeepsLabelsOfOthers(t *testing.T) {
	desired, err := rendered().Application(owner)
	require.NoError(t, err)
	live := desired.DeepCopy()
	live.UID, live.Labels = "app", nil
	raw, err := json.Marshal(template.Update(live, desired))
	require.NoError(t, err)
	patch, err := jsonpatch.DecodePatch(raw)
	require.NoError(t, err)
	live.Labels = map[string]string{"team": "a"}
	changed, err := json.Marshal(live)
	require.NoError(t, err)
	_, err = patch.Apply(changed)
	require.ErrorIs(t, err, jsonpatch.ErrTestFailed)
}

func patched(t *testing.T, live *v1alpha1.Application, ops any) *v1alpha1.Application {
	t.Helper()
	before, err := json.Marshal(live)
	require.NoError(t, err)
	raw, err := json.Marshal(ops)
	require.NoError(t, err)
	patch, err := jsonpatch.DecodePatch(raw)
	require.NoError(t, err)
	if live.UID == "" { // no test operation for a missing UID
		patch = patch[1:]
	}
	after, err := patch.Apply(before)
	require.NoError(t, err)
	updated := &v1alpha1.Application{}
	require.NoError(t, json.Unmarshal(after, updated))
	return updated
}

func TestValidationErrors(t *testing.T) {
	a := &template.ValidationError{Path: manifest.Path{"spec", "a"}, Reason: template.ReasonSpecInvalid, Message: "is odd"}
	b := errors.New("no idea")
	faults := template.ValidationErrors(errors.Join(a, errors.Join(b)))
	require.Len(t, faults, 2)
	assert.Equal(t, "spec.a: is odd", faults[0].Error())
	assert.Equal(t, "no idea", faults[1].Error())
	assert.Equal(t, template.ReasonSpecInvalid, faults[1].Reason)
	assert.Empty(t, template.ValidationErrors(nil))
}
