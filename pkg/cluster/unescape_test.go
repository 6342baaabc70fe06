package cluster

import (
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
)

// With six bytes for each <, the request would exceed the limit of an API server.
func TestHTMLIsNotEscaped(t *testing.T) {
	next := &recorded{}
	client, err := NewClient(&rest.Config{Host: "https://127.0.0.1:1", Transport: next})
	require.NoError(t, err)
	writer, err := client.WriterFor("default", "applier")
	require.NoError(t, err)
	at := Location{
		ID:      manifest.ID{Kind: "ConfigMap", Namespace: "default", Name: "web"},
		Mapping: Mapping{Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Namespaced: true},
	}
	app := &v1alpha1.Application{}
	app.Namespace, app.Name = "default", "web"
	const text = `<a href="?b&c">\u003c \\u0026</a>`
	for name, write := range map[string]func() error{
		"create": func() error { _, err := writer.Create(t.Context(), at, map[string]any{"data": text}); return err },
		"patch": func() error {
			_, err := writer.Patch(t.Context(), at, []delta.Op{{Op: "test", Path: "/data", Value: "<&>"}, {Op: "add", Path: "/data", Value: text}})
			return err
		},
		"status": func() error {
			_, err := client.WriteStatus(t.Context(), app, v1alpha1.ApplicationStatus{SourceDigest: text})
			return err
		},
	} {
		next.requests = nil
		require.ErrorIs(t, write(), errNotSent, name)
		sent := next.requests[0]
		body, err := io.ReadAll(sent.Body)
		require.NoError(t, err)
		assert.Contains(t, string(body), `"<a href=\"?b&c\">\\u003c \\\\u0026</a>"`, name)
		if name == "patch" { // an API server compares bytes
			assert.Contains(t, string(body), `[{"op":"test","path":"/data","value":"\u003c\u0026\u003e"},{"op":"add"`)
		}
		assert.EqualValues(t, len(body), sent.ContentLength, name)
		again, err := sent.GetBody()
		require.NoError(t, err)
		repeated, err := io.ReadAll(again)
		require.NoError(t, err)
		assert.Equal(t, body, repeated, name)
	}
}
