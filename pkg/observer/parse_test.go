package observer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

func parseYAML(t *testing.T, texts ...string) ([]*observer.Schema, error) {
	t.Helper()
	raw := make([]map[string]any, len(texts))
	for i, text := range texts {
		content, err := yaml.YAMLToJSON([]byte(text))
		require.NoError(t, err)
		raw[i], err = manifest.DecodeJSON(content)
		require.NoError(t, err)
	}
	return observer.ParseAll(raw)
}

const head = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n"

const null = "is null, which many clients drop: write \"observed\""

func TestFaultsOfASchema(t *testing.T) {
	const where = "observerSchema[0] (Service web): "
	rows := []struct {
		name, schema string
		faults       []string
	}{
		{"a value is not a leaf", head + "spec: {a: 1, b: x, c: true, d: 1.5}", []string{
			where + `spec.a: must be "observed", not the number 1: a schema contains fields, but no values`,
			where + `spec.b: must be "observed", not the string "x": a schema contains fields, but no values`,
			where + `spec.c: must be "observed", not the boolean true: a schema contains fields, but no values`,
			where + `spec.d: must be "observed", not the number 1.5: a schema contains fields, but no values`,
		}},
		{"an empty list", head + "spec: {a: []}", []string{
			where + "spec.a: is an empty list: its last element must be a control dictionary, such as {observer_schema_list_min_length: 0, observer_schema_list_max_length: 0}",
		}},
		{"nulls", "apiVersion: v1\nkind: Service\nmetadata: {name: web, labels: null}\nspec: {a: null}", []string{
			where + "metadata.labels: " + null, where + "spec.a: " + null,
		}},
		{"a list without control dictionary", head + "spec: {a: [observed]}", []string{
			where + "spec.a: has no control dictionary: add one after its last element, such as {observer_schema_list_min_length: 1, observer_schema_list_max_length: 0}; 0 means no upper limit",
		}},
		{"a control dictionary in the middle", head + "spec: {a: [{observer_schema_list_min_length: 0}, {observer_schema_list_min_length: 0, observer_schema_list_max_length: 0}]}", []string{
			where + "spec.a[0]: is a control dictionary, which must be the last element of the list",
		}},
		{"a control key outside of a list", head + "spec: {observer_schema_list_min_length: 0}", []string{
			where + "spec.observer_schema_list_min_length: belongs in the control dictionary, the last element of a list",
		}},
		{"a length is missing", head + "spec: {a: [{observer_schema_list_min_length: 0}]}", []string{
			where + "spec.a[0].observer_schema_list_max_length: is missing: it must be an integer, 0 or more",
		}},
		{"lengths that are no lengths", head + "spec: {a: [{observer_schema_list_min_length: -1, observer_schema_list_max_length: 1.5}]}", []string{
			where + "spec.a[0].observer_schema_list_min_length: must be an integer, 0 or more, not the number -1",
			where + "spec.a[0].observer_schema_list_max_length: must be an integer, 0 or more, not the number 1.5",
		}},
		{"a maximum below the minimum", head + "spec: {a: [{observer_schema_list_min_length: 2, observer_schema_list_max_length: 1}]}", []string{
			where + "spec.a[0].observer_schema_list_max_length: is 1, less than observer_schema_list_min_length 2; 0 means no upper limit",
		}},
		{"a maximum below the elements", head + "spec: {a: [observed, observed, {observer_schema_list_min_length: 0, observer_schema_list_max_length: 1}]}", []string{
			where + "spec.a[2].observer_schema_list_max_length: is 1, less than the 2 elements before it; 0 means no upper limit",
		}},
		{"map keys that are no names", head + "spec: {a: [{observer_schema_list_min_length: 0, observer_schema_list_max_length: 0, observer_schema_list_map_keys: [a, a]}], b: [{observer_schema_list_min_length: 0, observer_schema_list_max_length: 0, observer_schema_list_map_keys: a}]}", []string{
			where + "spec.a[0].observer_schema_list_map_keys: must be a list of different field names",
			where + "spec.b[0].observer_schema_list_map_keys: must be a list of field names",
		}},
		{"another key in the control dictionary", head + "spec: {a: [{observer_schema_list_min_length: 0, observer_schema_list_max_length: 0, more: 1}]}", []string{
			where + "spec.a[0].more: is not a key of the control dictionary",
		}},
		{"fields of the API server", "apiVersion: v1\nkind: Service\nmetadata: {name: web, uid: observed, resourceVersion: observed, generation: observed, creationTimestamp: observed, deletionTimestamp: observed, managedFields: observed, selfLink: observed}", []string{
			where + "metadata.creationTimestamp: belongs to the API server and cannot be observed",
			where + "metadata.deletionTimestamp: belongs to the API server and cannot be observed",
			where + "metadata.generation: belongs to the API server and cannot be observed",
			where + "metadata.managedFields: belongs to the API server and cannot be observed",
			where + "metadata.resourceVersion: belongs to the API server and cannot be observed",
			where + "metadata.selfLink: belongs to the API server and cannot be observed",
			where + "metadata.uid: belongs to the API server and cannot be observed",
		}},
		{"no identity", "spec: observed", []string{
			"observerSchema[0]: apiVersion: must be a string, and not null: it identifies the resource",
			"observerSchema[0]: kind: must be a string, and not null: it identifies the resource",
			"observerSchema[0]: metadata: must be a map with the name of the resource, which identifies it",
		}},
		{"a null identity", "apiVersion: null\nkind: null\nmetadata: {name: null}", []string{
			"observerSchema[0]: apiVersion: must be a string, and not null: it identifies the resource",
			"observerSchema[0]: kind: must be a string, and not null: it identifies the resource",
			"observerSchema[0]: metadata.name: must be a string, and not null: it identifies the resource",
		}},
		{"an apiVersion that is none", "apiVersion: a/b/c\nkind: Service\nmetadata: {name: web}", []string{
			where + `apiVersion: "a/b/c" is not group/version`,
		}},
		{"a namespace that is no text", "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: 5}", []string{
			where + `metadata.namespace: must be a string or "observed"`,
		}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			_, err := parseYAML(t, row.schema)
			require.Error(t, err)
			assert.Equal(t, row.faults, strings.Split(err.Error(), "\n"))
		})
	}
}

