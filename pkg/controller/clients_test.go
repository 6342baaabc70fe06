package controller_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/controller"
)

// What happens to a field after the step of another client.
const (
	stays     = "stays"
	corrected = "corrected"
)

// clientStep is a step of another client on an object that an Application holds with the default schema. The objects have
// the form of the bundles of their projects.
type clientStep struct {
	name string
	// manifest is the held object. $N is its name, $NS the namespace, $CA an authority in base64.
	manifest string
	// before is a patch of the status that the step requires. step is a JSON Patch. Both apply to a subresource if they
	// begin with its name and a colon.
	before, step string
	// path is a JSON Pointer, value the value there after the controller has reconciled the object.
	path, expected string
	value          any
}

const (
	podTemplate = `template: {metadata: {labels: {app: a}}, spec: {nodeSelector: {os: linux}, tolerations: [{key: a, operator: Exists}],
  containers: [{name: web, image: "web:1", resources: {requests: {cpu: 100m}}}]}}`
	ofWorkload      = `selector: {matchLabels: {app: a}}, ` + podTemplate
	heldDeployment  = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: $N, labels: {app: a}, annotations: {owner: us}}, spec: {replicas: 2, ` + ofWorkload + `}}`
	unscaled        = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: $N}, spec: {` + ofWorkload + `}}`
	heldDaemonSet   = `{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: $N}, spec: {` + ofWorkload + `}}`
	heldStatefulSet = `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: $N}, spec: {serviceName: a, updateStrategy: {type: RollingUpdate}, ` + ofWorkload + `}}`
	heldService     = `{apiVersion: v1, kind: Service, metadata: {name: $N}, spec: {type: LoadBalancer, selector: {app: a}, ports: [{name: http, port: 80}]}}`
	heldIngress     = `{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: $N}, spec: {rules: [{host: a.example.com}], defaultBackend: {service: {name: a, port: {number: 80}}}}}`
	hook            = `{name: a.example.com, sideEffects: None, admissionReviewVersions: [v1], clientConfig: {service: {name: a, namespace: nowhere}}}`
	heldWebhook     = `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: $N}, webhooks: [` + hook + `]}`
	heldAuthority   = `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: $N}, webhooks: [{name: a.example.com, sideEffects: None, failurePolicy: Ignore,
  admissionReviewVersions: [v1], clientConfig: {service: {name: a, namespace: nowhere}, caBundle: Cg==}}]}`
	heldDefinition = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: songs.$N.example.com}, spec: {group: $N.example.com, scope: Namespaced,
  names: {kind: Song, plural: songs, singular: song, listKind: SongList}, conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: {name: a, namespace: nowhere}}}},
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`
	heldAPIService = `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.$N.example.com}, spec: {group: $N.example.com, version: v1, groupPriorityMinimum: 100, versionPriority: 100,
  service: {name: a, namespace: nowhere}}}`
	heldRole           = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: $N}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}`
	aggregatedRole     = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: $N}, aggregationRule: {clusterRoleSelectors: [{matchLabels: {of: $N}}]}, rules: []}`
	heldServiceAccount = `{apiVersion: v1, kind: ServiceAccount, metadata: {name: $N}}`
	heldAutoscaler     = `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: $N}, spec: {minReplicas: 2, maxReplicas: 5, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: a}}}`
	heldBudget         = `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: $N}, spec: {minAvailable: 1, selector: {matchLabels: {app: a}}}}`
	heldConfigMap      = `{apiVersion: v1, kind: ConfigMap, metadata: {name: $N}, data: {key: ours}}`
	heldSecret         = `{apiVersion: v1, kind: Secret, metadata: {name: $N}, stringData: {password: ours}}`
	heldNamespace      = `{apiVersion: v1, kind: Namespace, metadata: {name: $N, labels: {team: a}}}`
	heldClaim          = `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: $N}, spec: {storageClassName: $NS, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`
	heldJob            = `{apiVersion: batch/v1, kind: Job, metadata: {name: $N}, spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: c, image: "c:1"}]}}}}`
	heldCronJob        = `{apiVersion: batch/v1, kind: CronJob, metadata: {name: $N}, spec: {schedule: "0 0 * * *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: "c:1"}]}}}}}}`
)

const (
	containers = "/spec/template/spec/containers"
	inWebhook  = "/webhooks/0/clientConfig/caBundle"
)

var clientSteps = []clientStep{
	{"an injected sidecar", heldDeployment, "", "add " + containers + "/- {name: istio-proxy, image: 'proxy:1'}", containers + "/1/name", stays, "istio-proxy"},
	{"an injected init container", heldDeployment, "", "add /spec/template/spec/initContainers [{name: istio-init, image: 'init:1'}]", "/spec/template/spec/initContainers/0/name", stays, "istio-init"},
	{"an injected volume", heldDeployment, "", "add /spec/template/spec/volumes [{name: token, emptyDir: {}}]", "/spec/template/spec/volumes/0/name", stays, "token"},
	{"an injected variable", heldDeployment, "", "add " + containers + "/0/env [{name: OTEL, value: x}]", containers + "/0/env/0/name", stays, "OTEL"},
	{"kubectl rollout restart", heldDeployment, "", "add /spec/template/metadata/annotations {kubectl.kubernetes.io/restartedAt: now}", "/spec/template/metadata/annotations/kubectl.kubernetes.io~1restartedAt", stays, "now"},
	{"the revision of a Deployment", heldDeployment, "", "add /metadata/annotations/deployment.kubernetes.io~1revision '3'", "/metadata/annotations/deployment.kubernetes.io~1revision", stays, "3"},
	{"kubectl scale", heldDeployment, "", "scale: replace /spec/replicas 5", "/spec/replicas", corrected, int64(2)},
	{"an autoscaler without replicas in the manifest", unscaled, "", "scale: replace /spec/replicas 5", "/spec/replicas", stays, int64(5)},
	{"kubectl set image", heldDeployment, "", "replace " + containers + "/0/image 'web:2'", containers + "/0/image", corrected, "web:1"},
	{"kubectl rollout pause", heldDeployment, "", "add /spec/paused true", "/spec/paused", stays, true},
	{"requests of a vertical autoscaler", heldDeployment, "", "replace " + containers + "/0/resources/requests/cpu 500m", containers + "/0/resources/requests/cpu", corrected, "100m"},
	{"an added toleration", heldDeployment, "", "add /spec/template/spec/tolerations/- {key: b, operator: Exists}", "/spec/template/spec/tolerations/1/key", corrected, nil},
	{"a removed label", heldDeployment, "", "remove /metadata/labels/app", "/metadata/labels/app", corrected, "a"},
	{"an added label", heldDeployment, "", "add /metadata/labels/theirs x", "/metadata/labels/theirs", stays, "x"},
	{"a changed annotation", heldDeployment, "", "replace /metadata/annotations/owner them", "/metadata/annotations/owner", corrected, "us"},
	{"an added finalizer", heldDeployment, "", "add /metadata/finalizers [other.example.com/wait]", "/metadata/finalizers/0", stays, "other.example.com/wait"},
	{"an added owner", heldConfigMap, "", "add /metadata/ownerReferences [{apiVersion: v1, kind: Namespace, name: $NS, uid: 00000000-0000-0000-0000-000000000000}]", "/metadata/ownerReferences/0/kind", stays, "Namespace"},
	{"a DaemonSet without nodes", heldDaemonSet, "", "add /spec/template/spec/nodeSelector/no-such-node x", "/spec/template/spec/nodeSelector/no-such-node", corrected, nil},
	{"the partition of a canary", heldStatefulSet, "", "add /spec/updateStrategy/rollingUpdate {partition: 2}", "/spec/updateStrategy/rollingUpdate/partition", stays, int64(2)},
	{"an added port", heldService, "", "add /spec/ports/- {name: metrics, port: 9090}", "/spec/ports/1/name", stays, "metrics"},
	{"a blue-green switch", heldService, "", "replace /spec/selector/app b", "/spec/selector/app", corrected, "a"},
	{"the address of a load balancer", heldService, "", "status: add /status/loadBalancer {ingress: [{ip: 10.0.0.9}]}", "/status/loadBalancer/ingress/0/ip", stays, "10.0.0.9"},
	{"the address of an Ingress", heldIngress, "", "status: add /status/loadBalancer {ingress: [{ip: 10.0.0.9}]}", "/status/loadBalancer/ingress/0/ip", stays, "10.0.0.9"},
	{"another host", heldIngress, "", "replace /spec/rules/0/host b.example.com", "/spec/rules/0/host", corrected, "a.example.com"},
	{"an injected authority", heldWebhook, "", "add " + inWebhook + " $CA", inWebhook, stays, "$CA"},
	{"an authority in place of a placeholder", heldAuthority, "", "replace " + inWebhook + " $CA", inWebhook, corrected, "Cg=="},
	{"the failure policy of istiod", heldAuthority, "", "replace /webhooks/0/failurePolicy Fail", "/webhooks/0/failurePolicy", corrected, "Ignore"},
	{"an added webhook", heldWebhook, "", "add /webhooks/- " + strings.Replace(hook, "a.example", "b.example", 1), "/webhooks/1/name", corrected, nil},
	{"the authority of a conversion", heldDefinition, "", "add /spec/conversion/webhook/clientConfig/caBundle $CA", "/spec/conversion/webhook/clientConfig/caBundle", stays, "$CA"},
	{"the authority of an aggregated API", heldAPIService, "", "add /spec/caBundle $CA", "/spec/caBundle", stays, "$CA"},
	{"an added rule of a role", heldRole, "", "add /rules/- {apiGroups: [''], resources: [secrets], verbs: [get]}", "/rules/1/resources/0", corrected, nil},
	{"the rules of an aggregated role", aggregatedRole, "", "add /rules [{apiGroups: [''], resources: [pods], verbs: [get]}]", "/rules/0/resources/0", stays, "pods"},
	{"the pull secret of a ServiceAccount", heldServiceAccount, "", "add /imagePullSecrets [{name: registry}]", "/imagePullSecrets/0/name", stays, "registry"},
	{"the fewest replicas of an autoscaler", heldAutoscaler, "", "replace /spec/minReplicas 1", "/spec/minReplicas", corrected, int64(2)},
	{"the status of a budget", heldBudget, "", "status: add /status {disruptionsAllowed: 1, currentHealthy: 2, desiredHealthy: 1, expectedPods: 2}", "/status/disruptionsAllowed", stays, int64(1)},
	{"an added key", heldSecret, "", "add /data/ca.crt dGhlaXJz", "/data/ca.crt", stays, "dGhlaXJz"},
	{"a label for pod security", heldNamespace, "", "add /metadata/labels/pod-security.kubernetes.io~1enforce baseline", "/metadata/labels/pod-security.kubernetes.io~1enforce", stays, "baseline"},
	// The API server allows no smaller volume: it rejects the correction, and the Application reports that.
	{"a larger volume", heldClaim, "status: add /status {phase: Bound, capacity: {storage: 1Gi}}", "replace /spec/resources/requests/storage 2Gi", "/spec/resources/requests/storage", stays, "2Gi"},
	{"a queue that starts a Job", heldJob, "", "replace /spec/suspend false", "/spec/suspend", corrected, true},
}

// An Application with the default schema corrects what other clients change in the fields of its manifests, and leaves what
// they add.
func TestStepsOfOtherClients(t *testing.T) {
	require.Len(t, clientSteps, 39)
	f := givenAlone(t, testcluster.Options{})
	f.GrantEverywhere()
	t.Cleanup(func() { // after the controller has ended: an APIService without a server disturbs the next test on this control plane
		require.NoError(t, f.As("user").Resource(apiServices).DeleteCollection(cleanupContext(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "probe"}))
	})
	f.Run(controller.Options{})
	f.Create("user", "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: $NS}, provisioner: example.com/none, allowVolumeExpansion: true}")
	for i, row := range clientSteps {
		f.Submit(f.rowName(i), "manifest: ["+f.rowManifest(i, row)+"]")
	}
	for i, row := range clientSteps {
		t.Run(row.name, func(t *testing.T) {
			f := &fixture{t: t, cluster: f.cluster, namespace: f.namespace, agent: f.agent, alone: true}
			f.AwaitHeld(f.rowName(i))
			object := f.object(f.rowManifest(i, row))
			f.takeStep(object, f.replaced(i, row.before))
			f.takeStep(object, f.replaced(i, row.step))
			if row.expected == stays {
				require.Equal(t, f.replacedValue(i, row.value), value(f.current(object), pointer(row.path)...), "the step itself")
			}
			// The correction of another field shows that the controller has seen the step.
			f.takeStep(object, "replace /metadata/labels/probe theirs")
			f.eventually("the correction of "+row.name, func() bool {
				return f.current(object)["metadata"].(map[string]any)["labels"].(map[string]any)["probe"] == "ours"
			})
			assert.Equal(t, f.replacedValue(i, row.value), value(f.current(object), pointer(row.path)...), row.expected)
		})
	}
	_, message := f.AwaitReason(f.rowName(slices.IndexFunc(clientSteps, func(row clientStep) bool { return row.manifest == heldClaim })), v1alpha1.ReasonRejected)
	assert.Contains(t, message, "spec.resources.requests.storage")
}

func (f *fixture) rowName(i int) string { return fmt.Sprintf("step-%d-%s", i, f.namespace) }

// rowManifest returns the manifest of a row as JSON, with the label probe.
func (f *fixture) rowManifest(i int, row clientStep) string {
	object := f.object(f.replaced(i, row.manifest))
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels["probe"] = "ours"
	object.SetLabels(labels)
	text, err := json.Marshal(object.Object)
	require.NoError(f.t, err)
	return string(text)
}

func (f *fixture) replaced(i int, text string) string {
	authority := base64.StdEncoding.EncodeToString(f.cluster.Config().CAData)
	return strings.NewReplacer("$NS", f.namespace, "$N", f.rowName(i), "$CA", authority).Replace(text)
}

func (f *fixture) replacedValue(i int, value any) any {
	if text, ok := value.(string); ok {
		return f.replaced(i, text)
	}
	return value
}

var apiServices = resourceOf(&unstructured.Unstructured{Object: map[string]any{"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService"}})

// clientOf returns a client for an object, which can be cluster-scoped.
func (f *fixture) clientOf(object *unstructured.Unstructured) dynamic.ResourceInterface {
	client := f.As("other").Resource(resourceOf(object))
	switch object.GetKind() {
	case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "CustomResourceDefinition", "APIService", "ClusterRole", "Namespace":
		return client
	}
	return client.Namespace(f.namespace)
}

func (f *fixture) current(object *unstructured.Unstructured) map[string]any {
	f.t.Helper()
	live, err := f.clientOf(object).Get(f.t.Context(), object.GetName(), metav1.GetOptions{})
	require.NoError(f.t, err)
	return live.Object
}

// takeStep applies one operation of a JSON Patch: [SUBRESOURCE: ]OP PATH [VALUE].
func (f *fixture) takeStep(object *unstructured.Unstructured, step string) {
	f.t.Helper()
	if step == "" {
		return
	}
	var subresources []string
	for _, name := range []string{"scale", "status"} {
		if rest, is := strings.CutPrefix(step, name+": "); is {
			subresources, step = []string{name}, rest
		}
	}
	parts := strings.SplitN(step, " ", 3)
	op := map[string]any{"op": parts[0], "path": parts[1]}
	if len(parts) == 3 {
		var value any
		require.NoError(f.t, yaml.Unmarshal([]byte(parts[2]), &value))
		op["value"] = value
	}
	body, err := json.Marshal([]any{op})
	require.NoError(f.t, err)
	_, err = f.clientOf(object).Patch(f.t.Context(), object.GetName(), types.JSONPatchType, body, metav1.PatchOptions{}, subresources...)
	require.NoError(f.t, err)
}

// pointer returns the path elements of a JSON Pointer.
func pointer(text string) (path []string) {
	for part := range strings.SplitSeq(strings.TrimPrefix(text, "/"), "/") {
		path = append(path, strings.NewReplacer("~1", "/", "~0", "~").Replace(part))
	}
	return path
}
