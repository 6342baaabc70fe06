package observer_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
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
	closed := map[string]any{"hold": []any{"*"}}
	for _, row := range []struct {
		name  string
		entry map[string]any
		fault string
	}{
		{"the object", map[string]any{observer.KeyKeys: closed}, "closes only maps below the object, not the entire object or its metadata"},
		{"its metadata", map[string]any{"metadata": map[string]any{"name": "a", observer.KeyKeys: closed}}, "closes only maps below the object, not the entire object or its metadata"},
		{"its status", map[string]any{"status": map[string]any{"a": map[string]any{observer.KeyKeys: closed}}}, "cannot be below status"},
		{"too many keys", map[string]any{"data": map[string]any{observer.KeyKeys: map[string]any{"hold": make([]any, 101)}}}, "must be a list of 1 to 100 keys"},
	} {
		t.Run(row.name, func(t *testing.T) {
			entry := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}}
			for name, value := range row.entry {
				entry[name] = value
			}
			_, err := observer.ParseAll([]map[string]any{entry})
			assert.ErrorContains(t, err, row.fault)
		})
	}
}

func TestClosedDefaultEntriesAreTheirOwn(t *testing.T) {
	object := manifest.Object{
		ID: manifest.ID{Kind: "ConfigMap", Name: "a"}, APIVersion: "v1",
		Content: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"name": "a", "labels": map[string]any{"x": "y"}}, "data": map[string]any{"k": "v"},
		},
	}
	entry := observer.DefaultEntry(object)
	closed := entry.Closed(kinds.Builtin(object.GVK()))
	assert.NotNil(t, closed.Root.Field("data").Keys)
	assert.Nil(t, closed.Root.Field("metadata").Field("labels").Keys, "those are named")
	assert.Nil(t, entry.Root.Field("data").Keys, "the entry itself is not changed")
	path, err := observer.ParsePath("metadata.labels")
	require.NoError(t, err)
	closed, found := entry.ClosedAt(path)
	assert.True(t, found)
	assert.NotNil(t, closed.Root.Field("metadata").Field("labels").Keys)
	parsed, err := observer.ParseAll([]map[string]any{closed.Raw()})
	require.NoError(t, err)
	assert.Equal(t, closed.Raw(), parsed[0].Raw())
	assert.False(t, closed.SameFields(entry), "a closed entry is no default one")
}
