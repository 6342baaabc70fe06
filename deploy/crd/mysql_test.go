package crd_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/deploy/crd"
	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/mysql/v1"
)

func mysqls(t *testing.T) (dynamic.ResourceInterface, string) {
	t.Helper()
	cluster := testcluster.Shared()
	require.NoError(t, cluster.Define(t.Context(), string(crd.Mysqls), v1.GroupVersionResource.GroupResource().String()))
	client, err := dynamic.NewForConfig(cluster.Config())
	require.NoError(t, err)
	namespace := cluster.Namespace(t)
	return client.Resource(v1.GroupVersionResource).Namespace(namespace), namespace
}

func TestSampleIsValid(t *testing.T) {
	client, namespace := mysqls(t)
	sample, err := os.ReadFile("../../testdata/mysql/the-sample/mysql.yaml")
	require.NoError(t, err)
	_, err = testcluster.Shared().Kubectl(t.Context(), string(sample), "create", "--validate=strict", "--namespace="+namespace, "--filename=-")
	require.NoError(t, err)
	created, err := client.Get(t.Context(), "db-1", metav1.GetOptions{})
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"observedGeneration": int64(-1)}, created.Object["status"], "not reconciled yet")

	const status = `{"status": {"ready": false, "conditions": [
		{"lastTransitionTime": "2022-11-01T17:41:31.957460-04:00", "status": "AVAILABLE", "type": "Service"},
		{"lastTransitionTime": "2022-11-01T17:41:31.957475-04:00", "status": "AVAILABLE", "type": "Secret"},
		{"lastTransitionTime": "2022-11-01T17:41:38.431363-04:00", "status": "CREATING", "type": "StatefulSet"}]}}`
	require.NoError(t, json.Unmarshal([]byte(status), &created.Object))
	updated, err := client.UpdateStatus(t.Context(), created, metav1.UpdateOptions{FieldValidation: metav1.FieldValidationStrict})
	require.NoError(t, err)
	conditions, _, err := unstructured.NestedSlice(updated.Object, "status", "conditions")
	require.NoError(t, err)
	assert.Len(t, conditions, 3)

	output, err := testcluster.Shared().Kubectl(t.Context(), "", "get", "mysqls", "--namespace="+namespace)
	require.NoError(t, err)
	assert.Equal(t, "NAME STORAGE MEMORY CPU READY AGE", header(output))
	assert.Contains(t, output, "db-1   256Mi     128Mi    250m   false")
	output, err = testcluster.Shared().Kubectl(t.Context(), "", "get", "crd/mysqls.fnjoin.com", "--output",
		`jsonpath={range .status.conditions[*]}{.type}={.status} {end}`)
	require.NoError(t, err)
	assert.NotContains(t, output, "NonStructuralSchema=True")
}

// Objects that were valid when the definition had neither rules nor defaults.
func TestMysqlDefinitionIsCompatible(t *testing.T) {
	client, namespace := mysqls(t)
	for name, spec := range map[string]string{"nothing": `{}`, "one-field": `{"storage": "1Gi"}`} {
		object := &unstructured.Unstructured{}
		require.NoError(t, json.Unmarshal([]byte(`{"apiVersion": "fnjoin.com/v1", "kind": "Mysql", "metadata": {"name": "`+name+`"}, "spec": `+spec+`}`), &object.Object))
		created, err := client.Create(t.Context(), object, metav1.CreateOptions{})
		require.NoError(t, err)
		memory, _, _ := unstructured.NestedString(created.Object, "spec", "memory")
		assert.Equal(t, "512Mi", memory)
	}
	_, err := testcluster.Shared().Kubectl(t.Context(), "{apiVersion: fnjoin.com/v1, kind: Mysql, metadata: {name: bare}}", "create", "--namespace="+namespace, "--filename=-")
	require.NoError(t, err)
}

func TestInvalidMysqlsAreRejected(t *testing.T) {
	_, namespace := mysqls(t)
	for _, row := range []struct{ name, object, spec, message string }{
		{"a cpu that is no quantity", "db", "{cpu: abc}", "must be a quantity such as 250m or 2"},
		{"hardly any cpu", "db", `{cpu: "0"}`, "must be at least 10m"},
		{"too little memory", "db", "{memory: 64Mi}", "must be at least 128Mi"},
		{"too little storage", "db", "{storage: 255Mi}", "must be at least 256Mi"},
		{"less than no storage", "db", "{storage: -1Gi}", "must be at least 256Mi"},
		{"a database of the server itself", "db", "{database: Sys}", "must not be a system database of the server"},
		{"a policy that there is not", "db", "{deletionPolicy: Orphan}", `Unsupported value: "Orphan"`},
		{"a tag that is none", "db", `{version: "8.4 beta"}`, "spec.version"},
		{"a name that is too long", strings.Repeat("a", 53), "{}", "at most 52 characters"},
		{"a name that no Service has", "1db", "{}", "must be a valid name of a Service"},
		{"a field with a typing error", "db", "{sotrage: 1Gi}", "unknown field"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := testcluster.Shared().Kubectl(t.Context(), "{apiVersion: fnjoin.com/v1, kind: Mysql, metadata: {name: "+row.object+"}, spec: "+row.spec+"}",
				"create", "--validate=strict", "--namespace="+namespace, "--filename=-")
			assert.ErrorContains(t, err, row.message)
		})
	}
	longest := strings.Repeat("a", 52)
	_, err := testcluster.Shared().Kubectl(t.Context(), "{apiVersion: fnjoin.com/v1, kind: Mysql, metadata: {name: "+longest+"}}", "create", "--namespace="+namespace, "--filename=-")
	require.NoError(t, err)
}
