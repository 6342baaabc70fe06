package suggestion_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/suggestion"
)

const suggestedLive = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: default
  uid: u-1
  labels: {app: web, holdfast.dev/application-uid: u-2}
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: |
      {"metadata": {"labels": {"app": "web"}}, "spec": {"paused": true, "template": {"spec": {"containers": [{"name": "web", "image": "web:1"}]}}}}
  managedFields:
  - {manager: kubectl-client-side-apply, operation: Update, fieldsV1: {'f:metadata': {'f:labels': {'f:app': {}}}, 'f:spec': {'f:paused': {}, 'f:minReadySeconds': {}, 'f:template': {'f:spec': {'f:containers': {'k:{"name":"web"}': {'f:name': {}, 'f:image': {}}}}}}}}
  - {manager: kubectl, subresource: scale, fieldsV1: {'f:spec': {'f:replicas': {}}}}
  - {manager: istio-sidecar-injector, fieldsV1: {'f:spec': {'f:template': {'f:spec': {'f:containers': {'k:{"name":"proxy"}': {'f:name': {}, 'f:image': {}}}}}}}}
spec:
  paused: true
  replicas: 5
  minReadySeconds: 0
  template:
    spec:
      containers:
      - {name: proxy, image: "proxy:1"}
      - {name: web, image: "web:1"}
status: {replicas: 5}
`

func TestASchemaIsSuggestedFromWhatPeopleWrote(t *testing.T) {
	documents, err := manifest.Read("live", []byte(suggestedLive))
	require.NoError(t, err)
	live := documents[0].Value
	gvk := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	s := suggestion.For(live, kinds.Builtin(gvk))
	var want map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: observed}}
spec:
  paused: observed
  template:
    spec:
      containers:
      - {name: observed, image: observed}
      - {observer_schema_list_min_length: 1, observer_schema_list_max_length: 0}
`), &want))
	assert.True(t, observer.Equal(want, s.Entry), "%v", s.Entry)
	var left []string
	for _, f := range s.LeftOut {
		left = append(left, f.Path+" "+f.Writer.Manager)
	}
	assert.Equal(t, []string{
		"spec.replicas kubectl",
		"spec.template.spec.containers[name=proxy].image istio-sidecar-injector",
		"spec.template.spec.containers[name=proxy].name istio-sidecar-injector",
	}, left)
	_, err = observer.ParseAll([]map[string]any{s.Entry})
	assert.NoError(t, err, "what is suggested can be used")
	want = nil
	require.NoError(t, yaml.Unmarshal([]byte(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default, labels: {app: web}}
spec:
  paused: true
  replicas: 5
  template: {spec: {containers: [{name: web, image: "web:1"}]}}
`), &want))
	assert.True(t, observer.Equal(want, s.Manifest), "%v", s.Manifest)
	assert.Equal(t, []string{"spec.replicas"}, s.Free, "a create begins with it")
	assert.False(t, s.Empty())
}

func TestSuggestionsNameTheAuthor(t *testing.T) {
	for _, row := range []struct{ name, entry, object, free, held string }{
		{"the defaults of a created object are not held",
			`{manager: kubectl-create, operation: Update, fieldsV1: {'f:spec': {'f:dnsPolicy': {}, 'f:containers': {'k:{"name":"a"}': {'.': {}, 'f:name': {}, 'f:image': {}, 'f:imagePullPolicy': {}, 'f:terminationMessagePath': {}, 'f:tty': {}}}}}}`,
			`{dnsPolicy: ClusterFirst, containers: [{name: a, image: "a:1", imagePullPolicy: IfNotPresent, terminationMessagePath: /dev/termination-log, tty: true}]}`,
			"", `{containers: [{name: a, image: "a:1", tty: true}]}`},
		{"a default that was applied was set",
			`{manager: kubectl, operation: Apply, fieldsV1: {'f:spec': {'f:dnsPolicy': {}}}}`, `{dnsPolicy: ClusterFirst}`,
			"", `{dnsPolicy: ClusterFirst}`},
		{"an image without a version has another policy by default",
			`{manager: helm, operation: Update, fieldsV1: {'f:spec': {'f:containers': {'k:{"name":"a"}': {'f:image': {}, 'f:imagePullPolicy': {}}}}}}`,
			`{containers: [{name: a, image: "b:5000/a", imagePullPolicy: Always}]}`,
			"", `{containers: [{name: a, image: "b:5000/a"}]}`},
		{"a field that a GitOps controller applied is held",
			`{manager: argocd-application-controller, operation: Apply, fieldsV1: {'f:spec': {'f:hostname': {}}}}`, `{hostname: a}`,
			"", `{hostname: a}`},
		{"a null is not held",
			`{manager: helm, operation: Update, fieldsV1: {'f:spec': {'f:hostname': {}, 'f:subdomain': {}}}}`, `{hostname: null, subdomain: a}`,
			"", `{subdomain: a}`},
		{"an element with a set image keeps its key",
			`{manager: kubectl-edit, operation: Update, fieldsV1: {'f:spec': {'f:containers': {'k:{"name":"a"}': {'f:image': {}}}}}}`,
			`{containers: [{name: b, image: b}, {name: a, image: a, tty: true}]}`,
			"", `{containers: [{name: a, image: a}]}`},
		{"a default in a value that was applied as a whole",
			`{manager: kubectl, operation: Apply, fieldsV1: {'f:spec': {'f:securityContext': {'f:sysctls': {}}, 'f:affinity': {}}}}`,
			`{affinity: {x: {protocol: TCP, port: 1}}}`,
			"", `{affinity: {x: {port: 1}}}`},
		{"an earlier element of a list without keys is free",
			`{manager: kubectl-edit, operation: Update, fieldsV1: {'f:spec': {'f:tolerations': {'i:1': {'f:key': {}}}}}}`,
			`{tolerations: [{key: a}, {key: b}, {key: c}]}`,
			"spec.tolerations[0]", `{tolerations: [{key: a}, {key: b}]}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			documents, err := manifest.Read("live", []byte("{apiVersion: v1, kind: Pod, metadata: {name: web, managedFields: ["+row.entry+"]}, spec: "+row.object+"}"))
			require.NoError(t, err)
			s := suggestion.For(documents[0].Value, kinds.Builtin(schema.GroupVersionKind{Version: "v1", Kind: "Pod"}))
			var want any
			require.NoError(t, yaml.Unmarshal([]byte(row.held), &want))
			assert.True(t, observer.Equal(want, s.Manifest["spec"]), "%v", s.Manifest["spec"])
			assert.Equal(t, row.free, strings.Join(s.Free, " "))
		})
	}
}

