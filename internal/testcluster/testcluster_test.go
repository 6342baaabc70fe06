package testcluster_test

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/internal/testcluster"
)

func TestMain(m *testing.M) { testcluster.Main(m, testcluster.Options{}) }

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// client returns a client for ConfigMaps of the namespace with its own user agent.
func client(t *testing.T, cluster *testcluster.Cluster, namespace, userAgent string) dynamic.ResourceInterface {
	t.Helper()
	config := cluster.Config()
	config.UserAgent = userAgent
	client, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	return client.Resource(configMaps).Namespace(namespace)
}

func configMap(name, value string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata":   map[string]any{"name": name},
		"data":       map[string]any{"key": value},
	}}
}

func TestRequestsAreInAuditLog(t *testing.T) {
	cluster := testcluster.Shared()
	namespace := cluster.Namespace(t)
	objects := client(t, cluster, namespace, "counted/1")

	mark := cluster.Mark()
	const n = 50
	for range n {
		_, err := objects.Create(t.Context(), configMap("one", "value"), metav1.CreateOptions{})
		require.NoError(t, err)
		require.NoError(t, objects.Delete(t.Context(), "one", metav1.DeleteOptions{}))
	}
	requests, err := cluster.Requests(mark)
	require.NoError(t, err)

	mine := requests.By("counted/1")
	require.Len(t, mine, 2*n, "%s", mine)
	first := mine[0]
	require.WithinDuration(t, time.Now(), first.Time, time.Minute)
	require.False(t, first.Done.Before(first.Time))
	first.Time, first.Done = time.Time{}, time.Time{}
	require.Equal(t, testcluster.Request{
		Verb:      "create",
		URI:       "/api/v1/namespaces/" + namespace + "/configmaps",
		Resource:  "configmaps",
		Namespace: namespace,
		Name:      "one",
		UserAgent: "counted/1",
		User:      "admin",
		Code:      http.StatusCreated,
	}, first)
	require.Len(t, mine.Writes(), 2*n)
}

func TestKubectlVersion(t *testing.T) {
	cluster := testcluster.Shared()
	namespace := cluster.Namespace(t)
	const manifest = `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "two"}, "data": {"key": null}}`

	_, err := cluster.Kubectl(t.Context(), manifest, "apply", "--namespace="+namespace, "--filename=-")
	require.NoError(t, err)
	output, err := cluster.Kubectl(t.Context(), "", "get", "configmap", "two", "--namespace="+namespace, "--output=name")
	require.NoError(t, err)
	require.Equal(t, "configmap/two\n", output)

	_, err = cluster.Kubectl(t.Context(), "", "get", "configmap", "three", "--namespace="+namespace)
	require.ErrorContains(t, err, "not found")
}

func TestObjectsSurviveComponentCrash(t *testing.T) {
	cluster, err := testcluster.Start(t.Context(), testcluster.Options{})
	require.NoError(t, err)
	defer cluster.Stop()
	objects := client(t, cluster, cluster.Namespace(t), "survivor")
	_, err = objects.Create(t.Context(), configMap("one", "value"), metav1.CreateOptions{})
	require.NoError(t, err)

	for _, component := range []string{testcluster.APIServer, testcluster.Etcd} {
		require.NoError(t, cluster.Kill(component))
		_, err = cluster.PID(component)
		require.ErrorIs(t, err, os.ErrNotExist)
		_, err = get(t, objects, 2*time.Second)
		require.Error(t, err, "without %s", component)

		require.NoError(t, cluster.Restart(component))
		require.Eventually(t, func() bool {
			object, err := get(t, objects, 5*time.Second)
			return err == nil && object.Object["data"].(map[string]any)["key"] == "value"
		}, time.Minute, 50*time.Millisecond, "with %s again", component)
	}
}

func TestPausedAPIServerIsUnresponsive(t *testing.T) {
	cluster, err := testcluster.Start(t.Context(), testcluster.Options{})
	require.NoError(t, err)
	defer cluster.Stop()
	objects := client(t, cluster, cluster.Namespace(t), "patient")
	_, err = objects.Create(t.Context(), configMap("one", "value"), metav1.CreateOptions{})
	require.NoError(t, err)

	require.NoError(t, cluster.Pause(testcluster.APIServer))
	_, err = get(t, objects, time.Second)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	require.NoError(t, cluster.Resume(testcluster.APIServer))
	_, err = get(t, objects, 30*time.Second)
	require.NoError(t, err)
}

