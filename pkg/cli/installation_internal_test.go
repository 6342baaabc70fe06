package cli

import (
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/deploy"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
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
		server := httptest.NewServer(&apiServer{responses: map[string][]string{"/apis/apps/v1/namespaces/holdfast-system/deployments/holdfast-controller": {live}}})
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
}

func TestApplicationsThatNoControllerSelects(t *testing.T) {
	const remedy = "Change watchNamespaces or selector in the ConfigMap holdfast-system/holdfast-controller, or the flags of the controller"
	app := &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Namespace: "blog", Name: "cart", Labels: map[string]string{"team": "web"}}}
	for _, row := range []struct {
		name, configuration string
		args                []any
		apps                []rights
		want                string
	}{
		{"no selection", "", nil, nil, ""},
		{"the namespace", "", []any{"--watch-namespaces=a,shop"}, nil, ""},
		{"other namespaces", "", []any{"--watch-namespaces=a,b"}, nil, "the controller does not select the namespace shop, only a, b"},
		{"other namespaces in the file", "watchNamespaces: [b]", []any{"--watch-namespaces=shop", "--config=/etc/holdfast/config.yaml"}, nil, "the controller does not select the namespace shop, only b"},
		{"an unused file", "watchNamespaces: [b]", nil, nil, ""},
		{"the namespace of an Application", "", []any{"--watch-namespaces=blog"}, []rights{{app: app}}, ""},
		{"another one", "", []any{"--watch-namespaces=shop"}, []rights{{app: app}}, "the controller does not select the namespace blog, only shop"},
		{"the labels", "", []any{"--selector=team"}, []rights{{app: app}}, ""},
		{"other labels", "", []any{"--selector=team=db"}, []rights{{app: app}}, "the controller does not select blog/cart: its selector is team=db"},
		{"labels without an Application", "", []any{"--selector=team=db"}, nil, ""},
		{"a malformed selector", "", []any{"--selector===="}, nil, "the selection of the controller is invalid: "},
	} {
		t.Run(row.name, func(t *testing.T) {
			file, err := json.Marshal("apiVersion: holdfast.dev/v1alpha1\nkind: ControllerConfiguration\n" + row.configuration)
			require.NoError(t, err)
			server := httptest.NewServer(&apiServer{responses: map[string][]string{
				"/api/v1/namespaces/holdfast-system/configmaps/holdfast-controller": {`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "holdfast-controller"}, "data": {"config.yaml": ` + string(file) + `}}`},
			}})
			defer server.Close()
			client, err := cluster.NewClient(&rest.Config{Host: server.URL})
			require.NoError(t, err)
			deployment := &unstructured.Unstructured{Object: map[string]any{"kind": "Deployment", "spec": map[string]any{"template": map[string]any{"spec": map[string]any{
				"containers": []any{map[string]any{"args": row.args}},
			}}}}}
			c := checker{
				Cluster: &connection.Cluster{Client: &connection.Client{Client: client}, Namespace: "shop"},
				apps:    row.apps, found: installation{namespace: deploy.Namespace, deployment: deployment},
			}
			message, what, err := c.unselected(t.Context())
			require.NoError(t, err)
			if row.want == "" {
				assert.Empty(t, message+what)
				return
			}
			assert.Contains(t, message, row.want)
			assert.Equal(t, remedy, what)
		})
	}
}

// A command that creates an existing ServiceAccount would fail.
func TestAnExistingServiceAccountGetsOnlyARole(t *testing.T) {
	const account = "/api/v1/namespaces/shop/serviceaccounts/holdfast-applier"
	server := httptest.NewServer(&apiServer{responses: map[string][]string{
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
