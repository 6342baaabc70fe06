package controller_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/internal/samples"
	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// quiet is how long the controller must send no requests after the last write.
var quiet = samples.Of(2*time.Second, 5*time.Second)

// acceptedForms returns the accepted forms in a status: path → desired → accepted.
func acceptedForms(app *v1alpha1.Application) []string {
	var forms []string
	for _, a := range app.Status.Accepted {
		form := "dropped"
		if a.Accepted != nil {
			form = string(a.Accepted.Raw)
		}
		forms = append(forms, fmt.Sprintf("%s: %s → %s", a.Path, a.Desired.Raw, form))
	}
	return forms
}

// web returns a Deployment whose Pod has one container. The arguments add fields to each level.
func web(spec, pod, container string) string {
	return fmt.Sprintf(`
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: web}
  spec:
    selector: {matchLabels: {app: web}}
    template:
      metadata: {labels: {app: web}}
      spec:
        containers:
        - name: web
          image: web:1
%s%s%s`, indent(10, container), indent(8, pod), indent(4, spec))
}

func indent(n int, text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(strings.Repeat(" ", n) + strings.TrimRight(line, "\n") + "\n")
	}
	return out.String()
}

// TestServerDefaultsAreNotDrift checks that a manifest is written only once, whatever defaults the API
// server adds.
func TestServerDefaultsAreNotDrift(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, spec string
		accepted   []string
	}{
		{
			name: "quantities that have a shorter form",
			spec: "manifest:" + web("", "", "resources: {limits: {cpu: 1000m, memory: 1024Mi}, requests: {cpu: 0.5}}"),
			accepted: []string{
				`spec.template.spec.containers[name=web].resources.limits.cpu: "1000m" → "1"`,
				`spec.template.spec.containers[name=web].resources.limits.memory: "1024Mi" → "1Gi"`,
				`spec.template.spec.containers[name=web].resources.requests.cpu: 0.5 → "500m"`,
			},
		},
		{
			name: "numbers and strings where either will do",
			spec: `
manifest:` + web(`strategy: {rollingUpdate: {maxSurge: 25%, maxUnavailable: 1}}`, "", `
ports: [{name: http, containerPort: 80}]
livenessProbe: {httpGet: {path: /, port: http}}
readinessProbe: {tcpSocket: {port: 80}}`) + `
- {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}, ports: [{name: a, port: 80, targetPort: "http"}, {name: b, port: 81, targetPort: 8081}]}}
`,
		},
		{
			name: "string data of a Secret",
			spec: `
manifest:
- {apiVersion: v1, kind: Secret, metadata: {name: secret}, type: Opaque, stringData: {password: "1", user: admin}, data: {key: dmFsdWU=}}
`,
		},
		{
			name: "fields that get a default",
			spec: `
manifest:` + web("", "volumes: [{name: a, emptyDir: {}}, {name: b, configMap: {name: b}}]", `
env: [{name: A, value: ""}, {name: B, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
volumeMounts: [{name: a, mountPath: /a}]
ports: [{containerPort: 80}]`) + `
- {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 80}]}}
- {apiVersion: batch/v1, kind: Job, metadata: {name: once}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: "a:1"}]}}}}
`,
			accepted: []string{`spec.template.spec.containers[name=web].env[name=A].value: "" → dropped`},
		},
		{
			name: "nothing, empty maps and empty lists",
			spec: `
manifest:` + web("", "volumes: []\nsecurityContext: {}\nnodeSelector: {}", "command: []\nresources: {}\nenv: null") + `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: empty, labels: {}, annotations: null}, data: {}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: none, labels: {a: ""}}, data: {a: ""}}
`,
			accepted: []string{
				"spec.template.spec.nodeSelector: {} → dropped",
				"data: {} → dropped",
			},
		},
		{
			name: "zero values that are not stored",
			spec: `
manifest:` + web("replicas: 0\npaused: false\nminReadySeconds: 0", "hostNetwork: false\nhostPID: false", "stdin: false\ntty: false") + `
- {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {publishNotReadyAddresses: false, ports: [{port: 80}]}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: mutable}, immutable: false}
`,
			accepted: []string{
				"spec.minReadySeconds: 0 → dropped",
				"spec.paused: false → dropped",
				"spec.template.spec.containers[name=web].stdin: false → dropped",
				"spec.template.spec.containers[name=web].tty: false → dropped",
				"spec.template.spec.hostNetwork: false → dropped",
				"spec.template.spec.hostPID: false → dropped",
				"spec.publishNotReadyAddresses: false → dropped",
			},
		},
		{
			name: "one of everything that charts have",
			spec: `
manifest:
- {apiVersion: v1, kind: ServiceAccount, metadata: {name: web}, automountServiceAccountToken: true}
- {apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: web}, rules: [{apiGroups: [""], resources: [configmaps], verbs: [get, list]}]}
- {apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: web}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: web}, subjects: [{kind: ServiceAccount, name: web}]}
- {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1024Mi}}}}
- {apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: web}, spec: {rules: [{host: a.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}}
- {apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: web}, spec: {podSelector: {}, ingress: [{from: [{podSelector: {}}], ports: [{port: 80}]}]}}
- {apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web}, spec: {minAvailable: 50%, selector: {matchLabels: {app: web}}}}
- {apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, maxReplicas: 3, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]}}
- {apiVersion: batch/v1, kind: CronJob, metadata: {name: web}, spec: {schedule: "* * * * *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: "a:1", resources: {requests: {cpu: 1000m}}}]}}}}}}
- {apiVersion: apps/v1, kind: DaemonSet, metadata: {name: web}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {tolerations: [{operator: Exists}], containers: [{name: a, image: "a:1"}]}}}}
- apiVersion: apps/v1
  kind: StatefulSet
  metadata: {name: web}
  spec:
    serviceName: web
    selector: {matchLabels: {a: b}}
    template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: "a:1"}]}}
    volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]
`,
			accepted: []string{
				`spec.resources.requests.storage: "1024Mi" → "1Gi"`,
				`spec.jobTemplate.spec.template.spec.containers[name=a].resources.requests.cpu: "1000m" → "1"`,
				`spec.ingress: [{"from":[{"podSelector":{}}],"ports":[{"port":80}]}] → [{"from":[{"podSelector":{}}],"ports":[{"port":80,"protocol":"TCP"}]}]`,
				`spec.volumeClaimTemplates: [{"metadata":{"name":"data"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}] → ` +
					`[{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}},"volumeMode":"Filesystem"},"status":{"phase":"Pending"}}]`,
			},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := given(t)
			f.Submit("app", row.spec)
			app := f.AwaitHeld("app")
			f.Quiet(quiet)

			f.AssertAsked(map[string]int{"patch applications": 1, "patch applications/status": 1, "create events": 1}, f.here,
				func(r testcluster.Request) bool { return r.ImpersonatedUser == "" })
			for _, r := range f.Requests().Where(f.here).Where(func(r testcluster.Request) bool { return r.ImpersonatedUser != "" }) {
				assert.Equal(t, "create", r.Verb, "%s", r)
			}
			assert.ElementsMatch(t, row.accepted, acceptedForms(app))
			assert.Empty(t, app.Status.Contested)
		})
	}
}

