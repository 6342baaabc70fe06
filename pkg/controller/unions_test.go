package controller_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/observer"
)

// union is an object with one of several mutually exclusive fields.
type union struct {
	name string
	// object is the object without name and namespace.
	object string
	// swap is a JSON Patch that replaces our field with an alternative.
	swap string
	// keeps is true if our field can be restored without removing anything.
	keeps bool
}

// podOf returns a Deployment with extra fields in the Pod spec and in the container.
func podOf(spec, container string) string {
	return `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 0, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}},
		spec: {` + spec + `containers: [{name: web, image: "web:1"` + container + `}]}}}}`
}

const (
	inTemplate  = "/spec/template/spec/"
	inContainer = inTemplate + "containers/0/"
)

func replaced(path, value string) string {
	return fmt.Sprintf("[{op: replace, path: %q, value: %s}]", path, value)
}

// unions lists examples of mutually exclusive fields in Kubernetes.
var unions = []union{
	{name: "env-value", object: podOf("", `, env: [{name: A, value: "1"}]`), swap: replaced(inContainer+"env/0", `{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}`)},
	{name: "env-from", object: podOf("", `, env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]`), swap: replaced(inContainer+"env/0", `{name: A, value: "1"}`)},
	{name: "env-source", object: podOf("", `, env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]`),
		swap: replaced(inContainer+"env/0", `{name: A, valueFrom: {configMapKeyRef: {name: s, key: k}}}`)},
	{name: "env-from-source", object: podOf("", `, envFrom: [{configMapRef: {name: c}}]`), swap: replaced(inContainer+"envFrom/0", `{secretRef: {name: c}}`), keeps: true},
	{name: "volume-config", object: podOf(`volumes: [{name: v, configMap: {name: c}}], `, ""), swap: replaced(inTemplate+"volumes/0", `{name: v, secret: {secretName: c}}`)},
	{name: "volume-empty", object: podOf(`volumes: [{name: v, emptyDir: {}}], `, ""), swap: replaced(inTemplate+"volumes/0", `{name: v, hostPath: {path: /etc}}`)},
	{name: "volume-claim", object: podOf(`volumes: [{name: v, persistentVolumeClaim: {claimName: c}}], `, ""), swap: replaced(inTemplate+"volumes/0", `{name: v, emptyDir: {}}`)},
	{name: "projected", object: podOf(`volumes: [{name: v, projected: {sources: [{configMap: {name: c}}]}}], `, ""),
		swap: replaced(inTemplate+"volumes/0/projected/sources/0", `{secret: {name: c}}`), keeps: true},
	{name: "probe", object: podOf("", `, livenessProbe: {httpGet: {path: /, port: 80}}`), swap: replaced(inContainer+"livenessProbe", `{tcpSocket: {port: 80}}`)},
	{name: "probe-exec", object: podOf("", `, readinessProbe: {exec: {command: [a]}, periodSeconds: 7}`), swap: replaced(inContainer+"readinessProbe", `{grpc: {port: 80}}`)},
	{name: "lifecycle", object: podOf("", `, lifecycle: {preStop: {exec: {command: [a]}}}`), swap: replaced(inContainer+"lifecycle/preStop", `{sleep: {seconds: 3}}`)},
	{name: "strategy", object: strings.Replace(podOf("", ""), "replicas: 0", "replicas: 0, strategy: {type: Recreate}", 1), swap: replaced("/spec/strategy", `{type: RollingUpdate, rollingUpdate: {maxSurge: 3}}`)},
	{name: "strategy-rolling", object: strings.Replace(podOf("", ""), "replicas: 0", "replicas: 0, strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 3}}", 1), swap: replaced("/spec/strategy", `{type: Recreate}`), keeps: true},
	{name: "budget", object: `{apiVersion: policy/v1, kind: PodDisruptionBudget, spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}}`,
		swap: `[{op: remove, path: /spec/minAvailable}, {op: add, path: /spec/maxUnavailable, value: 50%}]`},
	{name: "ingress", object: `{apiVersion: networking.k8s.io/v1, kind: Ingress, spec: {defaultBackend: {service: {name: s, port: {number: 80}}}}}`,
		swap: replaced("/spec/defaultBackend", `{resource: {apiGroup: example.com, kind: Bucket, name: b}}`)},
	{name: "ingress-port", object: `{apiVersion: networking.k8s.io/v1, kind: Ingress, spec: {defaultBackend: {service: {name: s, port: {number: 80}}}}}`,
		swap: replaced("/spec/defaultBackend/service/port", `{name: http}`)},
	{name: "ingress-rule", object: `{apiVersion: networking.k8s.io/v1, kind: Ingress, spec: {rules: [{host: a.example, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: s, port: {number: 80}}}}]}}]}}`,
		swap: replaced("/spec/rules/0/http/paths/0/backend", `{resource: {apiGroup: example.com, kind: Bucket, name: b}}`), keeps: true},
	{name: "peer", object: `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {podSelector: {}, ingress: [{from: [{podSelector: {matchLabels: {app: web}}}]}]}}`,
		swap: replaced("/spec/ingress/0/from/0", `{ipBlock: {cidr: 0.0.0.0/0}}`), keeps: true},
	{name: "metric", object: `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: x},
		metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]}}`,
		swap: replaced("/spec/metrics/0/resource/target", `{type: AverageValue, averageValue: 100m}`), keeps: true},
	{name: "metric-kind", object: `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: x},
		metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]}}`,
		swap: replaced("/spec/metrics/0", `{type: Pods, pods: {metric: {name: m}, target: {type: AverageValue, averageValue: "5"}}}`), keeps: true},
	{name: "webhook", object: `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, webhooks: [{name: a.example.com, sideEffects: None, admissionReviewVersions: [v1],
		clientConfig: {service: {namespace: none, name: none}}, rules: [{apiGroups: [none.example.com], apiVersions: [v1], operations: [CREATE], resources: [none]}]}]}`,
		swap: replaced("/webhooks/0/clientConfig", `{url: "https://none.example.com/"}`)},
	{name: "conversion", object: `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {group: $NS.example.com, scope: Namespaced, conversion: {strategy: None},
		names: {plural: boxes, singular: box, kind: Box, listKind: BoxList}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`,
		swap: replaced("/spec/conversion", `{strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://none.example.com/"}}}`)},
	{name: "security", object: podOf(`securityContext: {seccompProfile: {type: RuntimeDefault}}, `, ""),
		swap: replaced(inTemplate+"securityContext/seccompProfile", `{type: Localhost, localhostProfile: a.json}`)},
	{name: "limit-range", object: `{apiVersion: v1, kind: LimitRange, spec: {limits: [{type: Container, default: {cpu: 100m}}]}}`,
		swap: replaced("/spec/limits/0", `{type: Pod, max: {cpu: "2"}}`), keeps: true},
}

