package controller

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/pkg/cluster"
)

// A template compares the desired state with the live objects. Without them, it could accept a smaller volume.
func TestLiveObjectsOfKindsThatCannotBeResolved(t *testing.T) {
	for code, ready := range map[int]bool{http.StatusServiceUnavailable: false, http.StatusNotFound: true} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }))
		t.Cleanup(server.Close)
		client, err := cluster.NewClient(&rest.Config{Host: server.URL})
		require.NoError(t, err)
		app, err := cluster.DecodeApplication([]byte(`{"metadata": {"namespace": "default", "name": "a", "uid": "a"},
			"spec": {"manifest": [{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}}]}}`))
		require.NoError(t, err)
		live, known := templateClient{target: New(client, Options{}).target}.Live(t.Context(), app)
		assert.Equal(t, ready, known, code)
		assert.Equal(t, ready, live != nil, code)
	}
}

// A label of the Application can end its selection, although the custom resource is selected. Its reconcile would only
// queue the custom resource again.
func TestAnUnselectedApplicationIsNotQueued(t *testing.T) {
	client, err := cluster.NewClient(&rest.Config{Host: "https://127.0.0.1:1"})
	require.NoError(t, err)
	selection, err := cluster.NewSelection(nil, "!legacy")
	require.NoError(t, err)
	c := New(client, Options{Selection: selection})
	c.applications.store.Run(t.Context())
	home := templateClient{applications: c.applications, registry: c.registry}
	for i, labels := range []string{`{"legacy": "yes"}`, `{}`} {
		app, err := cluster.DecodeApplication([]byte(`{"metadata": {"namespace": "default", "name": "a", "uid": "a", "resourceVersion": "7", "labels": ` + labels + `}}`))
		require.NoError(t, err)
		require.NoError(t, home.Wrote(app))
		assert.Equal(t, i, c.registry.queue.Len(), labels)
	}
}
