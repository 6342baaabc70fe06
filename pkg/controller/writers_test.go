package controller_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/controller"
	"holdfast.dev/holdfast/pkg/plan"
)

// shape is a kind of leaf: what to merge into an object to change it, $V being the value,
// and what the history is to say.
type shape struct {
	kind, merge string
	path        string
	value       func(i int) string // as JSON
}

func number(i int) string  { return fmt.Sprint(100 + i) }
func text(i int) string    { return fmt.Sprintf("%q", fmt.Sprintf("v%d", i)) }
func image(i int) string   { return fmt.Sprintf("%q", fmt.Sprintf("web:%d", 100+i)) }
func percent(i int) string { return fmt.Sprintf("%q", fmt.Sprintf("%d%%", 30+i%60)) }
func millis(i int) string  { return fmt.Sprintf("%q", fmt.Sprintf("%dm", 301+2*i)) }
func minute(i int) string  { return fmt.Sprintf("%q", fmt.Sprintf("%d %d * * *", i%60, i/60)) }

const inPod = `{spec: {template: {spec: `

// shapes are those of 40 leaves, of 10 kinds.
var shapes = []shape{
	{"ConfigMap", `{data: {key: $V}}`, `data.key`, text},
	{"ConfigMap", `{data: {dotted.key: $V}}`, `data['dotted.key']`, text},
	{"ConfigMap", `{metadata: {labels: {team: $V}}}`, `metadata.labels.team`, text},
	{"ConfigMap", `{metadata: {annotations: {example.com/note: $V}}}`, `metadata.annotations['example.com/note']`, text},
	{"Deployment", `{spec: {replicas: $V}}`, `spec.replicas`, number},
	{"Deployment", `{spec: {minReadySeconds: $V}}`, `spec.minReadySeconds`, number},
	{"Deployment", `{spec: {revisionHistoryLimit: $V}}`, `spec.revisionHistoryLimit`, number},
	{"Deployment", `{spec: {progressDeadlineSeconds: $V}}`, `spec.progressDeadlineSeconds`, func(i int) string { return number(1000 + i) }},
	{"Deployment", `{spec: {strategy: {rollingUpdate: {maxSurge: $V}}}}`, `spec.strategy.rollingUpdate.maxSurge`, percent},
	{"Deployment", `{spec: {template: {metadata: {annotations: {note: $V}}}}}`, `spec.template.metadata.annotations.note`, text},
	{"Deployment", inPod + `{containers: [{name: web, image: $V}]}}}}`, `spec.template.spec.containers[name=web].image`, image},
	{"Deployment", inPod + `{containers: [{name: web, workingDir: $V}]}}}}`, `spec.template.spec.containers[name=web].workingDir`, text},
	{"Deployment", inPod + `{containers: [{name: web, args: [$V]}]}}}}`, `spec.template.spec.containers[name=web].args[0]`, text},
	{"Deployment", inPod + `{containers: [{name: web, env: [{name: A, value: $V}]}]}}}}`, `spec.template.spec.containers[name=web].env[name=A].value`, text},
	{"Deployment", inPod + `{containers: [{name: web, env: [{name: B, value: $V}]}]}}}}`, `spec.template.spec.containers[name=web].env[name=B].value`, text},
	{"Deployment", inPod + `{containers: [{name: web, resources: {limits: {cpu: $V}}}]}}}}`, `spec.template.spec.containers[name=web].resources.limits.cpu`, func(i int) string { return millis(1000 + i) }},
	{"Deployment", inPod + `{containers: [{name: web, resources: {requests: {cpu: $V}}}]}}}}`, `spec.template.spec.containers[name=web].resources.requests.cpu`, millis},
	{"Deployment", inPod + `{containers: [{name: web, livenessProbe: {periodSeconds: $V}}]}}}}`, `spec.template.spec.containers[name=web].livenessProbe.periodSeconds`, number},
	{"Deployment", inPod + `{containers: [{name: web, ports: [{containerPort: 80, protocol: TCP, name: $V}]}]}}}}`, `spec.template.spec.containers[name=web].ports[containerPort=80,protocol=TCP].name`, text},
	{"Deployment", inPod + `{containers: [{name: web, volumeMounts: [{mountPath: /data, name: data, subPath: $V}]}]}}}}`, `spec.template.spec.containers[name=web].volumeMounts[mountPath=/data].subPath`, text},
	{"Deployment", inPod + `{initContainers: [{name: init, image: $V}]}}}}`, `spec.template.spec.initContainers[name=init].image`, image},
	{"Deployment", inPod + `{terminationGracePeriodSeconds: $V}}}}`, `spec.template.spec.terminationGracePeriodSeconds`, number},
	{"Deployment", inPod + `{nodeSelector: {disk: $V}}}}}`, `spec.template.spec.nodeSelector.disk`, text},
	{"Deployment", inPod + `{securityContext: {runAsUser: $V}}}}}`, `spec.template.spec.securityContext.runAsUser`, number},
	{"Deployment", inPod + `{volumes: [{name: data, emptyDir: {sizeLimit: $V}}]}}}}`, `spec.template.spec.volumes[name=data].emptyDir.sizeLimit`, func(i int) string { return fmt.Sprintf("%q", fmt.Sprintf("%dMi", 301+i)) }},
	{"Service", `{spec: {selector: {app: $V}}}`, `spec.selector.app`, text},
	{"Service", `{spec: {ports: [{port: 80, protocol: TCP, targetPort: $V}]}}`, `spec.ports[port=80,protocol=TCP].targetPort`, number},
	{"Service", `{spec: {ports: [{port: 80, protocol: TCP, name: $V}]}}`, `spec.ports[port=80,protocol=TCP].name`, text},
	{"CronJob", `{spec: {schedule: $V}}`, `spec.schedule`, minute},
	{"CronJob", `{spec: {startingDeadlineSeconds: $V}}`, `spec.startingDeadlineSeconds`, number},
	{"CronJob", `{spec: {jobTemplate: {spec: {backoffLimit: $V}}}}`, `spec.jobTemplate.spec.backoffLimit`, number},
	{"PodDisruptionBudget", `{spec: {minAvailable: $V}}`, `spec.minAvailable`, number},
	{"ResourceQuota", `{spec: {hard: {pods: $V}}}`, `spec.hard.pods`, func(i int) string { return fmt.Sprintf("%q", number(i)) }},
	{"Ingress", `{spec: {defaultBackend: {service: {name: $V}}}}`, `spec.defaultBackend.service.name`, text},
	{"Role", `{rules: [{apiGroups: [""], resources: [$V], verbs: [get]}]}`, `rules[0].resources[0]`, text},
	{"NetworkPolicy", `{spec: {podSelector: {matchLabels: {app: $V}}}}`, `spec.podSelector.matchLabels.app`, text},
	{"StatefulSet", `{spec: {replicas: $V}}`, `spec.replicas`, number},
	{"StatefulSet", inPod + `{containers: [{name: db, image: $V}]}}}}`, `spec.template.spec.containers[name=db].image`, image},
	{"StatefulSet", `{spec: {updateStrategy: {rollingUpdate: {partition: $V}}}}`, `spec.updateStrategy.rollingUpdate.partition`, number},
	{"StatefulSet", `{spec: {template: {metadata: {labels: {tier: $V}}}}}`, `spec.template.metadata.labels.tier`, text},
}

