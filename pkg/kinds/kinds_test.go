package kinds_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/kinds"
)

// at returns the node at a path such as "spec.containers[].ports", where [] is an element.
func at(node *kinds.Node, path string) *kinds.Node {
	for _, step := range strings.Split(path, ".") {
		name, isElement := strings.CutSuffix(step, "[]")
		node = node.Field(name)
		if isElement {
			node = node.Elem()
		}
	}
	return node
}

// known is the expected node at a path.
type known struct {
	list     kinds.ListKind
	keys     []string
	defaults map[string]any
}

func assertKnown(t *testing.T, expected known, node *kinds.Node) {
	t.Helper()
	if !assert.NotNil(t, node, "nothing is known there") {
		return
	}
	assert.Equal(t, expected.list, node.List)
	assert.Equal(t, expected.keys, node.Keys)
	assert.Len(t, node.Defaults, len(expected.defaults))
	for key, value := range expected.defaults {
		assert.Equal(t, value, node.Defaults[key])
	}
}

func byKeys(keys ...string) known { return known{list: kinds.Map, keys: keys} }

func (k known) with(key string, value any) known {
	k.defaults = map[string]any{key: value}
	return k
}

func TestBuiltin(t *testing.T) {
	const podSpec = "spec.template.spec."
	atomic, set := known{list: kinds.Atomic}, known{list: kinds.Set}
	for _, row := range []struct {
		name, apiVersion, kind, path string
		expected                     known
	}{
		{"ports of a Service have two keys and a default", "v1", "Service", "spec.ports", byKeys("port", "protocol").with("protocol", "TCP")},
		{"addresses of a Service are atomic", "v1", "Service", "spec.clusterIPs", atomic},
		{"containers have names", "apps/v1", "Deployment", podSpec + "containers", byKeys("name")},
		{"environment variables have names", "apps/v1", "Deployment", podSpec + "containers[].env", byKeys("name")},
		{"ports of a container have two keys and a default", "apps/v1", "Deployment", podSpec + "containers[].ports", byKeys("containerPort", "protocol").with("protocol", "TCP")},
		{"volume mounts have paths", "apps/v1", "StatefulSet", podSpec + "containers[].volumeMounts", byKeys("mountPath")},
		{"volumes have names", "apps/v1", "DaemonSet", podSpec + "volumes", byKeys("name")},
		{"arguments are atomic", "batch/v1", "Job", podSpec + "containers[].args", atomic},
		{"tolerations are atomic", "apps/v1", "Deployment", podSpec + "tolerations", atomic},
		{"containers are found below a CronJob's template", "batch/v1", "CronJob", "spec.jobTemplate.spec.template.spec.initContainers", byKeys("name")},
		{"topology spread constraints have two keys", "v1", "Pod", "spec.topologySpreadConstraints", byKeys("topologyKey", "whenUnsatisfiable")},
		{"finalizers are a set", "v1", "ConfigMap", "metadata.finalizers", set},
		{"owner references have uids", "v1", "Secret", "metadata.ownerReferences", byKeys("uid")},
		{"conditions have types", "apps/v1", "Deployment", "status.conditions", byKeys("type")},
		{"rules of an Ingress are atomic", "networking.k8s.io/v1", "Ingress", "spec.rules", atomic},
		{"paths inside an atomic list are atomic", "networking.k8s.io/v1", "Ingress", "spec.rules[].http.paths", atomic},
		{"rules of a ClusterRole are atomic", "rbac.authorization.k8s.io/v1", "ClusterRole", "rules", atomic},
		{"lists inside a map are found", "certificates.k8s.io/v1", "CertificateSigningRequest", "spec.extra.anything", atomic},
		{"webhooks have names", "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "webhooks", byKeys("name")},
		{"a structure is no list", "v1", "Service", "spec", known{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			gvk := schema.FromAPIVersionAndKind(row.apiVersion, row.kind)
			assertKnown(t, row.expected, at(kinds.Builtin(gvk), row.path))
		})
	}
}

func TestBuiltinUnknownKinds(t *testing.T) {
	for _, row := range []struct{ name, apiVersion, kind string }{
		{"a kind that does not exist", "v1", "Song"},
		{"a kind in a group that does not exist", "example.com/v1", "Deployment"},
		{"a kind in a version that does not exist", "apps/v7", "Deployment"},
		{"options of a request", "v1", "DeleteOptions"},
		{"lists of objects", "apps/v1", "DeploymentList"},
		{"nothing at all", "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.Nil(t, kinds.Builtin(schema.FromAPIVersionAndKind(row.apiVersion, row.kind)))
		})
	}
}

