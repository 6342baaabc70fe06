package program

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// Frequent requests of the tests do not use kubectl, because each kubectl takes half a second of CPU time.

var (
	applications    = v1alpha1.GroupVersionResource
	configMaps      = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	secrets         = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	serviceAccounts = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
	roleBindings    = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"}
)

// resource returns the administrator's client for a resource in a namespace.
func resource(t *testing.T, c *testcluster.Cluster, namespace string, of schema.GroupVersionResource) dynamic.ResourceInterface {
	t.Helper()
	config := c.Config()
	config.UserAgent = testcluster.UserAgent
	client, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	return client.Resource(of).Namespace(namespace)
}

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(text), &u.Object))
	return u
}

// create creates an object from YAML.
func create(t *testing.T, c *testcluster.Cluster, namespace string, of schema.GroupVersionResource, text string) {
	t.Helper()
	_, err := resource(t, c, namespace, of).Create(t.Context(), object(t, text), metav1.CreateOptions{})
	require.NoError(t, err)
}

// apply applies an object from YAML, like `kubectl apply --server-side`.
func apply(t *testing.T, c *testcluster.Cluster, namespace string, of schema.GroupVersionResource, text string) {
	t.Helper()
	u := object(t, text)
	_, err := resource(t, c, namespace, of).Apply(t.Context(), u.GetName(), u, metav1.ApplyOptions{FieldManager: "kubectl"})
	require.NoError(t, err)
}

// patch applies a merge patch with a field manager.
func patch(t *testing.T, c *testcluster.Cluster, namespace string, of schema.GroupVersionResource, name, manager, body string) {
	t.Helper()
	_, err := resource(t, c, namespace, of).Patch(t.Context(), name, types.MergePatchType, []byte(body), metav1.PatchOptions{FieldManager: manager})
	require.NoError(t, err)
}

// get formats an object like `kubectl get --output=jsonpath=…`. Without a name, it formats the list of all
// objects.
func get(t *testing.T, c *testcluster.Cluster, namespace string, of schema.GroupVersionResource, name, path string) string {
	t.Helper()
	var found map[string]any
	if name == "" {
		list, err := resource(t, c, namespace, of).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		found = list.UnstructuredContent()
	} else {
		u, err := resource(t, c, namespace, of).Get(t.Context(), name, metav1.GetOptions{})
		require.NoError(t, err)
		found = u.Object
	}
	query := jsonpath.New(path).AllowMissingKeys(true)
	require.NoError(t, query.Parse(path))
	var text strings.Builder
	require.NoError(t, query.Execute(&text, found))
	return text.String()
}

// awaitTrue waits until a condition of an Application is true in the current generation.
func awaitTrue(t *testing.T, c *testcluster.Cluster, namespace, name, condition string) {
	t.Helper()
	eventually(t, name+" to be "+condition, func() bool {
		told := get(t, c, namespace, applications, name, "{.metadata.generation} {.status.observedGeneration} {.status.conditions[?(@.type=='"+condition+"')].status}")
		generations := strings.Fields(told)
		return len(generations) == 3 && generations[0] == generations[1] && generations[2] == "True"
	})
}
