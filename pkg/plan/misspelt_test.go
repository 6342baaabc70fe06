package plan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/kinds"
)

// served represents an API server whose version differs from that of the built-in kinds.
type served struct {
	intent.Kinds
	configMap *kinds.Node
}

func (s served) Published(gvk schema.GroupVersionKind) *kinds.Node {
	if gvk.Kind == "ConfigMap" {
		return s.configMap
	}
	return nil
}

func TestTheAPIServerKnowsItsFieldsBest(t *testing.T) {
	configMap, err := kinds.FromOpenAPI([]byte(`{"components": {"schemas": {"ConfigMap": {
		"x-kubernetes-group-version-kind": [{"group": "", "version": "v1", "kind": "ConfigMap"}],
		"properties": {"apiVersion": {}, "kind": {}, "metadata": {}, "later": {}, "data": {"additionalProperties": {"type": "string"}}}}}}}`),
		schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
	require.NoError(t, err)
	w := newWorld(t, `manifest:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, later: {}, immutable: true}
- {apiVersion: v1, kind: Secret, metadata: {name: settings}, later: {}}`)
	const builtIn = "spec.manifest[1].later (Secret default/settings): v1 Secret has no such field"
	assert.Equal(t, []string{"spec.manifest[0].later (ConfigMap default/settings): v1 ConfigMap has no such field", builtIn}, w.decide().Warnings)

	w.kinds = served{intent.Offline(), configMap}
	assert.Equal(t, []string{"spec.manifest[0].immutable (ConfigMap default/settings): v1 ConfigMap has no such field", builtIn}, w.decide().Warnings)
}
