package manifest

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

var application = types.NamespacedName{Namespace: "shop", Name: "echo"}

// normalize reads manifests, normalizes them for the Application shop/echo, and checks the laws that hold
// for all manifests.
func normalize(t require.TestingT, text string) (objects []Object, warnings []string, err error) {
	documents, err := Read("", []byte(text))
	require.NoError(t, err)
	manifests := values(documents)
	before, err := json.Marshal(manifests)
	require.NoError(t, err)
	objects, dropped, err := Normalize(manifests, Options{Application: application})
	after, marshalErr := json.Marshal(manifests)
	require.NoError(t, marshalErr)
	require.Equal(t, string(before), string(after), "the input is not modified")
	return objects, Messages(dropped), err
}

func TestNormalize(t *testing.T) {
	rows := []struct{ name, manifest, want, id string }{
		{
			"a namespaced object is in the namespace of the Application, and its content is as written",
			"{apiVersion: v1, kind: Service, metadata: {name: echo}, spec: {ports: [{port: 80}]}}",
			"{apiVersion: v1, kind: Service, metadata: {name: echo}, spec: {ports: [{port: 80}]}}",
			"Service shop/echo",
		},
		{
			"an empty namespace is none",
			"{apiVersion: v1, kind: Service, metadata: {name: echo, namespace: ''}}",
			"{apiVersion: v1, kind: Service, metadata: {name: echo}}",
			"Service shop/echo",
		},
		{
			"a namespace of one's own is kept",
			"{apiVersion: apps/v1, kind: Deployment, metadata: {name: echo, namespace: other}}",
			"{apiVersion: apps/v1, kind: Deployment, metadata: {name: echo, namespace: other}}",
			"Deployment.apps other/echo",
		},
		{
			"a cluster-scoped object has no namespace",
			"{apiVersion: v1, kind: Namespace, metadata: {name: other, namespace: ''}}",
			"{apiVersion: v1, kind: Namespace, metadata: {name: other}}",
			"Namespace other",
		},
		{
			"an unknown kind is taken as namespaced",
			"{apiVersion: example.com/v1, kind: Song, metadata: {name: top50}}",
			"{apiVersion: example.com/v1, kind: Song, metadata: {name: top50}}",
			"Song.example.com shop/top50",
		},
		{
			"a name may be what Kubernetes allows in a path",
			"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: 'system:aggregate-to-View'}}",
			"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: 'system:aggregate-to-View'}}",
			"ClusterRole.rbac.authorization.k8s.io system:aggregate-to-View",
		},
		{
			"a null in a map means absent",
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: null, creationTimestamp: null}, status: null, data: {a: null, b: ''}, x: [{y: null}]}",
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {b: ''}, x: [{}]}",
			"ConfigMap shop/a",
		},
		{
			"a custom kind may end in List and have no items",
			"{apiVersion: example.com/v1, kind: AllowList, metadata: {name: a}, items: text}",
			"{apiVersion: example.com/v1, kind: AllowList, metadata: {name: a}, items: text}",
			"AllowList.example.com shop/a",
		},
		{
			"another Application may be part of this one",
			"{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: other}}",
			"{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: other}}",
			"Application.holdfast.dev shop/other",
		},
		{
			"stringData of a Secret becomes data and prevails",
			"{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {old: b2xk, twice: b2xk}, stringData: {twice: new, plain: '', utf8: é}}",
			"{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {old: b2xk, twice: bmV3, plain: '', utf8: w6k=}}",
			"Secret shop/a",
		},
		{
			"stringData without data",
			"{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {k: v}}",
			"{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {k: dg==}}",
			"Secret shop/a",
		},
		{
			"empty stringData leaves nothing",
			"{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {}}",
			"{apiVersion: v1, kind: Secret, metadata: {name: a}}",
			"Secret shop/a",
		},
		{
			"base64 of a Secret gets its one form",
			`{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {broken: "aGVs\nbG8=\n", spare: "dh=="}}`,
			"{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {broken: aGVsbG8=, spare: dg==}}",
			"Secret shop/a",
		},
		{
			"a Secret of another group is not one",
			"{apiVersion: example.com/v1, kind: Secret, metadata: {name: a}, stringData: {k: 1}}",
			"{apiVersion: example.com/v1, kind: Secret, metadata: {name: a}, stringData: {k: 1}}",
			"Secret.example.com shop/a",
		},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			objects, warnings, err := normalize(t, row.manifest)
			require.NoError(t, err)
			assert.Empty(t, warnings)
			documents, err := Read("", []byte(row.want))
			require.NoError(t, err)
			require.Len(t, objects, 1)
			assert.Equal(t, documents[0].Value, objects[0].Content)
			assert.Equal(t, row.id, objects[0].ID.String())
		})
	}
}

