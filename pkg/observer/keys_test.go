package observer_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/observer"
)

func TestKeysOfAClosedMap(t *testing.T) {
	for _, row := range []struct {
		pattern        string
		holds, hasNone []string
	}{
		{"*", []string{"a", "a/b", "x.y/z"}, []string{"holdfast.dev/application-uid"}},
		{"app.kubernetes.io/*", []string{"app.kubernetes.io/name", "app.kubernetes.io/"}, []string{"app.kubernetes.io", "kubernetes.io/name", "x.app.kubernetes.io/name"}},
		{"*.cattle.io/*", []string{"field.cattle.io/project", "a.b.cattle.io/c.cattle.io/d"}, []string{"cattle.io/a", "field.cattle.io"}},
		{"a*b*c", []string{"abc", "axxbyyc", "abbc"}, []string{"ab", "acb", "abcd"}},
		{"exact", []string{"exact"}, []string{"exact1", "1exact", ""}},
		{"a*a", []string{"aa", "aba"}, []string{"a"}},
	} {
		keys := &observer.Keys{Hold: []string{row.pattern}}
		for _, name := range row.holds {
			assert.True(t, keys.Holds(name), "%s %s", row.pattern, name)
		}
		for _, name := range row.hasNone {
			assert.False(t, keys.Holds(name), "%s %s", row.pattern, name)
		}
	}
}

func TestUnclosableMapsAreRejected(t *testing.T) {
	for path, fault := range map[string]string{
		"metadata": "closes only maps below the object, not the entire object or its metadata",
		"status.a": "cannot be below status",
	} {
		compiled, faults := compiled(t, path, map[string]any{"keys": map[string]any{"hold": []any{"*"}}}, map[string]any{})
		require.Empty(t, faults)
		require.Len(t, compiled.Faults, 1)
		assert.ErrorContains(t, compiled.Faults[0], fault)
	}
	_, faults := compiled(t, "data", map[string]any{"keys": map[string]any{"hold": make([]any, 101)}}, map[string]any{})
	require.Len(t, faults, 1)
	assert.ErrorContains(t, faults[0], "must be a list of 1 to 100 keys")
}
