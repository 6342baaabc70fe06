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
		live, known := templateHome{target: New(client, Options{}).target}.Live(t.Context(), app)
		assert.Equal(t, ready, known, code)
		assert.Equal(t, ready, live != nil, code)
	}
}
