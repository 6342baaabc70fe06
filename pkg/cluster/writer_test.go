package cluster

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/pkg/manifest"
)

// recorded is a transport that records requests instead of sending them.
type recorded struct{ requests []*http.Request }

var errNotSent = errors.New("recorded, and not sent")

func (r *recorded) RoundTrip(request *http.Request) (*http.Response, error) {
	r.requests = append(r.requests, request)
	return nil, errNotSent
}

func TestRequestsAreAlwaysImpersonated(t *testing.T) {
	for name, ctx := range map[string]context.Context{
		"without a user":       t.Context(),
		"with an empty user":   context.WithValue(t.Context(), userKey{}, ""),
		"with a user of sorts": context.WithValue(t.Context(), userKey{}, 7),
	} {
		t.Run(name, func(t *testing.T) {
			next := &recorded{}
			request := httptest.NewRequestWithContext(ctx, http.MethodPost, "https://example.com/api/v1/namespaces", http.NoBody)
			response, err := impersonator{next}.RoundTrip(request)
			if response != nil {
				require.NoError(t, response.Body.Close())
			}
			require.ErrorContains(t, err, "without a ServiceAccount")
			assert.Empty(t, next.requests)
		})
	}
}

func TestRequestsImpersonateServiceAccount(t *testing.T) {
	next := &recorded{}
	client, err := NewClient(&rest.Config{Host: "https://127.0.0.1:1", Transport: next})
	require.NoError(t, err)
	writer, err := client.WriterFor("default", "applier")
	require.NoError(t, err)
	at := Location{
		ID:      manifest.ID{Group: "apps", Kind: "Deployment", Namespace: "default", Name: "web"},
		Mapping: Mapping{Resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, Namespaced: true},
	}
	_, err = writer.Create(t.Context(), at, map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web"}})
	require.ErrorIs(t, err, errNotSent)
	_, err = writer.Patch(t.Context(), at, []any{})
	require.ErrorIs(t, err, errNotSent)
	_, err = writer.Get(t.Context(), at)
	require.ErrorIs(t, err, errNotSent)
	_, err = writer.Delete(t.Context(), at, "u1", "7")
	require.ErrorIs(t, err, errNotSent)

	require.Len(t, next.requests, 4)
	for _, request := range next.requests {
		assert.Equal(t, "system:serviceaccount:default:applier", request.Header.Get("Impersonate-User"), "%s", request.Method)
	}
	assert.Equal(t, "/apis/apps/v1/namespaces/default/deployments/web", next.requests[3].URL.Path)
}

func TestWriterForRequiresServiceAccount(t *testing.T) {
	client, err := NewClient(&rest.Config{Host: "https://127.0.0.1:1"})
	require.NoError(t, err)
	for _, row := range [][2]string{
		{"", "applier"}, {"default", ""}, {"", ""},
		{"default", "dep..loyer"}, {"default", "a:b"}, {"default", ".a"}, {"default", "a."}, {"default", "-a"}, {"default", "A"}, {"default", "a b"},
		{"default", strings.Repeat("a", 254)}, {"a:b", "applier"}, {"a.b", "applier"},
	} {
		_, err := client.WriterFor(row[0], row[1])
		assert.Error(t, err, "%q", row)
	}
	for _, name := range []string{"applier", "a.b-c.d", "0"} {
		writer, err := client.WriterFor("default", name)
		require.NoError(t, err)
		assert.Equal(t, "system:serviceaccount:default:"+name, writer.User())
	}
}

func TestDeleteResponses(t *testing.T) {
	for _, row := range []struct {
		name, answer string
		remains      bool
	}{
		{"a status", `{"kind": "Status", "apiVersion": "v1", "status": "Success"}`, false},
		{"the object as it was", `{"kind": "Service", "apiVersion": "v1", "metadata": {"name": "a", "uid": "u1"}}`, false},
		{"the object, marked as being deleted", `{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a", "uid": "u1", "deletionTimestamp": "2026-01-01T00:00:00Z"}}`, true},
		{"another object", `{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a", "uid": "u2", "deletionTimestamp": "2026-01-01T00:00:00Z"}}`, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			remaining, err := parseRemaining([]byte(row.answer), "u1")
			require.NoError(t, err)
			assert.Equal(t, row.remains, remaining != nil)
		})
	}
	_, err := parseRemaining([]byte(`{"kind": "Pod", "apiV`), "u1")
	assert.Error(t, err, "half an answer")
}