func TestADefaultIsLearnedAndHeld(t *testing.T) {
	f := given(t)
	f.Submit("app", "manifest:"+web("", "", "")+`
observerSchema:
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: web}
  spec: {progressDeadlineSeconds: observed, revisionHistoryLimit: observed, template: {spec: {dnsPolicy: observed}}}
`)
	f.AwaitHeld("app")

	f.Patch("mallory", deployments, "web", `{spec: {progressDeadlineSeconds: 5, replicas: 3, template: {spec: {dnsPolicy: Default}}}}`)

	f.AwaitValue(deployments, "web", int64(600), "spec", "progressDeadlineSeconds")
	object := f.AwaitValue(deployments, "web", "ClusterFirst", "spec", "template", "spec", "dnsPolicy")
	assert.Equal(t, int64(3), value(object, "spec", "replicas"), "is free")
	f.Quiet(quiet)
	assert.Equal(t, 1, counts(f.Requests())["patch deployments"])
}

func TestATypingErrorThatIsPrunedIsReported(t *testing.T) {
	f := given(t)
	f.Definition("Song", "songs", `{type: object, properties: {spec: {type: object, properties: {title: {type: string}}}}}`)
	f.Submit("app", `
manifest:
- {apiVersion: $NS.example.com/v1, kind: Song, metadata: {name: song}, spec: {title: Chanson, titel: Chanson}}`+
		web("", "", "imagePulPolicy: Always"))
	app := f.AwaitHeld("app")
	f.Quiet(quiet)

	assert.Equal(t, []string{
		`spec.titel: "Chanson" → dropped`,
		`spec.template.spec.containers[name=web].imagePulPolicy: "Always" → dropped`,
	}, acceptedForms(app))
	f.AwaitNote("app", "spec.titel", "check its spelling")
	f.AwaitNote("app", "imagePulPolicy", "check its spelling")
	assert.Empty(t, f.Requests().Where(func(r testcluster.Request) bool { return r.ImpersonatedUser != "" && r.Verb != "create" }))
}