// manifest returns the object of a union, with a name.
func (u union) manifest(f *fixture) *unstructured.Unstructured {
	object := f.object(u.object)
	switch object.GetKind() {
	case "ValidatingWebhookConfiguration":
		object.SetName(u.name + "-" + f.namespace)
	case "CustomResourceDefinition":
		object.SetName("boxes." + f.namespace + ".example.com")
	default:
		object.SetName(u.name)
	}
	return object
}

// contentOf returns an object without its metadata and status.
func contentOf(object map[string]any) map[string]any {
	content := maps.Clone(object)
	delete(content, "metadata")
	delete(content, "status")
	return content
}

// eachUnion runs a test for each union, with the object in its manifest.
func (f *fixture) eachUnion(test func(f *fixture, u union, object *unstructured.Unstructured)) {
	for _, u := range unions {
		f.t.Run(u.name, func(t *testing.T) {
			g := *f
			g.t = t
			test(&g, u, u.manifest(f))
		})
	}
}

// givenUnions is like given, but the applier may do everything in the cluster.
func givenUnions(t *testing.T) *fixture {
	t.Helper()
	f := given(t)
	f.Create("user", fmt.Sprintf(`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: %[1]s},
		roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}, subjects: [{kind: ServiceAccount, name: %[2]s, namespace: %[1]s}]}`, f.namespace, applier))
	return f
}

// submitObject submits an Application with one manifest.
func (f *fixture) submitObject(name string, object *unstructured.Unstructured, adoption v1alpha1.AdoptionPolicy) {
	f.t.Helper()
	raw, err := object.MarshalJSON()
	require.NoError(f.t, err)
	f.Submit(name, fmt.Sprintf("{manifest: [%s], adoption: %s}", raw, adoption))
}

