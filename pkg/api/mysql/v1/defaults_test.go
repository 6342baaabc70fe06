package v1_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/deploy/crd"
	"holdfast.dev/holdfast/pkg/api/mysql/v1"
)

// Programs without an API server apply the same defaults as the API server.
func TestDefaultsMatchDefinition(t *testing.T) {
	var definition map[string]any
	require.NoError(t, yaml.Unmarshal(crd.Mysqls, &definition))
	versions, _, err := unstructured.NestedSlice(definition, "spec", "versions")
	require.NoError(t, err)
	properties, found, err := unstructured.NestedMap(versions[0].(map[string]any), "schema", "openAPIV3Schema", "properties", "spec", "properties")
	require.NoError(t, err)
	require.True(t, found)
	expected := map[string]any{}
	for name, schema := range properties {
		if value, has := schema.(map[string]any)["default"]; has {
			expected[name] = value
		}
	}
	raw, err := json.Marshal(v1.MysqlSpec{}.Defaulted())
	require.NoError(t, err)
	var actual map[string]any
	require.NoError(t, json.Unmarshal(raw, &actual))
	assert.Equal(t, expected, actual)
}

func TestDefaultsReplaceNothing(t *testing.T) {
	spec := v1.MysqlSpec{CPU: "1", Memory: "2Gi", Storage: "3Gi", Version: "9", Database: "d", DeletionPolicy: v1.DeletionDelete}
	assert.Equal(t, spec, spec.Defaulted())
}