// rewriting prefixes images, for use as a webhook. It never prefixes an image twice.
func rewriting(deployment map[string]any) []map[string]any {
	image, _ := value(deployment, "spec", "template", "spec", "containers", "0", "image").(string)
	if strings.HasPrefix(image, "mirror/") {
		return nil
	}
	return []map[string]any{{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "mirror/" + image}}
}

func TestAWebhookThatRewritesAnImageIsNoDrift(t *testing.T) {
	f := given(t)
	f.Webhook("CREATE, UPDATE", rewriting)
	f.Submit("app", "manifest:"+web("", "", ""))
	app := f.AwaitHeld("app")
	assert.Equal(t, []string{`spec.template.spec.containers[name=web].image: "web:1" → "mirror/web:1"`}, acceptedForms(app))
	f.Quiet(quiet)
	assert.Equal(t, 0, counts(f.Requests())["patch deployments"])

	// Then: a value that another client writes to the field is still drift.
	f.Mark()
	f.Patch("mallory", deployments, "web", `{spec: {template: {spec: {containers: [{name: web, image: "mirror/evil:1"}]}}}}`)
	f.AwaitValue(deployments, "web", "mirror/web:1", "spec", "template", "spec", "containers", "0", "image")
	f.Quiet(quiet)
	assert.Equal(t, 1, counts(f.Requests())["patch deployments"], "%s", f.Requests())

	// And: a new image in the manifest is written and rewritten once.
	f.Mark()
	f.Submit("app", strings.Replace("manifest:"+web("", "", ""), "web:1", "web:2", 1))
	f.AwaitValue(deployments, "web", "mirror/web:2", "spec", "template", "spec", "containers", "0", "image")
	app = f.AwaitHeld("app")
	assert.Equal(t, []string{`spec.template.spec.containers[name=web].image: "web:2" → "mirror/web:2"`}, acceptedForms(app))
	f.Quiet(quiet)
	assert.Equal(t, 1, counts(f.Requests())["patch deployments"], "%s", f.Requests())
}