// shaped is the Application that holds them all.
const shaped = `manifest:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: shaped, labels: {team: ours}, annotations: {example.com/note: ours}}, data: {key: ours, dotted.key: ours}}
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: shaped}
  spec:
    replicas: 1
    minReadySeconds: 1
    revisionHistoryLimit: 1
    progressDeadlineSeconds: 700
    selector: {matchLabels: {app: shaped}}
    strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 10%}}
    template:
      metadata: {labels: {app: shaped}, annotations: {note: ours}}
      spec:
        nodeSelector: {disk: ours}
        terminationGracePeriodSeconds: 1
        securityContext: {runAsUser: 1}
        volumes: [{name: data, emptyDir: {sizeLimit: 1Mi}}]
        initContainers: [{name: init, image: "init:1"}]
        containers:
        - name: web
          image: web:1
          workingDir: /ours
          args: [ours]
          env: [{name: A, value: ours}, {name: B, value: ours}]
          resources: {limits: {cpu: "100"}, requests: {cpu: 1m}}
          livenessProbe: {periodSeconds: 1, tcpSocket: {port: 80}}
          ports: [{containerPort: 80, protocol: TCP, name: ours}]
          volumeMounts: [{mountPath: /data, name: data, subPath: ours}]
- {apiVersion: v1, kind: Service, metadata: {name: shaped}, spec: {selector: {app: ours}, ports: [{port: 80, protocol: TCP, targetPort: 1, name: ours}]}}
- apiVersion: batch/v1
  kind: CronJob
  metadata: {name: shaped}
  spec: {schedule: "0 0 1 1 *", startingDeadlineSeconds: 1, jobTemplate: {spec: {backoffLimit: 1, template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}}
- {apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: shaped}, spec: {minAvailable: 1, selector: {matchLabels: {app: shaped}}}}
- {apiVersion: v1, kind: ResourceQuota, metadata: {name: shaped}, spec: {hard: {pods: "1"}}}
- {apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: shaped}, spec: {defaultBackend: {service: {name: ours, port: {number: 80}}}}}
- {apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: shaped}, rules: [{apiGroups: [""], resources: [ours], verbs: [get]}]}
- {apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: shaped}, spec: {podSelector: {matchLabels: {app: ours}}}}
- apiVersion: apps/v1
  kind: StatefulSet
  metadata: {name: shaped}
  spec:
    replicas: 1
    serviceName: shaped
    selector: {matchLabels: {app: db}}
    updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 1}}
    template: {metadata: {labels: {app: db, tier: ours}}, spec: {containers: [{name: db, image: "db:1"}]}}
`

