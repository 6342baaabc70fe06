package setup_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/internal/clitest"
	"holdfast.dev/holdfast/pkg/cli"
)

const (
	applicationsPath = "/apis/holdfast.dev/v1alpha1/applications"
	definitionsPath  = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/holdfast-definitions"
	noApplications   = `{"apiVersion": "holdfast.dev/v1alpha1", "kind": "ApplicationList", "metadata": {}, "items": []}`
	oneApplication   = `{"apiVersion": "holdfast.dev/v1alpha1", "kind": "ApplicationList", "metadata": {}, "items": [
		{"apiVersion": "holdfast.dev/v1alpha1", "kind": "Application", "metadata": {"name": "web", "namespace": "shop"}}]}`
	boundTo = `{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "holdfast-definitions"},
		"subjects": [{"kind": "ServiceAccount", "name": "holdfast-controller", "namespace": "holdfast-system"}]}`
)

// While a user reads the question, another client can submit an Application. Its objects would be deleted.
func TestUninstallListsApplicationsAgain(t *testing.T) {
	s := &clitest.APIServer{Responses: map[string][]string{applicationsPath: {noApplications, oneApplication}}}
	status, messages := s.Run(t, cli.Main, "uninstall", "--yes", "--timeout=3s")
	assert.Equal(t, 1, status)
	assert.Contains(t, messages, "error: nothing was uninstalled: the cluster still has 1 Application: shop/web.")
	assert.Empty(t, s.Writes)
}

// The request that the timeout ends returns no Applications.
func TestUninstallNamesUnreleasedApplications(t *testing.T) {
	s := &clitest.APIServer{Responses: map[string][]string{applicationsPath: {oneApplication}}}
	status, messages := s.Run(t, cli.Main, "uninstall", "--yes", "--release", "--timeout=1s")
	assert.Equal(t, 1, status)
	assert.Contains(t, messages, "the cluster still has 1 Application: shop/web. Check that the controller runs")
}

// Uninstalling deletes the namespace of -n with all its objects.
func TestUninstallNeedsItsNamespace(t *testing.T) {
	s := &clitest.APIServer{Responses: map[string][]string{applicationsPath: {noApplications}, definitionsPath: {boundTo}}}
	status, messages := s.Run(t, cli.Main, "uninstall", "--yes", "-n", "production")
	assert.Equal(t, 2, status)
	assert.Equal(t, "error: nothing was uninstalled: the controller is in the namespace holdfast-system, and the namespace production would be deleted: omit -n\n", messages)
	assert.Empty(t, s.Writes)

	s = &clitest.APIServer{Responses: map[string][]string{applicationsPath: {noApplications}}}
	status, messages = s.Run(t, cli.Main, "uninstall", "--yes", "-n", "production")
	assert.Equal(t, 2, status)
	assert.Equal(t, "error: nothing was uninstalled: the namespace production has no controller, and would be deleted: omit -n\n", messages)
	assert.Empty(t, s.Writes)
}