func TestNormalizeKeepsManifestOrder(t *testing.T) {
	objects, _, err := normalize(t, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: b}}\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: a}}")
	require.NoError(t, err)
	assert.Equal(t, []ID{{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "b"}, {Kind: "Namespace", Name: "a"}},
		[]ID{objects[0].ID, objects[1].ID})
	assert.Equal(t, []int{0, 1}, []int{objects[0].Position, objects[1].Position})
	assert.Equal(t, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, objects[0].GVK())
	assert.Equal(t, "apps/v1", objects[0].APIVersion)
}

func TestNormalizeUsesScopesOfManifests(t *testing.T) {
	definition := "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: songs.example.com}, " +
		"spec: {group: example.com, names: {kind: Song}, scope: %}}"
	song := "---\n{apiVersion: example.com/v1, kind: Song, metadata: {name: top50}}\n---\n"
	for scope, want := range map[string]string{
		"Cluster": "Song.example.com top50", "Namespaced": "Song.example.com shop/top50", "null": "Song.example.com shop/top50",
	} {
		objects, _, err := normalize(t, song+strings.ReplaceAll(definition, "%", scope))
		require.NoError(t, err)
		assert.Equal(t, want, objects[0].ID.String(), scope)
	}
}

func TestNormalizePrefersGivenScopes(t *testing.T) {
	scopes := scopeTable{{Group: "example.com", Kind: "Song"}: false}
	objects, _, err := Normalize([]map[string]any{
		{"apiVersion": "example.com/v2", "kind": "Song", "metadata": map[string]any{"name": "top50"}},
	}, Options{Application: application, Scopes: scopes})
	require.NoError(t, err)
	assert.Equal(t, "Song.example.com top50", objects[0].ID.String())
}

func TestNormalizeWarns(t *testing.T) {
	_, warnings, err := normalize(t, `{apiVersion: v1, kind: Namespace, metadata: {name: a, namespace: b}}
---
apiVersion: v1
kind: Service
metadata:
  name: echo
  uid: u
  resourceVersion: "1"
  generation: 1
  creationTimestamp: "2001-01-01T00:00:00Z"
  deletionTimestamp: "2001-01-01T00:00:00Z"
  deletionGracePeriodSeconds: 1
  managedFields: []
  selfLink: /x
  ownerReferences: [{name: x}]
status: {loadBalancer: {}}
spec: {status: kept, uid: kept}
`)
	require.NoError(t, err)
	assert.Equal(t, []string{
		"spec.manifest[0].metadata.namespace (Namespace a): dropped: Namespace is cluster-scoped",
		"spec.manifest[1].metadata.uid (Service shop/echo): dropped: the API server sets it",
		"spec.manifest[1].metadata.resourceVersion (Service shop/echo): dropped: the API server sets it",
		"spec.manifest[1].metadata.generation (Service shop/echo): dropped: the API server sets it",
		"spec.manifest[1].metadata.creationTimestamp (Service shop/echo): dropped: the API server sets it",
		"spec.manifest[1].metadata.deletionTimestamp (Service shop/echo): dropped: the API server sets it",
		"spec.manifest[1].metadata.deletionGracePeriodSeconds (Service shop/echo): dropped: the API server sets it",
		"spec.manifest[1].metadata.managedFields (Service shop/echo): dropped: the API server sets it",
		"spec.manifest[1].metadata.selfLink (Service shop/echo): dropped: the API server sets it",
		"spec.manifest[1].metadata.ownerReferences (Service shop/echo): dropped: " +
			"they refer to owners by uid, and the garbage collector deletes an object whose owner does not exist",
		"spec.manifest[1].status (Service shop/echo): dropped: only controllers write it",
	}, warnings)

	objects, _, err := normalize(t, "{apiVersion: v1, kind: Service, metadata: {name: a, uid: u}, status: {a: b}, spec: {status: kept, uid: kept}}")
	require.NoError(t, err)
	assert.Equal(t, map[string]any{
		"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "a"},
		"spec": map[string]any{"status": "kept", "uid": "kept"},
	}, objects[0].Content)
}

