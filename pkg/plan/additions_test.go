package plan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// pod has a Pod template with one element in each of its lists.
const pod = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, finalizers: [example.com/mine]}, spec: {template: {spec: {
  containers: [{name: web, image: "web:1", args: [a], ports: [{containerPort: 80}], env: [{name: A, value: a}],
    envFrom: [{configMapRef: {name: web}}], volumeMounts: [{name: tmp, mountPath: /tmp}]}],
  initContainers: [{name: setup, image: "setup:1"}], volumes: [{name: tmp}], imagePullSecrets: [{name: mine}],
  hostAliases: [{ip: 10.0.0.1, hostnames: [web]}], schedulingGates: [{name: mine}],
  topologySpreadConstraints: [{topologyKey: zone, whenUnsatisfiable: DoNotSchedule, maxSkew: 1}],
  tolerations: [{key: mine, operator: Exists}]}}}}`

const policy = `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: web}, spec: {podSelector: {}, policyTypes: [Ingress],
  ingress: [{from: [{podSelector: {matchLabels: {app: web}}}], ports: [{port: 80}]}]}}`

// Under the default schema, other clients can add elements to lists with keys. If an addition is a grant, or if
// elements have no keys, it is corrected.
func TestElementsOfOtherClients(t *testing.T) {
	const podSpec = "spec.template.spec."
	for _, row := range []struct {
		name, manifest, list, element string
		stays                         bool
	}{
		{"a sidecar", pod, podSpec + "containers", "{name: mesh, image: 'mesh:1'}", true},
		{"an init container", pod, podSpec + "initContainers", "{name: mesh-init, image: 'mesh:1'}", true},
		{"a volume", pod, podSpec + "volumes", "{name: certs}", true},
		{"a volume mount", pod, podSpec + "containers[name=web].volumeMounts", "{name: certs, mountPath: /certs}", true},
		{"a variable", pod, podSpec + "containers[name=web].env", "{name: B, value: b}", true},
		{"a container port", pod, podSpec + "containers[name=web].ports", "{containerPort: 9090, name: metrics}", true},
		{"a pull secret", pod, podSpec + "imagePullSecrets", "{name: registry}", true},
		{"a host alias", pod, podSpec + "hostAliases", "{ip: 10.0.0.2, hostnames: [db]}", true},
		{"a scheduling gate", pod, podSpec + "schedulingGates", "{name: quota}", true},
		{"a spread constraint", pod, podSpec + "topologySpreadConstraints", "{topologyKey: host, whenUnsatisfiable: DoNotSchedule, maxSkew: 1}", true},
		{"a finalizer", pod, "metadata.finalizers", "example.com/theirs", true},
		{"a Service port", `{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {ports: [{name: http, port: 80}]}}`, "spec.ports", "{name: admin, port: 8080}", true},
		{"a secret of a ServiceAccount", `{apiVersion: v1, kind: ServiceAccount, metadata: {name: web}, secrets: [{name: mine}]}`, "secrets", "{name: token}", true},
		{"a variable of a policy", `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: web}, spec: {variables: [{name: a, expression: "1"}]}}`,
			"spec.variables", "{name: b, expression: '2'}", true},

		{"an argument", pod, podSpec + "containers[name=web].args", "b", false},
		{"variables of a ConfigMap", pod, podSpec + "containers[name=web].envFrom", "{configMapRef: {name: theirs}}", false},
		{"a toleration", pod, podSpec + "tolerations", "{operator: Exists}", false},
		{"a pull secret of a ServiceAccount", `{apiVersion: v1, kind: ServiceAccount, metadata: {name: web}, imagePullSecrets: [{name: mine}]}`, "imagePullSecrets", "{name: theirs}", false},
		{"a rule of a Role", `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: web}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}`,
			"rules", "{apiGroups: ['*'], resources: ['*'], verbs: ['*']}", false},
		{"a subject of a RoleBinding", `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: web}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: web},
			subjects: [{kind: User, name: alice, apiGroup: rbac.authorization.k8s.io}]}`, "subjects", "{kind: User, name: eve, apiGroup: rbac.authorization.k8s.io}", false},
		{"a subject of a ClusterRoleBinding", `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: web}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: web},
			subjects: [{kind: User, name: alice, apiGroup: rbac.authorization.k8s.io}]}`, "subjects", "{kind: User, name: eve, apiGroup: rbac.authorization.k8s.io}", false},
		{"a peer of a NetworkPolicy", policy, "spec.ingress[0].from", "{namespaceSelector: {}}", false},
		{"a port of a NetworkPolicy", policy, "spec.ingress[0].ports", "{port: 22}", false},
		{"a rule of a NetworkPolicy", policy, "spec.ingress", "{}", false},
		{"a webhook", webhooks[len("manifest: [") : len(webhooks)-1], "webhooks", "{name: theirs, sideEffects: None}", false},
		{"a condition that exempts from a policy", `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: web}, spec: {matchConditions: [{name: a, expression: "true"}]}}`,
			"spec.matchConditions", "{name: b, expression: 'false'}", false},
	} {
		for _, where := range []string{"before", "after"} {
			t.Run(row.name+" "+where, func(t *testing.T) {
				w := newWorld(t, "manifest: ["+row.manifest+"]")
				w.round()
				w.quiet()
				ours := observer.Copy(listAt(t, w.only(), row.list))
				insert(t, w.only(), row.list, row.element, where == "before")
				theirs := observer.Copy(listAt(t, w.only(), row.list))
				p, _ := w.round()
				w.round()
				w.quiet()
				if !row.stays {
					assert.NotEmpty(t, paths(p))
					assert.True(t, observer.Equal(ours, listAt(t, w.only(), row.list)), "corrected: %v", listAt(t, w.only(), row.list))
					assert.Empty(t, w.app.Status.Resources[0].Additions)
					return
				}
				assert.Empty(t, paths(p))
				assert.Equal(t, theirs, listAt(t, w.only(), row.list), "kept, in its place")
				require.Len(t, w.app.Status.Resources[0].Additions, 1)
				assert.Equal(t, v1alpha1.OutcomeAdded, w.app.Status.History[0].Outcome)
				assert.Equal(t, w.app.Status.Resources[0].Additions[0], w.app.Status.History[0].Path)
			})
		}
	}
}

func pathTo(t *testing.T, text string) *observer.Path {
	t.Helper()
	path, err := observer.ParsePath(text)
	require.NoError(t, err)
	return path
}

func listAt(t *testing.T, object map[string]any, list string) []any {
	t.Helper()
	value, _ := observer.ValueAt(object, pathTo(t, list))
	return value.([]any)
}

// insert adds an element to a list of a live object, as another client does.
func insert(t *testing.T, object map[string]any, list, element string, first bool) {
	t.Helper()
	var value any
	require.NoError(t, yaml.Unmarshal([]byte(element), &value))
	if m, isMap := value.(map[string]any); isMap {
		value = withIntegers(m)
	}
	elements := listAt(t, object, list)
	at := len(elements)
	if first {
		at = 0
	}
	setAt(t, object, list, slices.Insert(slices.Clone(elements), at, value))
}

// withIntegers returns a value with integers, as a client decodes them.
func withIntegers(m map[string]any) map[string]any {
	for name, value := range m {
		if number, is := value.(float64); is {
			m[name] = int64(number)
		}
	}
	return m
}

// setAt replaces a list.
func setAt(t *testing.T, object map[string]any, list string, elements []any) {
	t.Helper()
	path := pathTo(t, list)
	parent := any(object)
	if path.Parent() != nil {
		parent, _ = observer.ValueAt(object, path.Parent())
	}
	parent.(map[string]any)[path.Name()] = elements
}

const two = `
- {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {paused: false, template: {spec: {containers: [{name: web, image: "web:1"}, {name: log, image: "log:1"}]}}}}`

// Only a container of the Application is removed, with each source of a schema that leaves additions free, also by a
// new process.
func TestDroppedElementsAreRemoved(t *testing.T) {
	const containers = "spec.template.spec.containers"
	for name, schema := range map[string]string{
		"the default schema":   "",
		"a freed field":        "fields: [{resource: {kind: Deployment, name: web}, free: [spec.paused]}]",
		"a field more":         "fields: [{resource: {kind: Deployment, name: web}, hold: [\"*\", spec.revisionHistoryLimit]}]",
		"the list and no more": "fields: [{resource: {kind: Deployment, name: web}, hold: [" + containers + "]}]",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "manifest:"+two+"\n"+schema)
			w.round()
			w.round()
			insert(t, w.only(), containers, "{name: mesh, image: 'mesh:1'}", true)
			w.round()
			w.quiet()
			*w.mem = *newWorld(t, "manifest: []").mem
			w.edit("manifest:" + strings.Replace(two, `, {name: log, image: "log:1"}`, "", 1) + "\n" + schema)
			p, _ := w.round()
			assert.Contains(t, paths(p), containers+"[name=log] extra")
			w.round()
			w.quiet()
			assert.Equal(t, []any{"mesh", "web"}, elementNames(t, w.only(), containers))

			insert(t, w.only(), containers, "{name: log, image: 'log:2'}", false)
			w.round()
			w.quiet()
			assert.Equal(t, []any{"mesh", "web", "log"}, elementNames(t, w.only(), containers), "after another client has added it")
		})
	}
}

func elementNames(t *testing.T, object map[string]any, list string) (names []any) {
	t.Helper()
	for _, element := range listAt(t, object, list) {
		names = append(names, element.(map[string]any)["name"])
	}
	return names
}

// In a closed list, elements of other clients are removed, except free keys and elements in the API server's response
// to a write of the controller.
func TestElementsOfOthersInClosedLists(t *testing.T) {
	const containers = "spec.template.spec.containers"
	for name, schema := range map[string]string{
		"in fields, with all that the manifest sets": `fields: [{resource: {kind: Deployment, name: web}, hold: ["*", {path: ` + containers + `, keys: {hold: ["*"]}}], free: ["` + containers + `[name=istio-*]"]}]`,
		"in fields, with the list only":              `fields: [{resource: {kind: Deployment, name: web}, hold: [{path: ` + containers + `, keys: {hold: ["*"]}}], free: ["` + containers + `[name=istio-*]"]}]`,
		"in a written schema": `observerSchema: [{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {template: {spec: {containers: [{name: observed, image: observed},
			{observer_schema_list_min_length: 0, observer_schema_list_max_length: 0}]}}}}]
