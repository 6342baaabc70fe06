package observer_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/observer"
)

// The name of an element of a set leads to the element, also if it contains maps, lists and brackets.
func TestElementsOfASetByName(t *testing.T) {
	rule := map[string]any{"apiGroups": []any{""}, "resources": []any{"pods", "a]b}"}, "verbs": []any{"get"}, "limit": map[string]any{"n": int64(1)}}
	odd := map[string]any{"name": `a}],"=`, "other": "{", "empty": ""}
	live := []any{map[string]any{"name": "x", "more": "y"}, rule, odd, map[string]any{"name": "x"}}
	for want, element := range map[int]any{1: rule, 2: odd, 3: live[3], 0: live[0]} {
		label := (&observer.List{ByValue: true}).Labels(nil, []any{element})[0]
		path, err := observer.ParsePath("spec.list" + label)
		require.NoError(t, err, label)
		assert.Equal(t, "spec.list"+label, path.String())
		k, keys := path.In(nil, live)
		assert.Equal(t, want, k, label)
		assert.Empty(t, keys)
	}
	path, err := observer.ParsePath("spec.list[{name=x}]")
	require.NoError(t, err)
	k, _ := path.In(nil, live[:3])
	assert.Equal(t, 0, k, "an element that the API server completed")
	for _, text := range []string{"a[{name=x]", "a[{name=x}", "a[{name=[1}]", "a[{name}]"} {
		_, err := observer.ParsePath(text)
		assert.Error(t, err, text)
	}
}