func TestNormalizeDropsControllerAnnotations(t *testing.T) {
	objects, warnings, err := normalize(t, `{apiVersion: v1, kind: PersistentVolume, metadata: {name: a, annotations: {
  pv.kubernetes.io/provisioned-by: kept, pv.kubernetes.io/bound-by-controller: "yes", kubectl.kubernetes.io/last-applied-configuration: "{}"}}}
---
{apiVersion: v1, kind: Secret, metadata: {name: b, annotations: {kubernetes.io/service-account.uid: u}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: c}, spec: {annotations: {deployment.kubernetes.io/revision: kept}}}
`)
	require.NoError(t, err)
	assert.Equal(t, []string{
		"spec.manifest[0].metadata.annotations['kubectl.kubernetes.io/last-applied-configuration'] (PersistentVolume a): dropped: kubectl apply writes it",
		"spec.manifest[0].metadata.annotations['pv.kubernetes.io/bound-by-controller'] (PersistentVolume a): dropped: the volume controller writes it",
		"spec.manifest[1].metadata.annotations['kubernetes.io/service-account.uid'] (Secret shop/b): dropped: the token controller writes it",
	}, warnings)
	assert.Equal(t, map[string]any{"name": "a", "annotations": map[string]any{"pv.kubernetes.io/provisioned-by": "kept"}}, objects[0].Content["metadata"])
	assert.Equal(t, map[string]any{"name": "b"}, objects[1].Content["metadata"])
	assert.NotEmpty(t, objects[2].Content["spec"])
}

func TestIsUnusedHook(t *testing.T) {
	for events, expected := range map[string]bool{
		"pre-delete": true, "post-delete": true, "pre-rollback": true, "post-rollback": true, "test": true, "test-success": true,
		"Test , pre-delete": true, "pre-install": false, "post-install": false, "pre-upgrade": false, "post-upgrade": false,
		"crd-install": false, "pre-install,pre-delete": false, "": false, "unknown": false,
	} {
		content := map[string]any{"metadata": map[string]any{"annotations": map[string]any{"helm.sh/hook": events}}}
		assert.Equal(t, expected, IsUnusedHook(content), events)
	}
	assert.False(t, IsUnusedHook(nil))
}

