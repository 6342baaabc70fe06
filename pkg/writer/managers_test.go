package writer

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/observer"
)

// TestOwner: the nearest field manager owns a field, and of several the last; none on a tie.
func TestOwner(t *testing.T) {
	live := map[string]any{}
	require.NoError(t, yaml.Unmarshal([]byte(`
metadata:
  managedFields:
  - {manager: old, time: '2026-01-01T00:00:00Z', fieldsV1: {'f:spec': {'f:replicas': {}, 'f:selector': {}}}}
  - {manager: new, time: '2026-01-02T00:00:00Z', fieldsV1: {'f:spec': {'f:replicas': {}}}}
  - {manager: lists, time: '2026-01-01T00:00:00Z', fieldsV1: {'f:spec': {'f:containers': {'k:{"name":"web"}': {'.': {}, 'f:name': {}, 'f:image': {}}}, 'f:finalizers': {'v:"x"': {}}, 'f:args': {'i:1': {}}}}}
  - {manager: one, time: '2026-01-01T00:00:00Z', fieldsV1: {'f:spec': {'f:tied': {}}}}
  - {manager: two, time: '2026-01-01T00:00:00Z', fieldsV1: {'f:spec': {'f:tied': {}}}}
  - {manager: nearer, time: '2025-01-01T00:00:00Z', fieldsV1: {'f:spec': {'f:selector': {'f:nearer': {}}}}}
  - {manager: timeless, fieldsV1: {'f:spec': {'f:paused': {}}}}
  - {manager: broken, fieldsV1: {'x:spec': {}}}
  - {manager: empty}
spec:
  containers: [{name: mesh}, {name: web, image: web:1}]
  finalizers: [y, x]
  args: [a, b]
  selector: {app: web}
`), &live))
	spec := (*observer.Path)(nil).Field("spec")
	rows := []struct {
		name    string
		path    *observer.Path
		manager string
	}{
		{"the last of two", spec.Field("replicas"), "new"},
		{"a field without an owner", spec.Field("other"), ""},
		{"a map, by its fields", spec, "new"},
		{"inside what is owned whole", spec.Field("selector").Field("app"), "old"},
		{"an element by its key", spec.Field("containers").Element("[name=web]", 1).Field("image"), "lists"},
		{"another element", spec.Field("containers").Element("[name=mesh]", 0).Field("image"), ""},
		{"an element that is gone", spec.Field("containers").Element("[name=gone]", -1), ""},
		{"an element of a set", spec.Field("finalizers").Element("[=x]", 1), "lists"},
		{"another element of a set", spec.Field("finalizers").Element("[=y]", 0), ""},
		{"an element by its position", spec.Field("args").Element("[1]", 1), "lists"},
		{"a writer without a time", spec.Field("paused"), "timeless"},
		{"a tie", spec.Field("tied"), ""},
		{"the nearer owner, and not the later one of all of it", spec.Field("selector").Field("nearer"), "nearer"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			writer, _ := NewIndex(nil, live).OfValue(row.path)
			assert.Equal(t, row.manager, writer.Manager)
		})
	}
}
