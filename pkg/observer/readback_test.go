package observer_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"holdfast.dev/holdfast/internal/observertest"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// TestAnEntryReadsItsOwnTextBack compares the result of ReadBack with the schema parsed from the same
// text.
func TestAnEntryReadsItsOwnTextBack(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		spec := observertest.Spec(r)
		entry := observer.DefaultEntry(observertest.Manifest(spec))
		isDefault := rapid.Bool().Draw(r, "default")
		if !isDefault {
			entry = observertest.Entry(r, spec, observertest.Options{Rules: true, Bounded: true})
		}
		text := textOf(r, entry)
		back := entry.ReadBack(text)
		if back == nil {
			require.False(r, isDefault, "it is decoded, which costs time: %s", text)
			return
		}
		require.JSONEq(r, string(text), string(textOf(r, back)))
		read := parsed(r, text)
		require.Equal(r, read.ID, back.ID)
		require.True(r, read.SameFields(back))
		require.Equal(r, read.Default, back.Default)
	})
}

// TestAnEntryReadsNoOtherText passes the text of another schema, or no schema, to ReadBack.
func TestAnEntryReadsNoOtherText(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		spec := observertest.Spec(r)
		entry := observer.DefaultEntry(observertest.Manifest(spec))
		own := textOf(r, entry)
		other := observer.DefaultEntry(observertest.Manifest(observertest.Mutate(r, spec)))
		if isRaised := rapid.Bool().Draw(r, "raised"); isRaised {
			live := observertest.Object(observertest.Mutate(r, spec))
			other = observer.DefaultEntry(observertest.Manifest(spec))
			other.RaiseSurplus(nil, observertest.Manifest(spec).Content, live)
		}
		text := textOf(r, other)
		if rapid.IntRange(0, 4).Draw(r, "cut") == 0 {
			text = own[:rapid.IntRange(0, len(own)-1).Draw(r, "at")]
		}
		require.Equal(r, bytes.Equal(text, own), entry.ReadBack(text) != nil, "%s\n%s", own, text)
	})
}

func TestAnEntryIsReadBackWithoutGarbage(t *testing.T) {
	var content map[string]any
	require.NoError(t, json.Unmarshal([]byte(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "labels": {"a": "b"}},
		"spec": {"containers": [{"name": "a", "ports": [{"containerPort": 80}]}, {"name": "b", "image": "c"}]}}`), &content))
	entry := observer.DefaultEntry(manifest.Object{ID: manifest.ID{Kind: "Pod", Name: "a"}, APIVersion: "v1", Content: content})
	text := textOf(t, entry)
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { entry.ReadBack(text) }), 4.0)
}

func textOf(t require.TestingT, e *observer.Schema) []byte {
	text, err := json.Marshal(e.Raw())
	require.NoError(t, err)
	return text
}

func parsed(t require.TestingT, text []byte) *observer.Schema {
	raw, err := manifest.DecodeJSON(text)
	require.NoError(t, err)
	entries, err := observer.ParseAll([]map[string]any{raw})
	require.NoError(t, err)
	return entries[0]
}
