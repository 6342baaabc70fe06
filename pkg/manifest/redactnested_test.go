package manifest

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const nested = `
apiVersion: holdfast.dev/v1alpha1
kind: Application
metadata:
  name: inner
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{"apiVersion":"holdfast.dev/v1alpha1","kind":"Application","spec":{"manifest":[{"apiVersion":"v1","kind":"Secret","data":{"a":"canary"}}]}}'
spec:
  manifest:
  - {apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {a: canary}}
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: open}}
  - {apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Secret, data: {a: canary}}, text]}]}
  - {apiVersion: v1, kind: SecretList, items: [{data: {a: canary}}]}
  - apiVersion: holdfast.dev/v1alpha1
    kind: Application
    spec: {manifest: [{apiVersion: v1, kind: Secret, data: {a: canary}}, text]}
  select:
  - {apiVersion: v1, kind: Secret, names: [s], hold: {type: Opaque, stringData: {a: canary}}}
  - {apiVersion: v1, kind: ConfigMap, hold: {data: {b: open}}}
  - {apiVersion: holdfast.dev/v1alpha1, kind: Application, hold: {spec: {select: [{kind: Secret, hold: {kind: ConfigMap, data: {a: canary}}}, {hold: text}]}}}
`

// RedactNested masks the values of Secrets among the manifests of an Application, at any depth.
func TestRedactNested(t *testing.T) {
	object := one(t, nested)
	before, err := json.Marshal(object)
	require.NoError(t, err)
	raw, err := json.Marshal(RedactNested(object))
	require.NoError(t, err)
	assert.NotContains(t, string(raw), "canary")
	assert.Contains(t, string(raw), `{"a":"open"}`)
	assert.Contains(t, string(raw), `"stringData":{"a":"***"}`)
	assert.Contains(t, string(raw), `"hold":{"data":{"b":"open"}}`)
	assert.Contains(t, string(raw), `"hold":{"stringData":{"a":"***"},"type":"Opaque"}`)
	assert.Contains(t, string(raw), `"hold":{"data":{"a":"***"},"kind":"ConfigMap"}`)
	after, err := json.Marshal(object)
	require.NoError(t, err)
	assert.JSONEq(t, string(before), string(after), "the input is not modified")

	broken := one(t, nested)
	broken["metadata"].(map[string]any)["annotations"].(map[string]any)["kubectl.kubernetes.io/last-applied-configuration"] = "canary{"
	raw, err = json.Marshal(RedactNested(broken))
	require.NoError(t, err)
	assert.NotContains(t, string(raw), "canary")
	assert.Equal(t, map[string]any{"kind": "Secret", "data": "***"}, RedactNested(map[string]any{"kind": "Secret", "data": "x"}))
	assert.Nil(t, RedactNested(nil))
}