// If another client replaces our field with an alternative, our field is restored and the alternative
// is removed.
func TestEachUnionFieldIsRestored(t *testing.T) {
	f := givenUnions(t)
	for _, u := range unions {
		f.submitObject(u.name, u.manifest(f), v1alpha1.AdoptNever)
	}
	before := map[string]map[string]any{}
	for _, u := range unions {
		f.AwaitHeld(u.name)
		object := u.manifest(f)
		before[u.name] = contentOf(f.Get(resourceOf(object), object.GetName()))
		swapped := f.PatchJSON("mallory", resourceOf(object), object.GetName(), u.swap)
		require.False(t, observer.Equal(before[u.name], contentOf(swapped)), u.name)
	}
	f.eachUnion(func(f *fixture, u union, object *unstructured.Unstructured) {
		f.Await(resourceOf(object), object.GetName(), "as it was", func(o map[string]any) bool { return observer.Equal(before[u.name], contentOf(o)) })
		f.AwaitHeld(u.name)
	})
}

// An object with an alternative field is adopted completely or not at all. The existing field is kept,
// and the status names the remedy.
func TestAdoptionKeepsOtherUnionField(t *testing.T) {
	f := givenUnions(t)
	before := map[string]map[string]any{}
	for _, u := range unions {
		object := u.manifest(f)
		f.createObject("user", observer.CopyMap(object.Object))
		before[u.name] = contentOf(f.PatchJSON("user", resourceOf(object), object.GetName(), u.swap))
		f.submitObject(u.name, object, v1alpha1.AdoptAlways)
	}
	f.eachUnion(func(f *fixture, u union, object *unstructured.Unstructured) {
		if u.keeps {
			f.AwaitHeld(u.name)
			return
		}
		_, message := f.AwaitReason(u.name, v1alpha1.ReasonRejected)
		assert.Contains(f.t, message, "mode: absent")
		assert.Equal(f.t, before[u.name], contentOf(f.Get(resourceOf(object), object.GetName())))
	})
}

// The manifest switches to an alternative field. The old field is removed, with everything that the API
// server added to it.
func TestAManifestMovesToAnotherOfSeveralFields(t *testing.T) {
	f := givenUnions(t)
	for _, u := range unions {
		f.submitObject(u.name, u.manifest(f), v1alpha1.AdoptNever)
	}
	moved := map[string]*unstructured.Unstructured{}
	for _, u := range unions {
		f.AwaitHeld(u.name)
		object := u.manifest(f)
		var swap jsonpatch.Patch
		require.NoError(t, yaml.Unmarshal([]byte(u.swap), &swap))
		raw, err := object.MarshalJSON()
		require.NoError(t, err)
		raw, err = swap.Apply(raw)
		require.NoError(t, err, u.name)
		require.NoError(t, object.UnmarshalJSON(raw))
		moved[u.name] = object
		f.submitObject(u.name, object, v1alpha1.AdoptNever)
	}
	f.eachUnion(func(f *fixture, u union, object *unstructured.Unstructured) {
		f.AwaitApplication(u.name, "Held in this generation", func(app *v1alpha1.Application) bool {
			held := condition(app, v1alpha1.ConditionHeld)
			return held.Status == metav1.ConditionTrue && held.ObservedGeneration == app.Generation
		})
		live := contentOf(f.Get(resourceOf(object), object.GetName()))
		assert.True(f.t, observer.Covers(live, contentOf(moved[u.name].Object)), "%v", live)
	})
}

// The manifest of the owner adds a field that excludes a field of a sharer. The change is rejected, and the field of
// the sharer is kept.
func TestTheOwnerKeepsAUnionFieldOfASharer(t *testing.T) {
	f := given(t)
	budget := func(spec string) string {
		return "manifest: [{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web}, spec: {" + spec + "}}]"
	}
	f.Submit("owner", budget("selector: {matchLabels: {app: web}}"))
	f.AwaitHeld("owner")
	f.Submit("sharer", "ownership: Share\n"+budget("maxUnavailable: 50%"))
	f.AwaitHeld("sharer")
	f.AwaitHeld("owner")
	f.Submit("owner", budget("selector: {matchLabels: {app: web}}, minAvailable: 1"))
	_, message := f.AwaitReason("owner", v1alpha1.ReasonRejected)
	assert.Contains(t, message, "minAvailable and maxUnavailable cannot be both set")
	f.AwaitHeld("sharer")
	f.Quiet(quiet)
	budgets := schema.GroupVersionResource{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"}
	assert.Equal(t, "50%", value(f.Get(budgets, "web"), "spec", "maxUnavailable"))
}
