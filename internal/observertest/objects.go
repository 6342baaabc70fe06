package observertest

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/internal/compress"
)

// Set sets a field of an object and creates the maps on the path to it.
func Set(object map[string]any, value any, fields ...string) {
	for _, f := range fields[:len(fields)-1] {
		child, ok := object[f].(map[string]any)
		if !ok {
			child = map[string]any{}
			object[f] = child
		}
		object = child
	}
	object[fields[len(fields)-1]] = value
}

// Get returns a field of an object, or nil.
func Get(object map[string]any, fields ...string) any {
	var value any = object
	for _, f := range fields {
		m, _ := value.(map[string]any)
		value = m[f]
	}
	return value
}

// Raws returns a list with one item, in the type that an Application has.
func Raws(content map[string]any) []runtime.RawExtension {
	raw, err := json.Marshal(content)
	if err != nil {
		panic(err)
	}
	return []runtime.RawExtension{{Raw: raw}}
}

// Keys returns the names of the fields, sorted.
func Keys(m map[string]any) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// JSON returns a value as JSON.
func JSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// Packed returns a text as the value of an annotation holdfast.dev/creating.
func Packed(text string) string {
	return base64.StdEncoding.EncodeToString(compress.Encode([]byte(text)))
}

// Unpacked returns the decompressed value of an annotation holdfast.dev/creating.
func Unpacked(t *testing.T, value string) string {
	t.Helper()
	compressed, err := base64.StdEncoding.DecodeString(value)
	require.NoError(t, err)
	text, err := compress.Decode(compressed, 1<<30)
	require.NoError(t, err)
	return string(text)
}
