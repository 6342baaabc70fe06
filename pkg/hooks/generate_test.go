package hooks_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

func secret(annotation string, data map[string]any) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Secret", "data": data,
		"metadata": map[string]any{"name": "s", "annotations": map[string]any{v1alpha1.AnnotationGenerate: annotation}},
	}
}

var secretID = manifest.ID{Kind: "Secret", Namespace: "default", Name: "s"}

func TestGenerateFillsOnlyNamedKeys(t *testing.T) {
	object := secret("password, root-password:43", map[string]any{"user": "YWRtaW4="})
	random := rand.NewChaCha8([32]byte{1})
	require.NoError(t, hooks.Generate(&hooks.CreateEvent{ID: secretID, Object: object, Random: random}))
	data := object["data"].(map[string]any)
	assert.Len(t, data, 3)
	assert.Equal(t, "YWRtaW4=", data["user"])
	for key, length := range map[string]int{"password": 32, "root-password": 43} {
		text, err := base64.StdEncoding.DecodeString(data[key].(string))
		require.NoError(t, err)
		assert.Len(t, string(text), length)
		assert.Regexp(t, `^[A-Za-z0-9]+$`, string(text))
	}
	other := secret("password", nil)
	require.NoError(t, hooks.Generate(&hooks.CreateEvent{ID: secretID, Object: other, Random: random}))
	assert.NotEqual(t, data["password"], other["data"].(map[string]any)["password"])
}

func TestRandomTextIsUniform(t *testing.T) {
	object := secret("a:1024", nil)
	counts := map[byte]int{}
	random := rand.NewChaCha8([32]byte{2})
	const rounds = 200
	for range rounds {
		object["data"] = nil
		require.NoError(t, hooks.Generate(&hooks.CreateEvent{ID: secretID, Object: object, Random: random}))
		text, err := base64.StdEncoding.DecodeString(object["data"].(map[string]any)["a"].(string))
		require.NoError(t, err)
		for _, c := range text {
			counts[c]++
		}
	}
	require.Len(t, counts, 62)
	expected := rounds * 1024 / 62
	for c, n := range counts {
		assert.InDelta(t, expected, n, float64(expected)/10, "%c", c)
	}
}

func TestGenerateIgnoresOtherObjects(t *testing.T) {
	plain := map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "s"}}
	require.NoError(t, hooks.Generate(&hooks.CreateEvent{ID: secretID, Object: plain, Random: iotest.ErrReader(errors.New("not used"))}))
	assert.NotContains(t, plain, "data")
}

func TestGenerateFailsWithoutRandomness(t *testing.T) {
	err := hooks.Generate(&hooks.CreateEvent{ID: secretID, Object: secret("password", nil), Random: bytes.NewReader([]byte("short"))})
	assert.ErrorContains(t, err, "generating password")
}

func TestCheckGenerateRejectsInvalidKeys(t *testing.T) {
	for _, row := range []struct{ name, annotation, kind, data, schema, message string }{
		{name: "a key that is none", annotation: "a b", message: `"a b" is not a valid key of a Secret`},
		{name: "no key", annotation: "", message: `"" is not a valid key of a Secret`},
		{name: "a key twice", annotation: "a,a:40", message: "duplicate key a"},
		{name: "a short value", annotation: "a:7", message: `a has length "7": it must be a number from 8 to 1024`},
		{name: "a length that is none", annotation: "a:long", message: `a has length "long"`},
		{name: "another kind", annotation: "a", kind: "ConfigMap", message: "is for Secrets only, this is a ConfigMap"},
		{name: "a value as well", annotation: "a", data: "a", message: "the manifest also sets a: remove one of them"},
		{name: "a schema that holds all of data", annotation: "a", schema: "whole", message: "the observer schema holds the entire data"},
		{name: "a schema that holds another key", annotation: "a", data: "b", schema: "b"},
	} {
		t.Run(row.name, func(t *testing.T) {
			object := secret(row.annotation, map[string]any{})
			id := secretID
			if row.kind != "" {
				object["kind"], id.Kind = row.kind, row.kind
			}
			if row.data != "" {
				object["data"] = map[string]any{row.data: "Y2FuYXJ5"}
			}
			o := manifest.Object{ID: id, APIVersion: "v1", Content: object}
			m := &hooks.Mangling{Objects: []manifest.Object{o}, Entries: map[manifest.ID]*observer.Schema{id: observer.DefaultEntry(o)}}
			if row.schema != "" {
				raw := map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "s"}, "data": observer.LeafText}
				if row.schema != "whole" {
					raw["data"] = map[string]any{row.schema: observer.LeafText}
				}
				entries, err := observer.ParseAll([]map[string]any{raw})
				require.NoError(t, err)
				m.Entries[id] = entries[0]
			}
			err := hooks.CheckGenerate(m)
			if row.message == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, row.message)
			assert.NotContains(t, err.Error(), "Y2FuYXJ5")
			assert.True(t, strings.HasPrefix(err.Error(), id.String()+": annotation holdfast.dev/generate: "))
		})
	}
}

// Keys are filled only when the Secret is created, so a user who adds one later gets a warning.
func TestCheckGenerateWarnsAboutAddedKeys(t *testing.T) {
	object := manifest.Object{ID: secretID, Content: secret("password,added", nil)}
	live := map[string]any{"data": map[string]any{"password": "aHVudGVyMg=="}}
	for name, row := range map[string]struct {
		live     map[string]any
		warnings []string
	}{
		"before it is created": {nil, nil},
		"has both":             {map[string]any{"data": map[string]any{"password": "", "added": ""}}, nil},
		"has one":              {live, []string{"Secret default/s: added is not generated, because the Secret exists already: add the key by hand"}},
	} {
		m := &hooks.Mangling{Objects: []manifest.Object{object}, Live: map[manifest.ID]map[string]any{}}
		if row.live != nil {
			m.Live[secretID] = row.live
		}
		require.NoError(t, hooks.CheckGenerate(m), name)
		assert.Equal(t, row.warnings, m.Warnings, name)
	}
}