// injecting adds a sidecar, a volume and a toleration once, for use as a webhook.
func injecting(deployment map[string]any) []map[string]any {
	pod := "/spec/template/spec"
	spec, _ := deployment["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
	containers, _ := spec["containers"].([]any)
	if len(containers) > 1 {
		return nil
	}
	ops := []map[string]any{{"op": "add", "path": pod + "/containers/0", "value": map[string]any{"name": "sidecar", "image": "sidecar:1"}}}
	for field, element := range map[string]any{
		"volumes":     map[string]any{"name": "injected", "emptyDir": map[string]any{}},
		"tolerations": map[string]any{"key": "injected", "operator": "Exists"},
	} {
		if _, has := spec[field]; has {
			ops = append(ops, map[string]any{"op": "add", "path": pod + "/" + field + "/-", "value": element})
		} else {
			ops = append(ops, map[string]any{"op": "add", "path": pod + "/" + field, "value": []any{element}})
		}
	}
	return ops
}

const podLists = "volumes: [{name: own, emptyDir: {}}]\ntolerations: [{key: own, operator: Exists}]"

func TestWebhookFieldsUnderTheDefaultSchema(t *testing.T) {
	t.Parallel()
	for _, operations := range []string{"CREATE", "CREATE, UPDATE"} {
		t.Run("when it acts on "+operations, func(t *testing.T) {
			f := given(t)
			f.Webhook(operations, injecting)
			f.Submit("app", "manifest:"+web("", podLists, ""))
			f.AwaitHeld("app")
			f.Quiet(quiet)
			assert.Equal(t, 0, counts(f.Requests())["patch deployments"])

			// Then: the held container is corrected at its new position.
			f.Mark()
			f.PatchJSON("mallory", deployments, "web", `[{op: replace, path: /spec/template/spec/containers/1/image, value: evil}]`)
			object := f.AwaitValue(deployments, "web", "web:1", "spec", "template", "spec", "containers", "1", "image")
			assert.Equal(t, "sidecar:1", value(object, "spec", "template", "spec", "containers", "0", "image"))
			f.Quiet(quiet)
			assert.Equal(t, 1, counts(f.Requests())["patch deployments"], "%s", f.Requests())

			// And: the added elements stay when the list in the manifest grows.
			f.Mark()
			f.Submit("app", "manifest:"+web("", strings.Replace(podLists, "[{name: own", "[{name: more, emptyDir: {}}, {name: own", 1), ""))
			app := f.AwaitHeld("app")
			f.Quiet(quiet)
			object = f.Get(deployments, "web")
			raw, err := json.Marshal(object["spec"])
			require.NoError(t, err)
			for _, name := range []string{`"own"`, `"more"`, `"injected"`, `"sidecar"`} {
				assert.Contains(t, string(raw), name)
			}
			assert.Empty(t, app.Status.Contested)
			assert.Equal(t, 1, counts(f.Requests())["patch deployments"], "%s", f.Requests())
		})
	}
}

func TestWebhookFieldsUnderAUserSchema(t *testing.T) {
	f := given(t)
	f.Webhook("CREATE, UPDATE", injecting)
	f.Submit("app", "manifest:"+web("", podLists, "")+`
observerSchema:
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: web}
  spec:
    template:
      spec:
        containers:
        - {name: observed, image: observed}
        - {observer_schema_list_min_length: 1, observer_schema_list_max_length: 1}
`)
	app, message := f.AwaitReason("app", v1alpha1.ReasonContested)
	assert.Contains(t, message, "spec.template.spec.containers")
	require.Len(t, app.Status.Contested, 1)
	f.Quiet(quiet)
	assert.LessOrEqual(t, counts(f.Requests())["patch deployments"], 2, "%s", f.Requests())

	// Then: the other fields are still held.
	f.PatchJSON("mallory", deployments, "web", `[{op: replace, path: /spec/template/spec/containers/1/image, value: evil}]`)
	f.AwaitValue(deployments, "web", "web:1", "spec", "template", "spec", "containers", "1", "image")
}

func TestAFightOverOneLeafBacksOffAndIsReported(t *testing.T) {
	f := given(t)
	f.Submit("app", `
manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: field}, data: {contested: ours, held: ours}}]`)
	f.AwaitReady("app")
	f.Quiet(time.Second)

	// When another client reverts each correction,
	f.Mark()
	corrections := 0
	for range 5 {
		f.Patch("mallory", configMaps, "field", `{data: {contested: theirs}}`)
		f.AwaitValue(configMaps, "field", "ours", "data", "contested")
		corrections++
	}
	f.Patch("mallory", configMaps, "field", `{data: {contested: theirs}}`)

	// Then: the status reports the contested field and the other client.
	app, message := f.AwaitReason("app", v1alpha1.ReasonContested)
	assert.Contains(t, message, "data.contested")
	assert.Contains(t, message, "mallory")
	require.Len(t, app.Status.Contested, 1)
	contested := app.Status.Contested[0]
	assert.Equal(t, "data.contested", contested.Path)
	assert.Equal(t, "mallory", contested.Manager)
	assert.JSONEq(t, `"ours"`, string(contested.Desired.Raw))
	assert.JSONEq(t, `"theirs"`, string(contested.Live.Raw))
	f.AwaitNote("app", "data.contested", "mallory", `"ours"`, `"theirs"`)

	// And: the other field is still corrected at once.
	f.Patch("mallory", configMaps, "field", `{data: {held: theirs}}`)
	object := f.AwaitValue(configMaps, "field", "ours", "data", "held")
	assert.Equal(t, "theirs", value(object, "data", "contested"), "not corrected yet")
	f.Quiet(quiet)
	assert.Equal(t, corrections+1, counts(f.Requests())["patch configmaps"], "%s", f.Requests())

	// And: it is corrected again after a while, with increasing backoff.
	f.AwaitValue(configMaps, "field", "ours", "data", "contested")
	f.Patch("mallory", configMaps, "field", `{data: {contested: theirs}}`)
	f.Mark()
	f.Quiet(12 * time.Second)
	assert.Empty(t, f.Requests().Writes().Where(func(r testcluster.Request) bool { return r.Resource == "configmaps" }))
}

// database returns a StatefulSet with volumes of the given size.
func database(size string) string {
	return `[{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a}, spec: {serviceName: a, selector: {matchLabels: {app: a}},
  template: {metadata: {labels: {app: a}}, spec: {containers: [{name: a, image: "a:1"}]}},
  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: ` + size + `}}}}]}}]`
}

func TestAnImmutableFieldIsReportedOnce(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, before, after, path string }{
		{
			// Other Services do not get an address from the start of the range.
			name:   "the clusterIP of a Service",
			before: `[{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {clusterIP: 10.0.0.76, ports: [{port: 80}]}}]`,
			after:  `[{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {clusterIP: 10.0.0.78, ports: [{port: 80}]}}]`,
			path:   "spec.clusterIP",
		},
		{
			name:   "the selector of a Deployment",
			before: web("", "", ""),
			after:  strings.ReplaceAll(web("", "", ""), "app: web", "app: other"),
			path:   "spec.selector",
		},
		{
			name:   "the template of a Job",
			before: `[{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: "a:1"}]}}}}]`,
			after:  `[{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: "a:2"}]}}}}]`,
			path:   "spec.template",
		},
		{
			name:   "the volumes of a StatefulSet",
			before: database("1Gi"), after: database("2Gi"),
			path: "spec.volumeClaimTemplates",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := given(t)
			f.Submit("app", "manifest: "+row.before)
			f.AwaitHeld("app")
			f.Quiet(time.Second)

			f.Mark()
			f.Submit("app", "manifest: "+row.after)

			app, message := f.AwaitReason("app", v1alpha1.ReasonRejected)
			assert.Contains(t, message, row.path)
			assert.Contains(t, message, "immutable")
			assert.NotEmpty(t, condition(app, v1alpha1.ConditionStalled).Message)
			f.Quiet(quiet)
			refused := f.Requests().Where(func(r testcluster.Request) bool { return r.Code == 422 && !strings.Contains(r.URI, "dryRun=All") })
			assert.Len(t, refused, 1, "%s", f.Requests())

			// Then: reverting the change solves it.
			f.Submit("app", "manifest: "+row.before)
			f.AwaitHeld("app")
			f.Quiet(quiet)
		})
	}
}

