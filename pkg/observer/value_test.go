package observer_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/pkg/observer"
)

func TestEqual(t *testing.T) {
	rows := []struct {
		name string
		a, b any
		want bool
	}{
		{"a whole number equals its float", int64(1), 1.0, true},
		{"different numbers differ", int64(1), 1.5, false},
		{"large integers are compared exactly", int64(9007199254740993), int64(9007199254740992), false},
		{"a large integer differs from its neighbour's float", int64(9007199254740993), 9007199254740992.0, false},
		{"a large integer equals its own float", int64(9007199254740992), 9007199254740992.0, true},
		{"a number is not its text", int64(1), "1", false},
		{"zero is not false", int64(0), false, false},
		{"null is null", nil, nil, true},
		{"null is not empty", nil, "", false},
		{"null is not an empty map", nil, map[string]any{}, false},
		{"an empty list is not an empty map", []any{}, map[string]any{}, false},
		{"maps have no order", map[string]any{"a": int64(1), "b": nil}, map[string]any{"b": nil, "a": 1.0}, true},
		{"absent is not null", map[string]any{"a": nil}, map[string]any{"b": nil}, false},
		{"lists have an order", []any{"a", "b"}, []any{"b", "a"}, false},
		{"lists have a length", []any{"a"}, []any{"a", "a"}, false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			assert.Equal(t, row.want, observer.Equal(row.a, row.b))
			assert.Equal(t, row.want, observer.Equal(row.b, row.a))
		})
	}
}

func TestCovers(t *testing.T) {
	want := map[string]any{"a": int64(1), "m": map[string]any{"x": "y"}}
	assert.True(t, observer.Covers(map[string]any{"a": 1.0, "m": map[string]any{"x": "y", "more": 1}, "b": 2}, want))
	assert.False(t, observer.Covers(map[string]any{"a": int64(1), "m": map[string]any{}}, want))
	assert.False(t, observer.Covers("x", want))
	assert.True(t, observer.Covers([]any{"injected", map[string]any{"a": "x", "b": "default"}, "more"}, []any{map[string]any{"a": "x"}, "more"}))
	assert.False(t, observer.Covers([]any{"b", "a"}, []any{"a", "b"}), "in their order")
	assert.False(t, observer.Covers([]any{"a"}, []any{"a", "a"}))
	assert.True(t, observer.Covers(map[string]any{}, map[string]any{"zero": int64(0), "none": []any{}, "m": map[string]any{"off": false}}), "an API server may leave out what is empty")
}
