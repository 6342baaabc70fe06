package plan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
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
	gvk := plan.Change{ID: webID, APIVersion: "apps/v1"}.GVK()
	s := plan.Suggest(live, kinds.Builtin(gvk))
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
}

func TestAnObjectThatNobodyWroteGetsNoFields(t *testing.T) {
	s := plan.Suggest(map[string]any{
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
	s := plan.Suggest(documents[0].Value, nil)
	assert.Equal(t, map[string]any{"rythms": []any{
		map[string]any{}, observer.LeafText, map[string]any{observer.KeyMinLength: int64(2), observer.KeyMaxLength: int64(0)},
	}}, s.Entry["spec"])
	assert.Len(t, s.LeftOut, 2)
}