func TestFaultsOfAllEntriesAreReportedAtOnce(t *testing.T) {
	_, err := parseYAML(t, head+"a: 1", head+"b: observed", head+"c: 2")
	require.Error(t, err)
	assert.Equal(t, []string{
		`observerSchema[0] (Service web): a: must be "observed", not the number 1: a schema contains fields, but no values`,
		`observerSchema[2] (Service web): c: must be "observed", not the number 2: a schema contains fields, but no values`,
	}, strings.Split(err.Error(), "\n"))
}

func TestHostileSchemasAreRefusedShortly(t *testing.T) {
	var deep any
	for range 10000 {
		deep = map[string]any{"a": deep}
	}
	long := strings.Repeat("k", 64<<10)
	for name, value := range map[string]any{
		"deep nesting": deep, "a long key": map[string]any{long: int64(1)}, "a long text": long,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := observer.ParseAll([]map[string]any{{
				"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "web"}, "spec": value,
			}})
			require.Error(t, err)
			assert.Less(t, len(err.Error()), 1024)
		})
	}
}

func TestParsedValues(t *testing.T) {
	t.Run("a namespace identifies", func(t *testing.T) {
		entries, err := parseYAML(t, "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}")
		require.NoError(t, err)
		assert.Equal(t, manifest.ID{Kind: "Service", Namespace: "shop", Name: "web"}, entries[0].ID)
		assert.Equal(t, map[string]any{"name": "web", "namespace": "shop"}, entries[0].Raw()["metadata"])
	})
	t.Run("a namespace can be observed", func(t *testing.T) {
		entries, err := parseYAML(t, "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: observed}")
		require.NoError(t, err)
		assert.Empty(t, entries[0].ID.Namespace)
		assert.Equal(t, map[string]any{"name": "web", "namespace": "observed"}, entries[0].Raw()["metadata"])
	})
	t.Run("the length of an observation is no fault", func(t *testing.T) {
		_, err := parseYAML(t, head+"spec: {a: [{observer_schema_list_min_length: 0, observer_schema_list_max_length: 0, observer_schema_list_current_length: 3}]}")
		assert.NoError(t, err)
	})
	t.Run("stringData of a Secret is data", func(t *testing.T) {
		entries, err := parseYAML(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: observed}\ndata: {b: observed}")
		require.NoError(t, err)
		assert.Equal(t, map[string]any{"a": "observed", "b": "observed"}, entries[0].Raw()["data"])
		assert.NotContains(t, entries[0].Raw(), "stringData")
	})
	t.Run("status may be observed", func(t *testing.T) {
		_, err := parseYAML(t, head+"status: observed")
		assert.NoError(t, err)
	})
}

func TestAValueOfASecretIsNotRepeatedInAFault(t *testing.T) {
	for text, want := range map[string]string{
		"stringData: {password: hunter2}":                                                     `stringData.password: must be "observed"`,
		"data: {observer_schema_keys: hunter2}":                                               `{"path": "data", "keys": "***"}`,
		"data: {a: {observer_schema_mode: hunter2}}":                                          `{"path": "data.a", "mode": "***"}`,
		"data: {a: {observer_schema_one_of: [hunter2]}}":                                      `{"path": "data.a", "oneOf": "***"}`,
		"x: [{observer_schema_list_min_length: hunter2, observer_schema_list_max_length: 0}]": "must be an integer, 0 or more",
	} {
		_, err := parseYAML(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: keys}\n"+text)
		require.Error(t, err, text)
		assert.NotContains(t, err.Error(), "hunter2")
		assert.Contains(t, err.Error(), want)
	}
}

// The keys that the API server has added to a closed map have no limit, because the record must be readable.
func TestKeptKeysHaveNoLimit(t *testing.T) {
	kept := make([]any, 300)
	for i := range kept {
		kept[i] = fmt.Sprint(strings.Repeat("k", 400), i)
	}
	raw := map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "c"},
		"data": map[string]any{"observer_schema_keys": map[string]any{"hold": []any{"*"}, "kept": kept}},
	}
	entry, err := observer.ParseRecorded(raw)
	require.NoError(t, err)
	assert.Equal(t, raw, entry.Raw())
}
