package setup

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/deploy"
	"holdfast.dev/holdfast/internal/clitest"
	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/cluster"
)

// The API server reports no conflict for a Deployment that was scaled to 0.
func TestInstallDoesNotStartAStoppedController(t *testing.T) {
	objects, err := installed(deploy.Namespace)
	require.NoError(t, err)
	deployment := objects[slices.IndexFunc(objects, func(object *unstructured.Unstructured) bool { return object.GetKind() == "Deployment" })]
	for live, want := range map[string]string{
		`{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "holdfast-controller"}, "spec": {"replicas": 0}}`: "other clients have changed the Deployment holdfast-controller: .spec.replicas",
		`{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "holdfast-controller"}, "spec": {"replicas": 1}}`: "",
	} {
		server := httptest.NewServer(&clitest.APIServer{Responses: map[string][]string{"/apis/apps/v1/namespaces/holdfast-system/deployments/holdfast-controller": {live}}})
		client, err := cluster.NewClient(&rest.Config{Host: server.URL})
		require.NoError(t, err)
		c := &connection.Cluster{Client: &connection.Client{Client: client}}
		why, err := conflict(t.Context(), c, client.Own.Resource(deployments).Namespace(deploy.Namespace), deployment)
		require.NoError(t, err)
		assert.Equal(t, want, why)
		server.Close()
	}
}

func TestInstallNamesEachRemedyOnce(t *testing.T) {
	for _, row := range []struct {
		ours bool
		want string
	}{
		{true, "nothing was installed: why. To upgrade it, run: holdfast install --force"},
		{false, "nothing was installed: why. To upgrade it, run: kubectl apply --server-side -f deploy/install.yaml. To replace it with the objects of this program, add --force"},
	} {
		found := installation{namespace: deploy.Namespace, variant: "default", deployment: &unstructured.Unstructured{}, ours: row.ours}
		assert.EqualError(t, found.notReplaced("why"), row.want)
	}
}

// A controller outside the cluster has no Deployment, so only its bindings show that it has rights in single namespaces.
func TestRemediesKeepRightsInSingleNamespaces(t *testing.T) {
	ha := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"priorityClassName": "high"}}}}}
	for _, row := range []struct {
		deployment *unstructured.Unstructured
		everywhere bool
		want       string
	}{
		{nil, true, "To grant its rights again, run: `holdfast install`"},
		{nil, false, "Add the namespace to your installation (docs/operations.md), and run: `kubectl apply --server-side -k deploy/namespaced`"},
		{&unstructured.Unstructured{}, false, "Add the namespace to your installation (docs/operations.md), and run: `kubectl apply --server-side -k deploy/namespaced`"},
		{ha, true, "To grant its rights again, run: `kubectl apply --server-side -k deploy/ha`"},
	} {
		found := installation{namespace: deploy.Namespace, deployment: row.deployment}
		found.variant = found.variantOf(row.everywhere)
		assert.Equal(t, row.want, found.grant())
	}
	several := installation{deployment: ha, deployed: []deployedController{{ha}, {ha}}}
	assert.Equal(t, "split", several.variantOf(true))
}

// A command that creates an existing ServiceAccount would fail.
func TestAnExistingServiceAccountGetsOnlyARole(t *testing.T) {
	const account = "/api/v1/namespaces/shop/serviceaccounts/holdfast-applier"
	server := httptest.NewServer(&clitest.APIServer{Responses: map[string][]string{
		account: {`{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "holdfast-applier"}}`},
		"/apis/authorization.k8s.io/v1/subjectaccessreviews": {`{"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "status": {"allowed": false}}`},
	}})
	t.Cleanup(server.Close)
	client, err := cluster.NewClient(&rest.Config{Host: server.URL})
	require.NoError(t, err)
	c := checker{Cluster: &connection.Cluster{Client: &connection.Client{Client: client}, Namespace: "shop"}}
	message, remedy, err := c.account(t.Context(), "holdfast-applier", true)
	require.NoError(t, err)
	assert.Equal(t, "shop/holdfast-applier may not create configmaps", message)
	assert.Equal(t, "Run: `kubectl create rolebinding holdfast-applier -n shop --clusterrole=edit --serviceaccount=shop:holdfast-applier`, unless the Applications set spec.serviceAccountName", remedy)
}

func TestTheHintAfterAnInstallationFits(t *testing.T) {
	for line := range strings.Lines(afterInstall) {
		assert.LessOrEqual(t, len(strings.TrimSpace(line)), terminal.PlainWidth)
	}
}