// The simulated node of the control plane.
func TestSimulatedNode(t *testing.T) {
	cluster, err := testcluster.Start(t.Context(), testcluster.Options{Node: true})
	require.NoError(t, err)
	defer cluster.Stop()
	for _, row := range []struct {
		name string
		test func(*testing.T, func(stdin string, args ...string) string)
	}{
		{"Pods of a Deployment become ready, and go", testDeployment},
		{"a DaemonSet has a Pod there", testDaemonSet},
		{"a Job completes, and goes after its time", testJob},
		{"a claim gets a volume, which is expanded and deleted", testClaim},
		{"a claim of another class is left alone", testForeignClaim},
	} {
		t.Run(row.name, func(t *testing.T) {
			namespace := "--namespace=" + cluster.Namespace(t)
			row.test(t, func(stdin string, args ...string) string {
				t.Helper()
				output, err := cluster.Kubectl(t.Context(), stdin, append(args, namespace)...)
				require.NoError(t, err)
				return output
			})
		})
	}
}

func testDeployment(t *testing.T, kubectl func(string, ...string) string) {
	t.Helper()
	kubectl("", "create", "deployment", "web", "--image=web:1", "--replicas=2")
	kubectl("", "rollout", "status", "deployment/web", "--timeout=120s")
	pods := strings.Fields(kubectl("", "get", "pods", "--output=name"))
	require.Len(t, pods, 2)
	require.Len(t, strings.Fields(kubectl("", "get", "pods", "--output=jsonpath={.items[*].status.podIP}")), 2)

	kubectl("", "delete", "deployment", "web", "--cascade=foreground", "--timeout=120s")
	require.Empty(t, kubectl("", "get", "pods", "--output=name"))
}

func testDaemonSet(t *testing.T, kubectl func(string, ...string) string) {
	t.Helper()
	kubectl(`{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: agent}, spec: {selector: {matchLabels: {app: agent}},
		template: {metadata: {labels: {app: agent}}, spec: {containers: [{name: agent, image: agent}]}}}}`, "create", "--filename=-")
	kubectl("", "rollout", "status", "daemonset/agent", "--timeout=120s")
	require.Equal(t, "1", kubectl("", "get", "daemonset/agent", "--output=jsonpath={.status.numberReady}"))
}

func testJob(t *testing.T, kubectl func(string, ...string) string) {
	t.Helper()
	kubectl(`{apiVersion: batch/v1, kind: Job, metadata: {name: once}, spec: {ttlSecondsAfterFinished: 1, template: {spec: {restartPolicy: Never,
		initContainers: [{name: before, image: before}], containers: [{name: once, image: once}]}}}}`, "create", "--filename=-")
	kubectl("", "wait", "job/once", "--for=delete", "--timeout=120s")
}

const claim = `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {storageClassName: CLASS, accessModes: [ReadWriteOnce],
	resources: {requests: {storage: 1Gi}}}}`

func testClaim(t *testing.T, kubectl func(string, ...string) string) {
	t.Helper()
	kubectl("", "apply", "--server-side", "--filename=../../deploy/demo/storage.yaml")
	kubectl(strings.Replace(claim, "CLASS", "nowhere", 1), "create", "--filename=-")
	kubectl("", "wait", "pvc/data", "--for=jsonpath={.status.phase}=Bound", "--timeout=120s")
	volume := "pv/" + kubectl("", "get", "pvc/data", "--output=jsonpath={.spec.volumeName}")
	kubectl("", "patch", "pvc/data", "--patch", `{"spec": {"resources": {"requests": {"storage": "2Gi"}}}}`)
	kubectl("", "wait", "pvc/data", "--for=jsonpath={.status.capacity.storage}=2Gi", "--timeout=120s")
	kubectl("", "wait", volume, "--for=jsonpath={.spec.capacity.storage}=2Gi", "--timeout=120s")
	kubectl("", "delete", "pvc/data", "--timeout=120s")
	kubectl("", "wait", volume, "--for=delete", "--timeout=120s")
}

func testForeignClaim(t *testing.T, kubectl func(string, ...string) string) {
	t.Helper()
	kubectl("{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: foreign}, provisioner: example.com/foreign}", "create", "--filename=-")
	kubectl(strings.Replace(claim, "CLASS", "foreign", 1), "create", "--filename=-")
	kubectl(strings.NewReplacer("CLASS", "nowhere", "name: data", "name: later").Replace(claim), "create", "--filename=-")
	kubectl("", "wait", "pvc/later", "--for=jsonpath={.status.phase}=Bound", "--timeout=120s")
	require.Equal(t, "Pending", kubectl("", "get", "pvc/data", "--output=jsonpath={.status.phase}"))
}

func get(t *testing.T, objects dynamic.ResourceInterface, timeout time.Duration) (*unstructured.Unstructured, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	return objects.Get(ctx, "one", metav1.GetOptions{})
}