func TestNilNode(t *testing.T) {
	var nothing *kinds.Node
	assert.Nil(t, nothing.Field("spec").Field("ports").Elem().Field("port"))
	for name := range nothing.Fields() {
		t.Errorf("nothing has the field %s", name)
	}
}

func TestNodeForbidsUnknownFields(t *testing.T) {
	deployment := kinds.Builtin(schema.FromAPIVersionAndKind("apps/v1", "Deployment"))
	var definition map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(`
spec:
  group: example.com
  names: {kind: Thing}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer}
              any: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: string}}}
              labels: {type: object, additionalProperties: {type: string}}
              embedded: {type: object, x-kubernetes-embedded-resource: true, properties: {spec: {type: object}}}
`), &definition))
	crd := kinds.FromCRD(definition, schema.FromAPIVersionAndKind("example.com/v1", "Thing"))
	for _, row := range []struct {
		node      *kinds.Node
		path      string
		name      string
		forbidden bool
	}{
		{deployment, "spec", "replica", true},
		{deployment, "spec", "replicas", false},
		{deployment, "metadata", "labels", false},
		{deployment, "metadata.labels", "anything", false},
		{deployment, "spec.template.spec.nodeSelector", "anything", false},
		{deployment, "spec.template.spec", "container", true},
		{crd, "", "apiVersion", false},
		{crd, "", "speck", true},
		{crd, "metadata", "label", true},
		{crd, "spec", "size", false},
		{crd, "spec", "sizes", true},
		{crd, "spec.any", "b", false},
		{crd, "spec.labels", "b", false},
		{crd, "spec.embedded", "metadata", false},
		{nil, "", "anything", false},
	} {
		node := row.node
		if row.path != "" {
			node = at(node, row.path)
		}
		assert.Equal(t, row.forbidden, node.Forbids(row.name), "%s.%s", row.path, row.name)
	}
}

func TestListElementIsNoField(t *testing.T) {
	containers := at(kinds.Builtin(schema.FromAPIVersionAndKind("v1", "Pod")), "spec.containers")
	assert.Nil(t, containers.Field("ports"))
	assert.NotNil(t, containers.Elem().Field("ports"))
}

// The table is part of every binary and is parsed on first use.
func TestTableIsSmallAndGenerated(t *testing.T) {
	content, err := os.ReadFile("builtin.json")
	require.NoError(t, err)
	assert.Less(t, len(content), 192<<10)
	assert.Contains(t, string(content[:200]), `"Code generated by tools/listtypes from k8s.io/client-go v`)
}