func TestNormalizeRejects(t *testing.T) {
	const badVersion = "must be a group and version like apps/v1, or v1 for the core group"
	rows := []struct {
		name, manifest string
		want           []string
	}{
		{"nothing in a manifest", "{}", []string{
			"spec.manifest[0].apiVersion: is missing", "spec.manifest[0].kind: is missing", "spec.manifest[0].metadata.name: is missing",
		}},
		{"no apiVersion", "{kind: Service, metadata: {name: a}}", []string{"spec.manifest[0].apiVersion: is missing"}},
		{"no kind", "{apiVersion: v1, metadata: {name: a}}", []string{"spec.manifest[0].kind: is missing"}},
		{"no name", "{apiVersion: v1, kind: Service}", []string{"spec.manifest[0].metadata.name: is missing"}},
		{"a null name", "{apiVersion: v1, kind: Service, metadata: {name: null}}", []string{"spec.manifest[0].metadata.name: is missing"}},
		{"an empty name", "{apiVersion: v1, kind: Service, metadata: {name: ''}}", []string{"spec.manifest[0].metadata.name: is empty"}},
		{"a name that is a number", "{apiVersion: v1, kind: Service, metadata: {name: 12}}",
			[]string{"spec.manifest[0].metadata.name: must be text, not a number: put it in quotes"}},
		{"a name that is a list", "{apiVersion: v1, kind: Service, metadata: {name: [a]}}", []string{"spec.manifest[0].metadata.name: must be text, not a list"}},
		{"a name with a slash", "{apiVersion: v1, kind: Service, metadata: {name: a/b}}", []string{"spec.manifest[0].metadata.name: may not contain '/'"}},
		{"a name with a percent sign", "{apiVersion: v1, kind: Service, metadata: {name: a%2fb}}", []string{"spec.manifest[0].metadata.name: may not contain '%'"}},
		{"a name that is a dot", "{apiVersion: v1, kind: Service, metadata: {name: .}}", []string{"spec.manifest[0].metadata.name: may not be '.'"}},
		{"a name that is two dots", "{apiVersion: v1, kind: Service, metadata: {name: ..}}", []string{"spec.manifest[0].metadata.name: may not be '..'"}},
		{"generateName", "{apiVersion: v1, kind: Service, metadata: {generateName: a-}}",
			[]string{"spec.manifest[0].metadata.generateName: would create another object each time: give the object a metadata.name"}},
		{"metadata that is text", "{apiVersion: v1, kind: Service, metadata: a}", []string{"spec.manifest[0].metadata: must be a map, not text"}},
		{"an apiVersion that is a number", "{apiVersion: 1, kind: Service, metadata: {name: a}}",
			[]string{"spec.manifest[0].apiVersion: must be text, not a number: put it in quotes"}},
		{"an apiVersion with two slashes", "{apiVersion: a/b/c, kind: Service, metadata: {name: a}}", []string{"spec.manifest[0].apiVersion: " + badVersion}},
		{"an apiVersion without a version", "{apiVersion: apps/, kind: Deployment, metadata: {name: a}}", []string{"spec.manifest[0].apiVersion: " + badVersion}},
		{"an apiVersion without a group", "{apiVersion: /v1, kind: Service, metadata: {name: a}}", []string{"spec.manifest[0].apiVersion: " + badVersion}},
		{"an apiVersion that is no part of a URL", "{apiVersion: 'apps/v1?x', kind: Deployment, metadata: {name: a}}", []string{"spec.manifest[0].apiVersion: " + badVersion}},
		{"a group that is no part of a URL", "{apiVersion: ../v1, kind: Deployment, metadata: {name: a}}", []string{"spec.manifest[0].apiVersion: " + badVersion}},
		{"an empty kind", "{apiVersion: v1, kind: '', metadata: {name: a}}", []string{"spec.manifest[0].kind: is empty"}},
		{"a kind that is no word", "{apiVersion: v1, kind: a/b, metadata: {name: a}}", []string{"spec.manifest[0].kind: must be letters and digits, like Deployment"}},
		{"a namespace that is no label", "{apiVersion: v1, kind: Service, metadata: {name: a, namespace: A.b}}",
			[]string{"spec.manifest[0].metadata.namespace: must be lower-case letters, digits and '-', at most 63 of them"}},
		{"a namespace that is a number", "{apiVersion: v1, kind: Service, metadata: {name: a, namespace: 12}}",
			[]string{"spec.manifest[0].metadata.namespace: must be text, not a number: put it in quotes"}},
		{"a List", "{apiVersion: v1, kind: List, items: []}", []string{"spec.manifest[0]: is a list of objects: put its items into spec.manifest"}},
		{"a List without items", "{apiVersion: v1, kind: List}", []string{"spec.manifest[0]: is a list of objects: put its items into spec.manifest"}},
		{"a list of one kind", "{apiVersion: v1, kind: PodList, items: []}", []string{"spec.manifest[0]: is a list of objects: put its items into spec.manifest"}},
		{"a null in a list", "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{args: [a, null]}]}}",
			[]string{"spec.manifest[0].spec.containers[0].args[1] (Pod shop/a): is null: remove the element or give it a value"}},
		{"two manifests of one object", "{apiVersion: v1, kind: Service, metadata: {name: a}}\n---\n{apiVersion: v1, kind: Service, metadata: {name: b}}\n---\n" +
			"{apiVersion: v1, kind: Service, metadata: {name: a, namespace: shop}}",
			[]string{"spec.manifest[2] (Service shop/a): is the same object as spec.manifest[0] (v1 here, v1 there), but not identical: remove one of them"}},
		{"one object in two versions", "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}\n---\n{apiVersion: apps/v1beta1, kind: Deployment, metadata: {name: a}}",
			[]string{"spec.manifest[1] (Deployment.apps shop/a): is the same object as spec.manifest[0] (apps/v1beta1 here, apps/v1 there), but not identical: remove one of them"}},
		{"one cluster-scoped object in two namespaces", "{apiVersion: v1, kind: Namespace, metadata: {name: a, namespace: b}}\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: a, namespace: c, labels: {a: b}}}",
			[]string{"spec.manifest[1] (Namespace a): is the same object as spec.manifest[0] (v1 here, v1 there), but not identical: remove one of them"}},

		{"two manifests that differ in their ownership", "{apiVersion: v1, kind: Service, metadata: {name: a, annotations: {holdfast.dev/ownership: Share}}}\n---\n{apiVersion: v1, kind: Service, metadata: {name: a}}",
			[]string{"spec.manifest[1] (Service shop/a): is the same object as spec.manifest[0] (v1 here, v1 there), but not identical: remove one of them"}},

		{"labels that are not text", "{apiVersion: v1, kind: Service, metadata: {name: a, labels: {n: 8, t: yes, l: [a], ok: b}}}", []string{
			"spec.manifest[0].metadata.labels.l (Service shop/a): must be text, not a list",
			"spec.manifest[0].metadata.labels.n (Service shop/a): must be text, not a number: put it in quotes",
			"spec.manifest[0].metadata.labels.t (Service shop/a): must be text, not a boolean: put it in quotes",
		}},
		{"annotations that are not text", "{apiVersion: v1, kind: Service, metadata: {name: a, annotations: {a.b/c: 1.5}}}",
			[]string{`spec.manifest[0].metadata.annotations['a.b/c'] (Service shop/a): must be text, not a number: put it in quotes`}},
		{"labels that are a list", "{apiVersion: v1, kind: Service, metadata: {name: a, labels: [a]}}",
			[]string{"spec.manifest[0].metadata.labels (Service shop/a): must be a map, not a list"}},
		{"the label that only Holdfast sets", "{apiVersion: v1, kind: Service, metadata: {name: a, labels: {holdfast.dev/application-uid: x}}}",
			[]string{`spec.manifest[0].metadata.labels['holdfast.dev/application-uid'] (Service shop/a): is tracking metadata that only Holdfast sets: remove it`}},
		{"the annotation that only Holdfast sets", "{apiVersion: v1, kind: Service, metadata: {name: a, annotations: {holdfast.dev/tracking-id: x}}}",
			[]string{`spec.manifest[0].metadata.annotations['holdfast.dev/tracking-id'] (Service shop/a): is tracking metadata that only Holdfast sets: remove it`}},

		{"a deletion policy that there is not", "{apiVersion: v1, kind: Service, metadata: {name: a, annotations: {holdfast.dev/deletion-policy: Keep}}}",
			[]string{`spec.manifest[0].metadata.annotations['holdfast.dev/deletion-policy'] (Service shop/a): must be Delete or Orphan`}},
		{"the Application itself", "{apiVersion: holdfast.dev/v1, kind: Application, metadata: {name: echo}}",
			[]string{"spec.manifest[0] (Application.holdfast.dev shop/echo): is the Application itself: an Application cannot hold itself"}},
		{"the namespace of the Application", "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}",
			[]string{"spec.manifest[0] (Namespace shop): is the namespace of the Application, and would be deleted with it: create the namespace first, outside the Application"}},
		{"a kind of Holdfast, by its group", "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: x}, spec: {group: holdfast.dev}}",
			[]string{"spec.manifest[0] (CustomResourceDefinition.apiextensions.k8s.io x): defines a kind of Holdfast, and every object of that kind would be deleted with the Application: install it with Holdfast"}},
		{"a kind of Holdfast, by its name", "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: applications.holdfast.dev}}",
			[]string{"spec.manifest[0] (CustomResourceDefinition.apiextensions.k8s.io applications.holdfast.dev): defines a kind of Holdfast, and every object of that kind would be deleted with the Application: install it with Holdfast"}},

		{"a Secret with data that is not base64", "{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {a: hunter2, b: 12, c: [hunter2]}}", []string{
			"spec.manifest[0].data.a (Secret shop/a): must be base64 text: put plain text into stringData",
			"spec.manifest[0].data.b (Secret shop/a): must be base64 text: put plain text into stringData",
			"spec.manifest[0].data.c (Secret shop/a): must be base64 text: put plain text into stringData",
		}},
		{"a Secret with stringData that is not text", "{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {pin: 1234, on: true}}", []string{
			"spec.manifest[0].stringData.on (Secret shop/a): must be text, not a boolean: put it in quotes",
			"spec.manifest[0].stringData.pin (Secret shop/a): must be text, not a number: put it in quotes",
		}},
		{"a Secret with data that is no map, and no name", "{apiVersion: v1, kind: Secret, data: hunter2, stringData: [hunter2]}", []string{
			"spec.manifest[0].data: must be a map, not text", "spec.manifest[0].metadata.name: is missing", "spec.manifest[0].stringData: must be a map, not a list",
		}},
		{"all faults of all manifests at once", "{apiVersion: v1, kind: Service, metadata: {name: a}}\n---\n{apiVersion: v1, metadata: {labels: {a: 1}}}\n---\n{kind: List}\n", []string{
			"spec.manifest[1].kind: is missing", "spec.manifest[1].metadata.labels.a: must be text, not a number: put it in quotes",
			"spec.manifest[1].metadata.name: is missing", "spec.manifest[2]: is a list of objects: put its items into spec.manifest",
		}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			objects, _, err := normalize(t, row.manifest)
			assert.EqualError(t, err, strings.Join(row.want, "\n"))
			assert.Nil(t, objects)
		})
	}
}