// If the API server rejects one field of a change, nothing changes. The controller still holds the last
// accepted state.
func TestARefusedChangeLeavesTheLastOneHeld(t *testing.T) {
	f := given(t)
	const service = `manifest: [{apiVersion: v1, kind: Service, metadata: {name: web, labels: {a: "1"}}, spec: {clusterIP: %s, selector: {app: web}, ports: [{port: 80}]}}]`
	f.Submit("app", fmt.Sprintf(service, "None"))
	f.AwaitHeld("app")
	f.Submit("app", strings.Replace(fmt.Sprintf(service, "10.0.0.77"), `a: "1"`, `a: "2"`, 1))
	app, message := f.AwaitReason("app", v1alpha1.ReasonRejected)
	assert.Contains(t, message, "spec.clusterIPs[0]")
	remedy := app.Status.Resources[0].Remedy
	require.NotNil(t, remedy)
	assert.Equal(t, "kubectl delete services web -n "+app.Namespace, remedy.Command)
	assert.Contains(t, message, remedy.String())
	assert.NotContains(t, app.Status.Resources[0].Message, remedy.Command, "the remedy is reported once")
	f.Quiet(quiet)
	assert.Equal(t, "1", value(f.Get(services, "web"), "metadata", "labels", "a"))

	// Then: drift from the last accepted state is corrected at once, and the change is retried.
	f.Mark()
	f.Patch("mallory", services, "web", `{spec: {selector: {app: evil}}}`)
	f.AwaitValue(services, "web", "web", "spec", "selector", "app")
	f.AwaitReason("app", v1alpha1.ReasonRejected)
	f.Quiet(quiet)
	assert.LessOrEqual(t, counts(f.Requests())["patch services"], 8, "what is sent to find the field, and once for drift: %s", f.Requests())
	assert.Equal(t, "1", value(f.Get(services, "web"), "metadata", "labels", "a"))

	// And: reverting the change solves it.
	f.Submit("app", fmt.Sprintf(service, "None"))
	f.AwaitHeld("app")
	f.AwaitValue(services, "web", "1", "metadata", "labels", "a")
	f.Quiet(quiet)
}

// A user who requests a reconcile does not have to wait for the next retry. The status reports when the
// reconcile is done.
func TestAReconcileNow(t *testing.T) {
	f := given(t)
	f.Submit("app", `{retry: {initialInterval: 1h}, manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config, namespace: $NS-other}, data: {key: ours}}]}`)
	f.AwaitReason("app", v1alpha1.ReasonForbidden)
	f.Quiet(quiet)
	ask := func(value string) {
		f.Mark()
		f.Patch("user", applications, "app", `{metadata: {annotations: {holdfast.dev/reconcile: `+value+`}}}`)
		f.AwaitApplication("app", "told so", func(app *v1alpha1.Application) bool { return app.Status.ReconcileRequest == value })
	}
	for _, value := range []string{"first", "second"} {
		ask(value)
		f.AssertAsked(map[string]int{"create configmaps": 1, "get configmaps": 1, "patch applications/status": 1}, noEvent)
	}
	ask("second") // that request was already handled
	f.Quiet(time.Second)
	assert.Empty(t, withoutEvents(f.Requests()))
}