func TestFromOpenAPI(t *testing.T) {
	doc := readJSON(t, "openapi.yaml")
	album := schema.FromAPIVersionAndKind("music.example.com/v1", "Album")
	node, err := kinds.FromOpenAPI(doc, album)
	require.NoError(t, err)

	for _, row := range []struct {
		name, path string
		expected   known
	}{
		{"a list with keys below a reference", "spec.songs", byKeys("title", "disc").with("disc", int64(1))},
		{"a list without a type is atomic", "spec.labels", known{list: kinds.Atomic}},
		{"a list of an unknown type is atomic", "spec.strange", known{list: kinds.Atomic}},
		{"a list with keys but without their names is atomic", "spec.keyless", known{list: kinds.Atomic}},
		{"a set", "spec.genres", known{list: kinds.Set}},
		{"an empty default of a key does not count", "spec.credits", byKeys("name")},
		{"a list inside an element inside a list", "spec.songs[].artists", byKeys("name")},
		{"a list inside a map", "spec.editions.japan", known{list: kinds.Set}},
		{"a property of the second part of allOf", "spec.both.second", known{list: kinds.Set}},
		{"a property that both parts of allOf describe", "spec.both.shared", byKeys("id")},
		{"a type next to a reference decides", "spec.override", known{list: kinds.Atomic}},
		{"a kind that contains itself", "spec.parent.parent.parent.children[].children[].genres", known{list: kinds.Set}},
	} {
		t.Run(row.name, func(t *testing.T) { assertKnown(t, row.expected, at(node, row.path)) })
	}

	t.Run("a place without lists is not a list", func(t *testing.T) {
		assert.Nil(t, at(node, "spec.name"))
		assert.Nil(t, at(node, "spec.open.anything"))
	})
	t.Run("a kind that the document does not have is nil", func(t *testing.T) {
		other, err := kinds.FromOpenAPI(doc, album.GroupVersion().WithKind("Song"))
		assert.NoError(t, err)
		assert.Nil(t, other)
	})
	t.Run("of several schemas of one kind, the first by name counts", func(t *testing.T) {
		const kind = `{"x-kubernetes-group-version-kind": [{"group": "music.example.com", "version": "v1", "kind": "Album"}]`
		twice := []byte(`{"components": {"schemas": {"B": ` + kind + `}, "A": ` + kind + `, "properties": {"set": {"type": "array", "x-kubernetes-list-type": "set"}}}}}}`)
		for range 20 {
			node, err := kinds.FromOpenAPI(twice, album)
			require.NoError(t, err)
			assertKnown(t, known{list: kinds.Set}, at(node, "set"))
		}
	})
	t.Run("a reference to nowhere is an error", func(t *testing.T) {
		_, err := kinds.FromOpenAPI(doc, album.GroupVersion().WithKind("Broken"))
		assert.ErrorContains(t, err, "music.example.com/v1, Kind=Broken: spec: no schema Missing")
	})
	t.Run("a document that is not JSON is an error", func(t *testing.T) {
		_, err := kinds.FromOpenAPI([]byte("<html>"), album)
		assert.ErrorContains(t, err, "reading the OpenAPI document of music.example.com/v1")
	})
}

func TestFromCRD(t *testing.T) {
	var crd map[string]any
	content, err := os.ReadFile(filepath.Join("testdata", "crd.yaml"))
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(content, &crd))
	v1 := schema.FromAPIVersionAndKind("example.com/v1", "Song")
	node := kinds.FromCRD(crd, v1)

	for _, row := range []struct {
		name, path string
		expected   known
	}{
		{"a list without a type is atomic", "spec.rythms", known{list: kinds.Atomic}},
		{"a list with keys and a default", "spec.tracks", byKeys("name", "side").with("side", "A")},
		{"a set", "spec.tags", known{list: kinds.Set}},
		{"metadata is known without being in the definition", "metadata.finalizers", known{list: kinds.Set}},
	} {
		t.Run(row.name, func(t *testing.T) { assertKnown(t, row.expected, at(node, row.path)) })
	}

	t.Run("a version without a schema has metadata", func(t *testing.T) {
		loose := kinds.FromCRD(crd, v1.GroupKind().WithVersion("v2"))
		assertKnown(t, known{list: kinds.Set}, at(loose, "metadata.finalizers"))
		assert.Nil(t, loose.Field("spec"))
	})
	for name, gvk := range map[string]schema.GroupVersionKind{
		"another version is nil": v1.GroupKind().WithVersion("v3"),
		"another kind is nil":    v1.GroupVersion().WithKind("Artist"),
		"another group is nil":   schema.FromAPIVersionAndKind("example.org/v1", "Song"),
	} {
		t.Run(name, func(t *testing.T) { assert.Nil(t, kinds.FromCRD(crd, gvk)) })
	}
	t.Run("an object that is no definition is nil", func(t *testing.T) {
		assert.Nil(t, kinds.FromCRD(map[string]any{"spec": "text"}, v1))
		assert.Nil(t, kinds.FromCRD(nil, v1))
	})
}