func TestNormalizeLimitsDepth(t *testing.T) {
	object := func(levels int) []map[string]any {
		x := []any{}
		for range levels - 2 {
			x = []any{x}
		}
		return []map[string]any{{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "x": x}}
	}
	_, _, err := Normalize(object(500), Options{Application: application})
	require.NoError(t, err)
	_, _, err = Normalize(object(502), Options{Application: application})
	assert.EqualError(t, err, "spec.manifest[0].x[0][0][0][0][0][0][0][0]…[0][0][0][0][0][0][0][0][0][0][0][0] (ConfigMap shop/a): is nested deeper than 500 levels")
}

func TestNormalizeAcceptsGoIntegers(t *testing.T) {
	object := func(value any) []map[string]any {
		return []map[string]any{{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "x": value}}
	}
	objects, _, err := Normalize(object(12), Options{Application: application})
	require.NoError(t, err)
	assert.Equal(t, int64(12), objects[0].Content["x"])

	for _, row := range []struct {
		value any
		want  string
	}{
		{map[string]string{"a": "b"}, "must be a JSON value, not a Go value of type map[string]string"},
		{math.NaN(), "must be a finite number"},
		{math.Inf(1), "must be a finite number"},
	} {
		_, _, err := Normalize(object(row.value), Options{Application: application})
		assert.EqualError(t, err, "spec.manifest[0].x (ConfigMap shop/a): "+row.want)
	}
	_, _, err = Normalize([]map[string]any{nil}, Options{Application: application})
	assert.ErrorContains(t, err, "spec.manifest[0].kind: is missing")
}

func TestNormalizeCopiesInput(t *testing.T) {
	documents, err := Read("", []byte("{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{args: [x]}]}}"))
	require.NoError(t, err)
	before := runtime.DeepCopyJSON(documents[0].Value)
	objects, _, err := Normalize(values(documents), Options{Application: application})
	require.NoError(t, err)
	container := objects[0].Content["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)
	container["args"].([]any)[0] = "changed"
	container["name"] = "changed"
	objects[0].Content["metadata"].(map[string]any)["name"] = "changed"
	assert.Equal(t, before, documents[0].Value)
}

func TestValidationErrorHasPath(t *testing.T) {
	_, _, err := normalize(t, "{apiVersion: v1, kind: Service, metadata: {name: a, labels: {n: 8}}}")
	var fault *ValidationError
	require.ErrorAs(t, err, &fault)
	assert.Equal(t, &ValidationError{
		ID: ID{Kind: "Service", Namespace: "shop", Name: "a"}, Path: Path{"metadata", "labels", "n"},
		Message: "must be text, not a number: put it in quotes",
	}, fault)
}
