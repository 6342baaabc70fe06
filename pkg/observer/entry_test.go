package observer_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// service returns the Service that head describes, with the given spec.
func service(t *testing.T, spec string) manifest.Object {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(head + "spec: " + spec))
	require.NoError(t, err)
	content, err := manifest.DecodeJSON(raw)
	require.NoError(t, err)
	return manifest.Object{ID: manifest.ID{Kind: "Service", Namespace: "default", Name: "web"}, APIVersion: "v1", Content: content}
}

// assigned returns the schema with the given spec, assigned to an object.
func assigned(t *testing.T, schema string, object manifest.Object) *observer.Schema {
	t.Helper()
	entries, err := parseYAML(t, head+"spec: "+schema)
	require.NoError(t, err)
	own, err := observer.Assign(entries, []manifest.Object{object})
	require.NoError(t, err)
	return own[0]
}

func control(lowest, highest int64) map[string]any {
	return map[string]any{observer.KeyMinLength: lowest, observer.KeyMaxLength: highest}
}

func TestHookFieldsAreObserved(t *testing.T) {
	const limits = "{observer_schema_list_min_length: 0, observer_schema_list_max_length: 3}"
	rows := []struct {
		name, schema, before, after string
		spec                        any
	}{
		{"a new field", "{a: observed}", "{a: 1, b: 1}", "{a: 1, b: 1, c: {d: 1}}",
			map[string]any{"a": nil, "c": map[string]any{"d": nil}}},
		{"a changed field", "{a: observed}", "{a: 1, b: 1}", "{a: 1, b: 2}", map[string]any{"a": nil, "b": nil}},
		{"a field in a map, without its siblings", "{a: observed}", "{m: {x: 1}}", "{m: {x: 1, z: 2}}",
			map[string]any{"a": nil, "m": map[string]any{"z": nil}}},
		{"a field below an observed map", "{m: observed}", "{m: {x: 1}}", "{m: {x: 1, z: 2}}", map[string]any{"m": nil}},
		{"an element, and not those before it", "{a: observed}", "{l: [1, 2]}", "{l: [1, 2, 3]}",
			map[string]any{"a": nil, "l": []any{map[string]any{}, map[string]any{}, nil, control(0, 0)}}},
		{"an element, before those that are learned", "{l: [{x: observed}, {learned: observed}, " + limits + "]}", "{l: [{x: 1}]}", "{l: [{x: 1}, {z: 2}]}",
			map[string]any{"l": []any{map[string]any{"x": nil}, map[string]any{"z": nil}, map[string]any{"learned": nil}, control(0, 4)}}},
		{"a list", "{}", "{}", "{l: [1]}", map[string]any{"l": []any{nil, control(0, 0)}}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			before, after := service(t, row.before), service(t, row.after)
			entry := assigned(t, row.schema, before)
			raw := entry.Raw()
			assert.Equal(t, observer.ReplaceNulls(map[string]any{"spec": row.spec})["spec"], entry.WithHookChanges(before, after).Raw()["spec"])
			assert.Equal(t, raw, entry.Raw(), "the entry itself is not changed")
			_, err := observer.ParseAll([]map[string]any{entry.WithHookChanges(before, after).Raw()})
			assert.NoError(t, err)
		})
	}
}

func TestAPlaceInAListObservesNothing(t *testing.T) {
	object := service(t, "{l: [one, two]}")
	entry := assigned(t, "{l: [{}, observed, {observer_schema_list_min_length: 0, observer_schema_list_max_length: 0}]}", object)
	live := service(t, "{l: [changed, two]}").Content
	assert.Equal(t, []any{map[string]any{}, "two", map[string]any{observer.KeyCurrentLength: int64(2)}},
		entry.Project(nil, object.Content, live)["spec"].(map[string]any)["l"])
}

func TestLearnedElementsStandAsTheirSchema(t *testing.T) {
	object := service(t, "{}")
	entry := assigned(t, "{l: [{a: observed}, {b: observed}, {observer_schema_list_min_length: 0, observer_schema_list_max_length: 0}]}", object)
	desired := entry.Desired(nil, object.Content, nil)
	assert.False(t, entry.Learn(nil, desired, nil, service(t, "{l: [{x: 1}, {b: 2}]}").Content), "the first has nothing to learn yet")
	assert.True(t, entry.Learn(nil, desired, nil, service(t, "{l: [{a: 1}, {b: 2}]}").Content))
	assert.Equal(t, []any{map[string]any{"a": int64(1)}, map[string]any{"b": int64(2)}}, desired["spec"].(map[string]any)["l"])
}

func TestASchemaOfAnotherVersionIsFound(t *testing.T) {
	object := manifest.Object{ID: manifest.ID{Group: "apps", Kind: "Deployment", Name: "web"}, APIVersion: "apps/v1", Content: map[string]any{}}
	entries, err := parseYAML(t, "apiVersion: apps/v1beta1\nkind: Deployment\nmetadata: {name: web}")
	require.NoError(t, err)
	own, err := observer.Assign(entries, []manifest.Object{object})
	require.NoError(t, err)
	assert.False(t, own[0].Default)
}
