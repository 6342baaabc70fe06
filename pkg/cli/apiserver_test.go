package cli_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/internal/clitest"
	"holdfast.dev/holdfast/pkg/cli"
)

// The patch of an edit tests that no other client has changed the list. The API server gives no cause if a test fails.
func TestEditConflictsWithAnotherClient(t *testing.T) {
	const path = "/apis/holdfast.dev/v1alpha1/namespaces/shop/applications/web"
	const rejected = `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Invalid", "code": 422`
	for rejection, want := range map[string]string{
		rejected + "}": "error: another client has changed Application shop/web: run the command again",
		rejected + `, "details": {"causes": [{"field": "spec.fields", "message": "Too many"}]}}`: "error: Application shop/web: the API server rejects it: spec.fields: Too many",
	} {
		s := &clitest.APIServer{Rejection: rejection, Responses: map[string][]string{path: {`{"apiVersion": "holdfast.dev/v1alpha1", "kind": "Application", "metadata": {"name": "web", "namespace": "shop"},
			"spec": {"manifest": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "config"}, "data": {"a": "1"}}]}}`}}}
		status, messages := s.Run(t, cli.Main, "free", "web", "configmap/config", "data.a")
		assert.Equal(t, 2, status)
		assert.Contains(t, messages, want)
		assert.Equal(t, []string{"PATCH " + path}, s.Writes)
	}
}

func TestHistoryNeedsAnInstallation(t *testing.T) {
	status, messages := (&clitest.APIServer{}).Run(t, cli.Main, "history")
	assert.Equal(t, 2, status)
	assert.Equal(t, "error: the API server does not serve Applications: is Holdfast installed? See `holdfast install --help`\n", messages)
}

// A mistyped name would be watched forever.
func TestAWatchNeedsAnExistingApplication(t *testing.T) {
	s := &clitest.APIServer{Responses: map[string][]string{"/apis/holdfast.dev/v1alpha1/namespaces/shop/applications": {
		`{"apiVersion": "holdfast.dev/v1alpha1", "kind": "ApplicationList", "metadata": {}, "items": [
			{"apiVersion": "holdfast.dev/v1alpha1", "kind": "Application", "metadata": {"name": "web", "namespace": "shop"}}]}`,
	}}}
	status, messages := s.Run(t, cli.Main, "get", "wep", "-w")
	assert.Equal(t, 2, status)
	assert.Equal(t, "error: there is no Application \"wep\" in the namespace shop: did you mean web?\n", messages)
}

// A user must not confirm a change that was not shown without knowing it.
func TestModeReportsThatItShowsNoChange(t *testing.T) {
	s := &clitest.APIServer{Responses: map[string][]string{"/apis/holdfast.dev/v1alpha1/namespaces/shop/applications/web": {
		`{"apiVersion": "holdfast.dev/v1alpha1", "kind": "Application", "metadata": {"name": "web", "namespace": "shop", "uid": "u-1"},
			"spec": {"mode": "Observe", "manifest": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}}, {}]}}`,
	}}}
	status, messages := s.Run(t, cli.Main, "mode", "web", "hold", "--dry-run")
	assert.Equal(t, 0, status)
	assert.Contains(t, messages, "warning: cannot show what would change: ")
}
