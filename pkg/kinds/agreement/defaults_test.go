package agreement

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/kinds"
)

const template = `template: {metadata: {labels: {app: a}}, spec: {
  containers: [{name: c, image: "c:1", livenessProbe: {httpGet: {port: 80}}}],
  volumes: [{name: a, configMap: {name: a}}, {name: b, secret: {secretName: b}}]}}`

// minimalObjects are objects, by resource, that leave the defaults to the API server.
var minimalObjects = map[string]string{
	"apps/v1 daemonsets":                      "{kind: DaemonSet, spec: {selector: {matchLabels: {app: a}}, " + template + "}}",
	"apps/v1 deployments":                     "{kind: Deployment, spec: {selector: {matchLabels: {app: a}}, " + template + "}}",
	"apps/v1 replicasets":                     "{kind: ReplicaSet, spec: {selector: {matchLabels: {app: a}}, " + template + "}}",
	"apps/v1 statefulsets":                    "{kind: StatefulSet, spec: {serviceName: a, selector: {matchLabels: {app: a}}, " + template + "}}",
	"v1 replicationcontrollers":               "{kind: ReplicationController, spec: {" + template + "}}",
	"batch/v1 cronjobs":                       "{kind: CronJob, spec: {schedule: '0 0 * * *', jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: c}]}}}}}}",
	"batch/v1 jobs":                           "{kind: Job, spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: c}]}}}}",
	"v1 persistentvolumeclaims":               "{kind: PersistentVolumeClaim, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}",
	"v1 secrets":                              "{kind: Secret}",
	"v1 services":                             "{kind: Service, spec: {ports: [{port: 80}]}}",
	"autoscaling/v1 horizontalpodautoscalers": "{kind: HorizontalPodAutoscaler, spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: a}}}",
	"autoscaling/v2 horizontalpodautoscalers": "{kind: HorizontalPodAutoscaler, spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: a}}}",
	"storage.k8s.io/v1 storageclasses":        "{kind: StorageClass, provisioner: example.com/a}",
	"admissionregistration.k8s.io/v1 validatingwebhookconfigurations": "{kind: ValidatingWebhookConfiguration, webhooks: [" + webhook + "]}",
	"admissionregistration.k8s.io/v1 mutatingwebhookconfigurations":   "{kind: MutatingWebhookConfiguration, webhooks: [" + webhook + "]}",
}

const webhook = "{name: a.example.com, sideEffects: None, admissionReviewVersions: [v1], clientConfig: {url: 'https://a.example.com'}}"

func TestDefaultsMatchServer(t *testing.T) {
	client, err := dynamic.NewForConfig(testcluster.Shared().Config())
	require.NoError(t, err)
	checked := map[pairOfName]bool{}
	for resource, text := range minimalObjects {
		groupVersion, plural, _ := strings.Cut(resource, " ")
		gv, err := schema.ParseGroupVersion(groupVersion)
		require.NoError(t, err)
		object := unstructured.Unstructured{Object: map[string]any{}}
		require.NoError(t, yaml.Unmarshal([]byte(text), &object.Object))
		object.SetAPIVersion(groupVersion)
		object.SetName("defaults")
		all := client.Resource(gv.WithResource(plural))
		here := all.Namespace("default")
		if kind := object.GetKind(); strings.HasSuffix(kind, "WebhookConfiguration") || kind == "StorageClass" {
			here = all
		}
		live, err := here.Create(t.Context(), &object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		require.NoError(t, err, resource)
		compareDefaults(t, resource, kinds.Builtin(gv.WithKind(object.GetKind())), object.Object, live.Object, checked)
	}
	assert.Len(t, checked, 46, "defaults of the table that were compared")
}

// pairOfName is a field of a type.
type pairOfName struct {
	of   *kinds.Node
	name string
}

// compareDefaults compares the fields that the API server has added with the defaults of the table.
func compareDefaults(t *testing.T, path string, node *kinds.Node, manifest, live any, checked map[pairOfName]bool) {
	t.Helper()
	switch added := live.(type) {
	case map[string]any:
		given, _ := manifest.(map[string]any)
		for name, value := range added {
			want, defined := node.Default(name)
			if _, set := given[name]; defined && !set {
				assert.Equal(t, want, value, "%s.%s", path, name)
				checked[pairOfName{node, name}] = true
			}
			compareDefaults(t, path+"."+name, node.Field(name), given[name], value, checked)
		}
	case []any:
		given, _ := manifest.([]any)
		for i, value := range added {
			var element any
			if i < len(given) {
				element = given[i]
			}
			compareDefaults(t, path+"[]", node.Elem(), element, value, checked)
		}
	}
}
