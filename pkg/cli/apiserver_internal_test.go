package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// apiServer is an API server with fixed responses, by the path of the request. It responds 404 to other paths, and
// records the requests that write.
type apiServer struct {
	responses map[string][]string // the last response is repeated
	writes    []string
	rejection string // the body of a 422 for each write, if it is set
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.Method != http.MethodGet {
		s.writes = append(s.writes, r.Method+" "+r.URL.Path)
		if s.rejection != "" {
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = w.Write([]byte(s.rejection))
			return
		}
	}
	all := s.responses[r.URL.Path]
	if len(all) == 0 {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if len(all) > 1 {
		s.responses[r.URL.Path] = all[1:]
	}
	_, _ = w.Write([]byte(all[0]))
}

// run runs a command against the API server, and returns its exit status and its messages.
func (s *apiServer) run(t *testing.T, args ...string) (status int, messages string) {
	t.Helper()
	server := httptest.NewServer(s)
	defer server.Close()
	config, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "test",
		"clusters": []any{map[string]any{"name": "test", "cluster": map[string]any{"server": server.URL}}},
		"contexts": []any{map[string]any{"name": "test", "context": map[string]any{"cluster": "test", "namespace": "shop"}}},
	})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(file, config, 0o600))
	var out, told bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // ends a command that watches
	defer cancel()
	status = Main(ctx, slices.Concat([]string{"holdfast"}, args, []string{"--kubeconfig", file}), Streams{
		In: strings.NewReader(""), Out: &out, Err: &told, Getenv: func(string) string { return "" }, Now: time.Now,
	})
	return status, told.String()
}

const (
	applicationsPath = "/apis/holdfast.dev/v1alpha1/applications"
	definitionsPath  = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/holdfast-definitions"
	noApplications   = `{"apiVersion": "holdfast.dev/v1alpha1", "kind": "ApplicationList", "metadata": {}, "items": []}`
	oneApplication   = `{"apiVersion": "holdfast.dev/v1alpha1", "kind": "ApplicationList", "metadata": {}, "items": [
		{"apiVersion": "holdfast.dev/v1alpha1", "kind": "Application", "metadata": {"name": "web", "namespace": "shop"}}]}`
	boundTo = `{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "holdfast-definitions"},
		"subjects": [{"kind": "ServiceAccount", "name": "holdfast-controller", "namespace": "holdfast-system"}]}`
)

// The patch of an edit tests that no other client has changed the list. The API server gives no cause if a test fails.
func TestEditConflictsWithAnotherClient(t *testing.T) {
	const path = "/apis/holdfast.dev/v1alpha1/namespaces/shop/applications/web"
	const rejected = `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Invalid", "code": 422`
	for rejection, want := range map[string]string{
		rejected + "}": "error: another client has changed Application shop/web: run the command again",
		rejected + `, "details": {"causes": [{"field": "spec.fields", "message": "Too many"}]}}`: "error: Application shop/web: the API server rejects it: spec.fields: Too many",
	} {
		s := &apiServer{rejection: rejection, responses: map[string][]string{path: {`{"apiVersion": "holdfast.dev/v1alpha1", "kind": "Application", "metadata": {"name": "web", "namespace": "shop"},
			"spec": {"manifest": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "config"}, "data": {"a": "1"}}]}}`}}}
		status, messages := s.run(t, "free", "web", "configmap/config", "data.a")
		assert.Equal(t, 2, status)
		assert.Contains(t, messages, want)
		assert.Equal(t, []string{"PATCH " + path}, s.writes)
	}
}

// While a user reads the question, another client can submit an Application. Its objects would be deleted.
func TestUninstallListsApplicationsAgain(t *testing.T) {
	s := &apiServer{responses: map[string][]string{applicationsPath: {noApplications, oneApplication}}}
	status, messages := s.run(t, "uninstall", "--yes", "--timeout=3s")
	assert.Equal(t, 1, status)
	assert.Contains(t, messages, "error: nothing was uninstalled: the cluster still has 1 Application: shop/web.")
	assert.Empty(t, s.writes)
}

// The request that the timeout ends returns no Applications.
func TestUninstallNamesUnreleasedApplications(t *testing.T) {
	s := &apiServer{responses: map[string][]string{applicationsPath: {oneApplication}}}
	status, messages := s.run(t, "uninstall", "--yes", "--release", "--timeout=1s")
	assert.Equal(t, 1, status)
	assert.Contains(t, messages, "the cluster still has 1 Application: shop/web. Check that the controller runs")
}

// Uninstalling deletes the namespace of -n with all its objects.
func TestUninstallNeedsItsNamespace(t *testing.T) {
	s := &apiServer{responses: map[string][]string{applicationsPath: {noApplications}, definitionsPath: {boundTo}}}
	status, messages := s.run(t, "uninstall", "--yes", "-n", "production")
	assert.Equal(t, 2, status)
	assert.Equal(t, "error: nothing was uninstalled: the controller is in the namespace holdfast-system, and the namespace production would be deleted: omit -n\n", messages)
	assert.Empty(t, s.writes)

	s = &apiServer{responses: map[string][]string{applicationsPath: {noApplications}}}
	status, messages = s.run(t, "uninstall", "--yes", "-n", "production")
	assert.Equal(t, 2, status)
	assert.Equal(t, "error: nothing was uninstalled: the namespace production has no controller, and would be deleted: omit -n\n", messages)
	assert.Empty(t, s.writes)
}

func TestHistoryNeedsAnInstallation(t *testing.T) {
	status, messages := (&apiServer{}).run(t, "history")
	assert.Equal(t, 2, status)
	assert.Equal(t, "error: the API server does not serve Applications: is Holdfast installed? See `holdfast install --help`\n", messages)
}

// A mistyped name would be watched forever.
func TestAWatchNeedsAnExistingApplication(t *testing.T) {
	s := &apiServer{responses: map[string][]string{"/apis/holdfast.dev/v1alpha1/namespaces/shop/applications": {oneApplication}}}
	status, messages := s.run(t, "get", "wep", "-w")
	assert.Equal(t, 2, status)
	assert.Equal(t, "error: there is no Application \"wep\" in the namespace shop: did you mean web?\n", messages)
}

// A user must not confirm a change that was not shown without knowing it.
func TestModeReportsThatItShowsNoChange(t *testing.T) {
	s := &apiServer{responses: map[string][]string{"/apis/holdfast.dev/v1alpha1/namespaces/shop/applications/web": {
		`{"apiVersion": "holdfast.dev/v1alpha1", "kind": "Application", "metadata": {"name": "web", "namespace": "shop", "uid": "u-1"},
			"spec": {"mode": "Observe", "manifest": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}}, {}]}}`,
	}}}
	status, messages := s.run(t, "mode", "web", "hold", "--dry-run")
	assert.Equal(t, 0, status)
	assert.Contains(t, messages, "warning: cannot show what would change: ")
}
