package manifest_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "holdfast.dev/holdfast/internal/repeatable"
	"holdfast.dev/holdfast/pkg/manifest"
)

// drawnValue draws a value without fractions.
func drawnValue(r *rapid.T, depth int) any {
	switch n := rapid.IntRange(0, 6-min(depth, 3)).Draw(r, "shape"); n {
	case 0:
		return rapid.SampledFrom([]string{"", "a", `"`, `\`, "\n<é>\u2028", "observed", "long and plain"}).Draw(r, "text")
	case 1:
		return rapid.Int64Range(-20, 200).Draw(r, "number")
	case 2:
		return rapid.Bool().Draw(r, "bool")
	case 3:
		return "é" + rapid.String().Draw(r, "any text")
	case 4:
		list := make([]any, rapid.IntRange(0, 3).Draw(r, "length"))
		for i := range list {
			list[i] = drawnValue(r, depth+1)
		}
		return list
	default:
		return drawnMap(r, depth+1)
	}
}

func drawnMap(r *rapid.T, depth int) map[string]any {
	m := map[string]any{}
	for _, name := range rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "b", "ab", "<", "é", `"`}), 0, 4).Draw(r, "names") {
		m[name] = drawnValue(r, depth)
	}
	return m
}

// TestIsTextOf compares IsTextOf with decoding the text.
func TestIsTextOf(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		value := drawnMap(r, 0)
		text, err := json.Marshal(value)
		require.NoError(r, err)
		require.True(r, manifest.IsTextOf(text, value), "%s", text)

		other, err := json.Marshal(drawnMap(r, 0))
		require.NoError(r, err)
		if rapid.Bool().Draw(r, "damaged") {
			other = append([]byte(nil), text...)
			other[rapid.IntRange(0, len(other)-1).Draw(r, "at")] = rapid.SampledFrom([]byte(`{}[]:,"\a1-`)).Draw(r, "byte")
		}
		decoded, err := manifest.DecodeJSON(other)
		if manifest.IsTextOf(other, value) {
			require.NoError(r, err, "%s", other)
			require.Equal(r, value, decoded)
		}
	})
}

func TestIsTextOfOtherValues(t *testing.T) {
	for _, row := range []struct {
		name, text string
		value      any
	}{
		{"what has a field twice", `{"a":1,"a":1}`, map[string]any{"a": int64(1), "b": int64(2)}},
		{"a longer number", `{"a":12}`, map[string]any{"a": int64(1)}},
		{"a number with an exponent", `1e3`, int64(1)},
		{"a fraction", `1.5`, 1.5},
		{"the beginning of a value", `[1`, []any{int64(1)}},
		{"a value with more behind it", `[1]]`, []any{int64(1)}},
		{"a text that is cut", `"a`, "a"},
		{"a text that is cut in an escape", `"a\`, "a"},
		{"a list of more", `[1,2]`, []any{int64(1)}},
		{"an object of more", `{"a":1,"b":2}`, map[string]any{"a": int64(1)}},
		{"null", `null`, nil},
		{"nothing", ``, map[string]any{}},
	} {
		t.Run(row.name, func(t *testing.T) { assert.False(t, manifest.IsTextOf([]byte(row.text), row.value)) })
	}
}