func TestAnObjectOfControllersAloneIsEmpty(t *testing.T) {
	documents, err := manifest.Read("live", []byte(`
apiVersion: v1
kind: ConfigMap
metadata:
  name: kube-root-ca.crt
  managedFields: [{manager: kube-controller-manager, operation: Update, fieldsV1: {'f:data': {'f:ca.crt': {}}}}]
data: {ca.crt: x}
`))
	require.NoError(t, err)
	assert.True(t, suggestion.For(documents[0].Value, nil).Empty())
}

// Annotations from restarts, Helm and Holdfast record an action and its client. They are not suggested.
func TestVerbsAreNoSuggestions(t *testing.T) {
	documents, err := manifest.Read("live", []byte(`
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  annotations: {meta.helm.sh/release-name: web, holdfast.dev/adopted: "true", team: blue}
  managedFields:
  - {manager: helm, operation: Update, fieldsV1: {'f:metadata': {'f:annotations': {'f:meta.helm.sh/release-name': {}, 'f:holdfast.dev/adopted': {}, 'f:team': {}}}}}
  - {manager: kubectl-rollout, operation: Update, fieldsV1: {'f:spec': {'f:template': {'f:metadata': {'f:annotations': {'f:kubectl.kubernetes.io/restartedAt': {}}}}}}}
spec: {template: {metadata: {annotations: {kubectl.kubernetes.io/restartedAt: "2026-01-01T00:00:00Z"}}}}
`))
	require.NoError(t, err)
	s := suggestion.For(documents[0].Value, nil)
	assert.Equal(t, map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web", "annotations": map[string]any{"team": "blue"}},
	}, s.Manifest)
	require.Len(t, s.LeftOut, 1)
	assert.Equal(t, "kubectl-rollout", s.LeftOut[0].Writer.Manager)
}

func TestUnwrittenObjectGetsNoFields(t *testing.T) {
	s := suggestion.For(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "data": map[string]any{"x": "y"},
	}, nil)
	assert.Equal(t, map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}}, s.Entry)
}

func TestAListByPositionKeepsItsPlaces(t *testing.T) {
	documents, err := manifest.Read("live", []byte(`
apiVersion: example.com/v1
kind: Song
metadata:
  name: a
  managedFields:
  - {manager: editor, fieldsV1: {'f:spec': {'f:rythms': {'i:1': {}}}}}
  - {manager: song-operator, fieldsV1: {'f:spec': {'f:rythms': {'i:0': {}, 'i:2': {}}}}}
spec: {rythms: [bubam, badum, bum]}
`))
	require.NoError(t, err)
	s := suggestion.For(documents[0].Value, nil)
	assert.Equal(t, map[string]any{"rythms": []any{
		map[string]any{}, observer.LeafText, map[string]any{observer.KeyMinLength: int64(2), observer.KeyMaxLength: int64(0)},
	}}, s.Entry["spec"])
	assert.Len(t, s.LeftOut, 2)
}