fields: [{resource: {kind: Deployment, name: web}, hold: [{path: ` + containers + `, keys: {hold: ["*"]}}], free: ["` + containers + `[name=istio-*]"]}]`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "manifest:"+two+"\n"+schema)
			w.respond = func(object map[string]any) {
				if len(listAt(t, object, containers)) == 2 {
					insert(t, object, containers, "{name: webhook, image: 'mesh:1'}", true)
				}
			}
			w.round()
			w.quiet()
			w.respond = nil
			insert(t, w.only(), containers, "{name: istio-proxy, image: 'mesh:1'}", true)
			insert(t, w.only(), containers, "{name: planted, image: 'evil:1'}", true)
			p, _ := w.round()
			assert.Equal(t, []string{containers + "[name=planted] unwanted"}, paths(p))
			w.quiet()
			assert.Equal(t, []any{"istio-proxy", "webhook", "web", "log"}, elementNames(t, w.only(), containers))
		})
	}
}

// A duplicate is not an addition, because the last of two variables counts.
func TestADuplicateOfAHeldElementIsRemoved(t *testing.T) {
	w := newWorld(t, "manifest: ["+pod+"]")
	w.round()
	insert(t, w.only(), "spec.template.spec.containers[name=web].env", "{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}", false)
	p, _ := w.round()
	assert.Equal(t, []string{"spec.template.spec.containers[name=web].env[name=A,#2] extra"}, paths(p))
	w.round() // removes the warning
	w.quiet()
}

// If another client changes the keys of held elements in an open list, the elements get their keys again, and no
// other element remains.
func TestChangedKeysOfOpenLists(t *testing.T) {
	const containers = "spec.template.spec.containers"
	const env = containers + "[name=web].env"
	const ports = "spec.ports"
	service := func(port string) string {
		return `{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {ports: [{` + port + `}]}}`
	}
	of := func(container string) string {
		return `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, finalizers: [example.com/mine]}, spec: {template: {spec: {containers: [` + container + `]}}}}`
	}
	for _, row := range []struct {
		name, manifest, list string
		changed, corrected   string // the list after the change, and after its correction
	}{
		{"a variable", of("{name: web, env: [{name: A, value: a}]}"), env, "[{name: B, value: a}]", "[{name: A, value: a}]"},
		{"a variable, next to an addition", of("{name: web, env: [{name: A, value: a}]}"), env,
			"[{name: B, value: b}, {name: C, value: a}]", "[{name: B, value: b}, {name: A, value: a}]"},
		{"two variables", of("{name: web, env: [{name: A, value: a}, {name: B, value: b}]}"), env,
			"[{name: B2, value: b}, {name: A2, value: a}]", "[{name: B, value: b}, {name: A, value: a}]"},
		{"two equal variables", of("{name: web, env: [{name: A, value: a}, {name: B, value: a}]}"), env,
			"[{name: A2, value: a}, {name: B2, value: a}]", "[{name: A, value: a}, {name: B, value: a}]"},
		{"two containers, the first with fewer fields", of("{name: log, image: 'a:1'}, {name: web, image: 'a:1', workingDir: /web}"), containers,
			"[{name: b, image: 'a:1', workingDir: /web}, {name: a, image: 'a:1'}]", "[{name: web, image: 'a:1', workingDir: /web}, {name: log, image: 'a:1'}]"},
		{"a Service port with free fields", service("port: 80, targetPort: 8080"), ports,
			"[{port: 81, targetPort: 8080, protocol: TCP, nodePort: 30001}]", "[{port: 80, targetPort: 8080, protocol: TCP, nodePort: 30001}]"},
		{"a Service port with only a key", service("port: 80"), ports, "[{port: 81, targetPort: 80, protocol: TCP}]", "[{port: 80}]"},
		{"a Service port that another client applied", service("port: 80"), ports,
			"[{port: 8443, targetPort: https, name: https}, {port: 81, targetPort: 81, protocol: TCP, nodePort: 30001}]", "[{port: 8443, targetPort: https, name: https}, {port: 80}]"},
		{"a Service port next to a foreign one with its number", service("name: a, port: 80"), ports,
			"[{name: zz, port: 80, protocol: UDP}, {name: a, port: 8080}]", "[{name: zz, port: 80, protocol: UDP}, {name: a, port: 80}]"},
		{"a container port", of("{name: web, ports: [{containerPort: 80}]}"), containers + "[name=web].ports", "[{containerPort: 81, protocol: TCP}]", "[{containerPort: 80}]"},

		{"a deleted element", of("{name: web, env: [{name: A, value: a}]}"), env, "[{name: B, value: b}]", "[{name: B, value: b}, {name: A, value: a}]"},
		{"a deleted element with only a key", of("{name: web, ports: [{containerPort: 80}]}"), containers + "[name=web].ports",
			"[{containerPort: 81, name: theirs}]", "[{containerPort: 81, name: theirs}, {containerPort: 80}]"},
		{"a deleted value of a set", of("{name: web}"), "metadata.finalizers", "[example.com/theirs]", "[example.com/theirs, example.com/mine]"},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, "manifest: ["+row.manifest+"]")
			w.round()
			w.quiet()
			setAt(t, w.only(), row.list, elementsFrom(t, row.changed))
			w.round()
			assert.Equal(t, elementsFrom(t, row.corrected), listAt(t, w.only(), row.list))
			w.round() // reports the additions
			w.quiet()
		})
	}
}

func elementsFrom(t *testing.T, text string) []any {
	t.Helper()
	value, err := manifest.DecodeJSON([]byte(mustJSON(t, text)))
	require.NoError(t, err)
	return value["list"].([]any)
}

func mustJSON(t *testing.T, list string) string {
	t.Helper()
	text, err := yaml.YAMLToJSON([]byte("list: " + list))
	require.NoError(t, err)
	return string(text)
}

// A held element is deleted next to an equal one that another client added before.
func TestAnAdditionIsNeverTaken(t *testing.T) {
	const env = "spec.template.spec.containers[name=web].env"
	theirs := map[string]any{"name": "B", "value": "a"}
	w := newWorld(t, "manifest: ["+pod+"]")
	w.round()
	insert(t, w.only(), env, "{name: B, value: a}", false)
	w.round()
	setAt(t, w.only(), env, []any{theirs})
	p, _ := w.round()
	assert.Equal(t, []string{env + "[name=A] missing"}, paths(p))
	w.quiet()
	assert.Equal(t, []any{theirs, map[string]any{"name": "A", "value": "a"}}, listAt(t, w.only(), env))
}

// A container of an adopted object keeps its name, even if it has the image of a container of the manifest.
func TestAnAdoptionChangesNoKey(t *testing.T) {
	const containers = "spec.template.spec.containers"
	created := newWorld(t, "manifest: ["+pod+"]")
	created.round()
	w := newWorld(t, "adoption: IfUnowned\nmanifest: ["+pod+"]")
	for id, object := range created.live {
		w.live[id] = object
	}
	for _, marks := range []string{"labels", "annotations"} {
		unstructured.RemoveNestedField(w.only(), "metadata", marks)
	}
	insert(t, w.only(), containers, "{name: theirs, image: 'web:1'}", true)
	setAt(t, w.only(), containers, listAt(t, w.only(), containers)[:1])
	w.round()
	w.round()
	w.quiet()
	assert.Equal(t, []any{"theirs", "web"}, elementNames(t, w.only(), containers))
}