// writer is a way to change an object.
type writer struct {
	manager, operation, subresource string
	write                           func(f *fixture, w writer, s shape, resource schema.GroupVersionResource, body []byte) error
}

// writers are six: two commands of kubectl, an autoscaler, a client of server-side apply and
// a controller with an update; and kubectl scale, where there is such a subresource.
var writers = []writer{
	{"kubectl-edit", "Update", "", patches(types.StrategicMergePatchType)},
	{"kubectl-set", "Update", "", patches(types.StrategicMergePatchType)},
	{"kubectl-scale", "Update", "scale", scales},
	{"horizontal-pod-autoscaler", "Update", "scale", scales},
	{"deployer", "Apply", "", applies},
	{"some-controller", "Update", "", updates},
}

func patches(kind types.PatchType) func(*fixture, writer, shape, schema.GroupVersionResource, []byte) error {
	return func(f *fixture, w writer, _ shape, resource schema.GroupVersionResource, body []byte) error {
		_, err := f.in(w.manager, resource).Patch(f.t.Context(), "shaped", kind, body, metav1.PatchOptions{FieldManager: w.manager})
		return err
	}
}

func scales(f *fixture, w writer, _ shape, resource schema.GroupVersionResource, body []byte) error {
	_, err := f.in(w.manager, resource).Patch(f.t.Context(), "shaped", types.MergePatchType, body, metav1.PatchOptions{FieldManager: w.manager}, "scale")
	return err
}

func applies(f *fixture, w writer, s shape, resource schema.GroupVersionResource, body []byte) error {
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal(body, &u.Object); err != nil {
		return err
	}
	u.SetAPIVersion(resource.GroupVersion().String())
	u.SetKind(s.kind)
	u.SetName("shaped")
	_, err := f.in(w.manager, resource).Apply(f.t.Context(), "shaped", u, metav1.ApplyOptions{FieldManager: w.manager, Force: true})
	return err
}

// updates replaces the whole object, as a controller does that has read it.
func updates(f *fixture, w writer, _ shape, resource schema.GroupVersionResource, body []byte) error {
	client := f.in(w.manager, resource)
	changed, err := client.Patch(f.t.Context(), "shaped", types.StrategicMergePatchType, body, metav1.PatchOptions{FieldManager: w.manager, DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return err
	}
	_, err = client.Update(f.t.Context(), changed, metav1.UpdateOptions{FieldManager: w.manager})
	return err
}

// 200 changes by six writers to 40 shapes of leaves, each told with the right manager,
// operation, path and values.
func TestTwoHundredChangesByName(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	rules := plan.DefaultRules
	rules.Limit = 1000 // nobody fights here
	f.Run(controller.Options{Rules: rules})
	f.Submit("app", shaped)
	f.AwaitHeld("app")
	resources := map[string]schema.GroupVersionResource{}
	for _, item := range strings.Split(shaped, "\n- ")[1:] {
		u := f.object(strings.ReplaceAll(item, "\n  ", "\n"))
		resources[u.GetKind()] = resourceOf(u)
	}
	wrong := 0
	for i := range 200 {
		s := shapes[i%len(shapes)]
		w := writers[(i+i/len(shapes))%len(writers)]
		if w.subresource != "" && s.path != "spec.replicas" {
			w = writers[(i+i/len(shapes))%2] // only replicas can be scaled
		}
		want := s.value(i)
		body, err := yaml.YAMLToJSON([]byte(strings.ReplaceAll(s.merge, "$V", want)))
		require.NoError(t, err)
		require.NoError(t, w.write(f, w, s, resources[s.kind], body), "%s of %s by %s", s.path, s.kind, w.manager)
		e := f.AwaitHistory("app", fmt.Sprintf("%s of %s was %s", s.path, s.kind, want), func(e v1alpha1.HistoryEntry) bool {
			return e.To != nil && strings.Contains(string(e.To.Raw), strings.Trim(want, `"`))
		})
		said := []string{e.Resource.Kind, e.Path, e.Manager, string(e.Operation), e.Subresource, string(e.To.Raw)}
		if !assert.ObjectsAreEqual([]string{s.kind, s.path, w.manager, w.operation, w.subresource, want}, said) {
			t.Logf("%s of %s by %s (%s) to %s is told as %q", s.path, s.kind, w.manager, w.operation, want, said)
			wrong++
		}
	}
	assert.LessOrEqual(t, wrong, 2, "of 200")
}