func readJSON(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	document, err := yaml.YAMLToJSON(content)
	require.NoError(t, err)
	return document
}

func FuzzFromOpenAPI(f *testing.F) {
	gvk := schema.FromAPIVersionAndKind("v1", "A")
	f.Add([]byte(`{"components":{"schemas":{"A":{"x-kubernetes-group-version-kind":[{"version":"v1","kind":"A"}],"properties":{"a":{"$ref":"#/components/schemas/A"},"l":{"items":{"allOf":[{"$ref":"#/components/schemas/A"}]},"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a"]}}}}}}`))
	f.Add([]byte(`{"components":{"schemas":{"A":null,"B":{"allOf":[null]}}}}`))
	f.Fuzz(func(_ *testing.T, doc []byte) {
		node, err := kinds.FromOpenAPI(doc, gvk)
		if err == nil {
			node.Field("a").Field("a").Field("l").Elem().Field("a")
		}
	})
}

func BenchmarkBuiltinLookup(b *testing.B) {
	gvk := schema.FromAPIVersionAndKind("apps/v1", "Deployment")
	for b.Loop() {
		at(kinds.Builtin(gvk), "spec.template.spec.containers[].env")
	}
}

func TestSomeMapsAreOneValue(t *testing.T) {
	node := func(apiVersion, kind string, path ...string) *kinds.Node {
		gv, err := schema.ParseGroupVersion(apiVersion)
		require.NoError(t, err)
		n := kinds.Builtin(gv.WithKind(kind))
		for _, name := range path {
			n = n.Field(name)
		}
		return n
	}
	assert.True(t, node("v1", "Service", "spec", "selector").IsOneValue())
	assert.True(t, node("v1", "Pod", "spec", "nodeSelector").IsOneValue())
	assert.True(t, node("networking.k8s.io/v1", "NetworkPolicy", "spec", "podSelector").IsOneValue())
	assert.True(t, node("apps/v1", "Deployment", "spec", "selector").IsOneValue())
	assert.False(t, node("rbac.authorization.k8s.io/v1", "RoleBinding", "roleRef").IsOneValue(), "the API server adds members to it")
	assert.False(t, node("v1", "ConfigMap", "metadata", "labels").IsOneValue())
	assert.False(t, node("apps/v1", "Deployment", "spec", "template").IsOneValue())
}

func TestSomeMapsOfACustomKindAreOneValue(t *testing.T) {
	text := map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "string"}}
	atomic := func(m map[string]any) map[string]any {
		m = maps.Clone(m)
		m["x-kubernetes-map-type"] = "atomic"
		return m
	}
	labels := map[string]any{"type": "object", "properties": map[string]any{
		"matchLabels": text, "matchExpressions": map[string]any{"type": "array", "items": map[string]any{"type": "object"}},
	}}
	n := kinds.FromCRD(map[string]any{"spec": map[string]any{
		"group": "example.com", "names": map[string]any{"kind": "Thing"},
		"versions": []any{map[string]any{"name": "v1", "schema": map[string]any{"openAPIV3Schema": map[string]any{
			"type": "object", "properties": map[string]any{
				"text": text, "atomicText": atomic(text), "selector": atomic(labels), "granular": labels,
				"ref":     atomic(map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}}),
				"numbers": atomic(map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "integer"}}),
			},
		}}}},
	}}, schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"})
	for name, want := range map[string]bool{"text": false, "atomicText": true, "selector": true, "granular": false, "ref": false, "numbers": false} {
		assert.Equal(t, want, n.Field(name).IsOneValue(), name)
	}
}
