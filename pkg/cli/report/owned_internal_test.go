package report

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cluster"
)

// A kind of owned objects can be missing because the user lacks a right, or because the API server has failed. Only the first
// is for an administrator to solve.
func TestWarningsOfOwnedObjectsNameTheCause(t *testing.T) {
	status := func(code int, reason, message string) string {
		return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"reason":%q,"message":%q}`, code, reason, message)
	}
	respond := map[string]string{
		"/api": `{"kind":"APIVersions","versions":["v1"]}`, "/apis": `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`,
		"/api/v1": `{"kind":"APIResourceList","groupVersion":"v1","resources":[
			{"name":"configmaps","namespaced":true,"kind":"ConfigMap","verbs":["list"]},{"name":"pods","namespaced":true,"kind":"Pod","verbs":["list"]}]}`,
		"/api/v1/namespaces/shop/configmaps": status(http.StatusForbidden, "Forbidden", "no"),
		"/api/v1/namespaces/shop/pods":       status(http.StatusInternalServerError, "InternalError", "etcd has no leader"),
	}
	codes := map[string]int{"/api/v1/namespaces/shop/configmaps": http.StatusForbidden, "/api/v1/namespaces/shop/pods": http.StatusInternalServerError}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if code := codes[r.URL.Path]; code != 0 {
			w.WriteHeader(code)
		}
		_, _ = w.Write([]byte(respond[r.URL.Path]))
	}))
	defer server.Close()
	client, err := cluster.NewClient(&rest.Config{Host: server.URL})
	require.NoError(t, err)
	objects, warnings := owned(t.Context(), &connection.Cluster{Client: &connection.Client{Client: client}}, "shop")
	assert.Empty(t, objects)
	assert.Equal(t, []string{
		"not shown: pods in the namespace shop: etcd has no leader",
		"not shown, because you cannot list them in the namespace shop: configmaps",
	}, warnings)
}
