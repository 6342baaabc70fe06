package controller_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/samples"
	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli"
	"holdfast.dev/holdfast/pkg/cli/report"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/controller"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// shape describes one kind of change: the merge patch, with $V as placeholder for the value, and the
// expected history entry.
type shape struct {
	kind, merge string
	path        string
	value       func(i int) string // returns JSON
	// whole is the expected value where the API server treats a whole map as one value.
	whole string
}

func number(i int) string  { return fmt.Sprint(100 + i) }
func text(i int) string    { return fmt.Sprintf("%q", fmt.Sprintf("v%d", i)) }
func image(i int) string   { return fmt.Sprintf("%q", fmt.Sprintf("web:%d", 100+i)) }
func percent(i int) string { return fmt.Sprintf("%q", fmt.Sprintf("%d%%", 30+i%60)) }
func millis(i int) string  { return fmt.Sprintf("%q", fmt.Sprintf("%dm", 301+2*i)) }
func minute(i int) string  { return fmt.Sprintf("%q", fmt.Sprintf("%d %d * * *", i%60, i/60)) }

const inPod = `{spec: {template: {spec: `

// shapes change 40 fields of 10 kinds.
var shapes = []shape{
	{"ConfigMap", `{data: {key: $V}}`, `data.key`, text, ""},
	{"ConfigMap", `{data: {dotted.key: $V}}`, `data['dotted.key']`, text, ""},
	{"ConfigMap", `{metadata: {labels: {team: $V}}}`, `metadata.labels.team`, text, ""},
	{"ConfigMap", `{metadata: {annotations: {example.com/note: $V}}}`, `metadata.annotations['example.com/note']`, text, ""},
	{"Deployment", `{spec: {replicas: $V}}`, `spec.replicas`, number, ""},
	{"Deployment", `{spec: {minReadySeconds: $V}}`, `spec.minReadySeconds`, number, ""},
	{"Deployment", `{spec: {revisionHistoryLimit: $V}}`, `spec.revisionHistoryLimit`, number, ""},
	{"Deployment", `{spec: {progressDeadlineSeconds: $V}}`, `spec.progressDeadlineSeconds`, func(i int) string { return number(1000 + i) }, ""},
	{"Deployment", `{spec: {strategy: {rollingUpdate: {maxSurge: $V}}}}`, `spec.strategy.rollingUpdate.maxSurge`, percent, ""},
	{"Deployment", `{spec: {template: {metadata: {annotations: {note: $V}}}}}`, `spec.template.metadata.annotations.note`, text, ""},
	{"Deployment", inPod + `{containers: [{name: web, image: $V}]}}}}`, `spec.template.spec.containers[name=web].image`, image, ""},
	{"Deployment", inPod + `{containers: [{name: web, workingDir: $V}]}}}}`, `spec.template.spec.containers[name=web].workingDir`, text, ""},
	{"Deployment", inPod + `{containers: [{name: web, args: [$V]}]}}}}`, `spec.template.spec.containers[name=web].args`, text, `[$V]`},
	{"Deployment", inPod + `{containers: [{name: web, env: [{name: A, value: $V}]}]}}}}`, `spec.template.spec.containers[name=web].env[name=A].value`, text, ""},
	{"Deployment", inPod + `{containers: [{name: web, env: [{name: B, value: $V}]}]}}}}`, `spec.template.spec.containers[name=web].env[name=B].value`, text, ""},
	{"Deployment", inPod + `{containers: [{name: web, resources: {limits: {cpu: $V}}}]}}}}`, `spec.template.spec.containers[name=web].resources.limits.cpu`, func(i int) string { return millis(1000 + i) }, ""},
	{"Deployment", inPod + `{containers: [{name: web, resources: {requests: {cpu: $V}}}]}}}}`, `spec.template.spec.containers[name=web].resources.requests.cpu`, millis, ""},
	{"Deployment", inPod + `{containers: [{name: web, livenessProbe: {periodSeconds: $V}}]}}}}`, `spec.template.spec.containers[name=web].livenessProbe.periodSeconds`, number, ""},
	{"Deployment", inPod + `{containers: [{name: web, ports: [{containerPort: 80, protocol: TCP, name: $V}]}]}}}}`, `spec.template.spec.containers[name=web].ports[containerPort=80,protocol=TCP].name`, text, ""},
	{"Deployment", inPod + `{containers: [{name: web, volumeMounts: [{mountPath: /data, name: data, subPath: $V}]}]}}}}`, `spec.template.spec.containers[name=web].volumeMounts[mountPath=/data].subPath`, text, ""},
	{"Deployment", inPod + `{initContainers: [{name: init, image: $V}]}}}}`, `spec.template.spec.initContainers[name=init].image`, image, ""},
	{"Deployment", inPod + `{terminationGracePeriodSeconds: $V}}}}`, `spec.template.spec.terminationGracePeriodSeconds`, number, ""},
	{"Deployment", inPod + `{nodeSelector: {disk: $V}}}}}`, `spec.template.spec.nodeSelector`, text, `{"disk":$V}`},
	{"Deployment", inPod + `{securityContext: {runAsUser: $V}}}}}`, `spec.template.spec.securityContext.runAsUser`, number, ""},
	{"Deployment", inPod + `{volumes: [{name: data, emptyDir: {sizeLimit: $V}}]}}}}`, `spec.template.spec.volumes[name=data].emptyDir.sizeLimit`, func(i int) string { return fmt.Sprintf("%q", fmt.Sprintf("%dMi", 301+i)) }, ""},
	{"Service", `{spec: {selector: {app: $V}}}`, `spec.selector`, text, `{"app":$V}`},
	{"Service", `{spec: {ports: [{port: 80, protocol: TCP, targetPort: $V}]}}`, `spec.ports[port=80,protocol=TCP].targetPort`, number, ""},
	{"Service", `{spec: {ports: [{port: 80, protocol: TCP, name: $V}]}}`, `spec.ports[port=80,protocol=TCP].name`, text, ""},
	{"CronJob", `{spec: {schedule: $V}}`, `spec.schedule`, minute, ""},
	{"CronJob", `{spec: {startingDeadlineSeconds: $V}}`, `spec.startingDeadlineSeconds`, number, ""},
	{"CronJob", `{spec: {jobTemplate: {spec: {backoffLimit: $V}}}}`, `spec.jobTemplate.spec.backoffLimit`, number, ""},
	{"PodDisruptionBudget", `{spec: {minAvailable: $V}}`, `spec.minAvailable`, number, ""},
	{"ResourceQuota", `{spec: {hard: {pods: $V}}}`, `spec.hard.pods`, func(i int) string { return fmt.Sprintf("%q", number(i)) }, ""},
	{"Ingress", `{spec: {defaultBackend: {service: {name: $V}}}}`, `spec.defaultBackend.service.name`, text, ""},
	{"Role", `{rules: [{apiGroups: [""], resources: [$V], verbs: [get]}]}`, `rules`, text, `[{"apiGroups":[""],"resources":[$V],"verbs":["get"]}]`},
	{"NetworkPolicy", `{spec: {podSelector: {matchLabels: {app: $V}}}}`, `spec.podSelector`, text, `{"matchLabels":{"app":$V}}`},
	{"StatefulSet", `{spec: {replicas: $V}}`, `spec.replicas`, number, ""},
	{"StatefulSet", inPod + `{containers: [{name: db, image: $V}]}}}}`, `spec.template.spec.containers[name=db].image`, image, ""},
	{"StatefulSet", `{spec: {updateStrategy: {rollingUpdate: {partition: $V}}}}`, `spec.updateStrategy.rollingUpdate.partition`, number, ""},
	{"StatefulSet", `{spec: {template: {metadata: {labels: {tier: $V}}}}}`, `spec.template.metadata.labels.tier`, text, ""},
}

// shaped is the spec of the Application that holds all of these fields.
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

// writer describes one way to change an object.
type writer struct {
	manager, operation, subresource string
	write                           func(f *fixture, w writer, s shape, resource schema.GroupVersionResource, body []byte) error
}

// writers lists six clients: three commands of the real kubectl, an autoscaler, a client that uses
// server-side apply, and a controller that sends updates.
var writers = []writer{
	{"kubectl-edit", "Update", "", edits},
	{"kubectl-set", "Update", "", sets},
	{"kubectl", "Update", "scale", scalesByHand},
	{"horizontal-pod-autoscaler", "Update", "scale", scales},
	{"deployer", "Apply", "", applies},
	{"some-controller", "Update", "", updates},
}

// edits runs kubectl edit with a script as the editor.
func edits(f *fixture, w writer, s shape, resource schema.GroupVersionResource, body []byte) error {
	changed, err := f.in(w.manager, resource).Patch(f.t.Context(), "shaped", types.StrategicMergePatchType, body, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return err
	}
	text, err := yaml.Marshal(changed.Object)
	if err != nil {
		return err
	}
	typed := filepath.Join(f.t.TempDir(), "typed.yaml")
	if err := os.WriteFile(typed, text, 0o600); err != nil {
		return err
	}
	_, err = f.cluster.KubectlWith(f.t.Context(), []string{"KUBE_EDITOR=cp " + typed}, "", "edit", s.kind, "shaped", "--namespace="+f.namespace)
	return err
}

// settable maps the end of a field path to the arguments of kubectl set.
var settable = []struct {
	end  string
	args func(kind, value string) []string
}{
	{"containers[name=web].image", func(kind, value string) []string { return []string{"image", kind + "/shaped", "web=" + value} }},
	{"containers[name=db].image", func(kind, value string) []string { return []string{"image", kind + "/shaped", "db=" + value} }},
	{"[name=init].image", func(kind, value string) []string { return []string{"image", kind + "/shaped", "init=" + value} }},
	{"env[name=A].value", func(kind, value string) []string {
		return []string{"env", kind + "/shaped", "--containers=web", "A=" + value}
	}},
	{"env[name=B].value", func(kind, value string) []string {
		return []string{"env", kind + "/shaped", "--containers=web", "B=" + value}
	}},
	{"limits.cpu", func(kind, value string) []string {
		return []string{"resources", kind + "/shaped", "--containers=web", "--limits=cpu=" + value}
	}},
	{"requests.cpu", func(kind, value string) []string {
		return []string{"resources", kind + "/shaped", "--containers=web", "--requests=cpu=" + value}
	}},
	{"spec.selector", func(kind, value string) []string { return []string{"selector", kind + "/shaped", "app=" + value} }},
}

// argumentsOf returns the arguments of kubectl set for a shape, or nil if kubectl set cannot change
// that field.
func argumentsOf(s shape, value string) []string {
	for _, to := range settable {
		if strings.HasSuffix(s.path, to.end) {
			return append([]string{"set"}, to.args(s.kind, strings.Trim(value, `"`))...)
		}
	}
	return nil
}

// sets runs kubectl set.
func sets(f *fixture, _ writer, s shape, _ schema.GroupVersionResource, body []byte) error {
	_, err := f.kubectl("", argumentsOf(s, valueIn(body))...)
	return err
}

// scalesByHand runs kubectl scale.
func scalesByHand(f *fixture, _ writer, s shape, _ schema.GroupVersionResource, body []byte) error {
	_, err := f.kubectl("", "scale", s.kind+"/shaped", "--replicas="+valueIn(body))
	return err
}

// valueIn returns the new value in a merge patch. It skips the names that identify list elements.
func valueIn(body []byte) string {
	text := string(body)
	for _, known := range []string{`"name":"web"`, `"name":"init"`, `"name":"db"`, `"name":"A"`, `"name":"B"`} {
		text = strings.ReplaceAll(text, known, "")
	}
	at := strings.LastIndex(text, ":")
	if image := strings.Index(text, `"image":`); image >= 0 {
		at = image + len(`"image"`)
	}
	return strings.Trim(text[at+1:], `"{}[],`)
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

// updates replaces the whole object, like a controller that has read it.
func updates(f *fixture, w writer, _ shape, resource schema.GroupVersionResource, body []byte) error {
	client := f.in(w.manager, resource)
	changed, err := client.Patch(f.t.Context(), "shaped", types.StrategicMergePatchType, body, metav1.PatchOptions{FieldManager: w.manager, DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return err
	}
	_, err = client.Update(f.t.Context(), changed, metav1.UpdateOptions{FieldManager: w.manager})
	return err
}

// whoWrites chooses a writer that can make the change.
func whoWrites(i int, s shape, value string) writer {
	w := writers[(i+i/len(shapes))%len(writers)]
	switch {
	case s.path == "spec.replicas" && i%2 == 0:
		return writers[2+(i/len(shapes)+i/20)%2]
	case w.subresource != "" && s.path != "spec.replicas", w.manager == "kubectl-set" && argumentsOf(s, value) == nil:
		w = writers[[]int{0, 4, 5}[i%3]]
		if to := writers[1]; argumentsOf(s, value) != nil {
			w = to
		}
	}
	return w
}

// TestTwoHundredChangesByName makes 200 changes with six writers and 40 shapes. The history must report
// each with the right manager, operation, field path and values. All places that show the history must
// agree.
func TestTwoHundredChangesByName(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	rules := plan.DefaultContestPolicy
	rules.Limit = 1000 // high enough that no field is contested
	f.Run(controller.Options{Rules: rules})
	f.Submit("app", shaped)
	f.AwaitHeld("app")
	resources := map[string]schema.GroupVersionResource{}
	for _, item := range strings.Split(shaped, "\n- ")[1:] {
		u := f.object(strings.ReplaceAll(item, "\n  ", "\n"))
		resources[u.GetKind()] = resourceOf(u)
	}
	total, wrong, by := samples.Of(len(shapes), 200), 0, map[string]int{}
	for i := range total {
		s := shapes[i%len(shapes)]
		want := s.value(i)
		w := whoWrites(i, s, want)
		by[w.manager]++
		body, err := yaml.YAMLToJSON([]byte(strings.ReplaceAll(s.merge, "$V", want)))
		require.NoError(t, err)
		require.NoError(t, w.write(f, w, s, resources[s.kind], body), "%s of %s by %s", s.path, s.kind, w.manager)
		e := f.AwaitHistory("app", fmt.Sprintf("%s of %s was %s by %s", s.path, s.kind, want, w.manager), func(e v1alpha1.HistoryEntry) bool {
			return e.To != nil && strings.Contains(string(e.To.Raw), strings.Trim(want, `"`))
		})
		said := []string{e.Resource.Kind, e.Path, e.Manager, string(e.Operation), e.Subresource, string(e.To.Raw)}
		if s.whole != "" {
			want = strings.ReplaceAll(s.whole, "$V", want)
		}
		if !assert.ObjectsAreEqual([]string{s.kind, s.path, w.manager, w.operation, w.subresource, want}, said) {
			t.Logf("%s of %s by %s (%s) to %s is reported as %q", s.path, s.kind, w.manager, w.operation, want, said)
			wrong++
		}
		if i%3 == 2 { // the number of entries that status shows
			f.inTheStatus("app")
		}
		if i%v1alpha1.MaxHistoryEntries == v1alpha1.MaxHistoryEntries-1 {
			f.toldTheSame("app")
		}
	}
	t.Logf("%d changes by %v: %d are reported incorrectly", total, by, wrong)
	assert.Len(t, by, len(writers))
	assert.Zero(t, wrong)
	f.Quiet(quiet)
	f.toldTheSame("app")
}

// inTheStatus checks that the status command prints the last entries of the history.
func (f *fixture) inTheStatus(name string) {
	f.t.Helper()
	lines := strings.Join(strings.Fields(f.holdfast("status", name)), " ") // undo the line wrapping
	for _, e := range report.HistoryOf(f.Application(name))[:3] {
		assert.Contains(f.t, lines, timeless(e.Line(time.Time{}, false)))
	}
}

// toldTheSame checks that history, page, log and events agree with the status.
func (f *fixture) toldTheSame(name string) {
	f.t.Helper()
	app := f.Application(name)
	var view struct{ Entries []json.RawMessage }
	require.NoError(f.t, json.Unmarshal([]byte(f.holdfast("history", name, "-o", "json")), &view))
	lines := strings.Split(strings.TrimSpace(f.holdfast("history", name)), "\n")
	all := append(report.HistoryOf(app), report.HistoryOf(&v1alpha1.Application{ObjectMeta: app.ObjectMeta, Status: v1alpha1.ApplicationStatus{History: f.olderHistory(app)}})...)
	require.Len(f.t, view.Entries, len(all))
	require.Len(f.t, lines, len(all))
	for i, e := range all {
		assert.True(f.t, strings.HasSuffix(timeless(lines[i]), " "+timeless(e.Line(time.Time{}, false))), lines[i])
		stored, err := json.Marshal(e)
		require.NoError(f.t, err)
		assert.JSONEq(f.t, string(stored), string(view.Entries[i]))
	}
	page, log := pageRows(f.holdfast("status", name, "-o", "html")), f.logged(name)
	for i, e := range report.HistoryOf(app) {
		from, to := jsonOf(app.Status.History[i].From), jsonOf(app.Status.History[i].To)
		what, by := fmt.Sprintf("%s was changed from %s to %s by %s", e.Path, from, to, e.Manager), ""
		if e.Subresource != "" {
			by = fmt.Sprintf(" subresource=%q", e.Subresource)
		}
		said := fmt.Sprintf("%q object=%q path=%q manager=%q operation=%q%s from=%s to=%s ",
			e.Outcome, manifest.IDFromReference(app.Status.History[i].Resource).String(), e.Path, e.Manager, e.Operation, by, from, to)
		switch e.Outcome {
		case string(v1alpha1.OutcomeCreated):
			continue
		case string(v1alpha1.OutcomeLearned):
			what, said = "", fmt.Sprintf("%q object=", e.Outcome)
		}
		if !strings.Contains(log, said) {
			f.t.Errorf("the log has no %s", said)
		}
		f.AwaitNote(name, what)
		values := shownOn(e.To)
		if live, desired := e.Values(); !e.HasOneValue() {
			values = shownOn(live) + " → " + shownOn(desired)
		}
		assert.Contains(f.t, page[i], fmt.Sprintf("%s|%s|%s|", e.Path, values, e.Writer()))
	}
}

var reconcileOf = regexp.MustCompile(`reconcileID=.* resource\.uid="[^"]*" `)

// logged returns the log lines about an Application, without reconcile IDs and UIDs.
func (f *fixture) logged(name string) string {
	f.t.Helper()
	raw, err := os.ReadFile(filepath.Join(f.cluster.Dir(), f.agent+".log"))
	require.NoError(f.t, err)
	var lines strings.Builder
	for line := range strings.Lines(string(raw)) {
		if strings.Contains(line, fmt.Sprintf("resource.name=%q resource.namespace=%q", name, f.namespace)) {
			lines.WriteString(reconcileOf.ReplaceAllString(line, ""))
		}
	}
	return lines.String()
}

func jsonOf(value *runtime.RawExtension) string {
	if value == nil {
		return "absent"
	}
	return string(value.Raw)
}

// shownOn returns a value in the form that a user sees.
func shownOn(value delta.Value) string {
	if !value.Set {
		return "(absent)"
	}
	text, _ := terminal.Inline(value)
	return text
}

var tags = regexp.MustCompile(`<[^>]*>`)

// pageRows returns the rows of the table of changes, with cells separated by bars.
func pageRows(page string) (rows []string) {
	_, table, _ := strings.Cut(page, `aria-label="Changes">`)
	for _, row := range strings.Split(table, `<div role="row" class="row">`)[1:] {
		row = strings.NewReplacer("</span>\n", "|", "<br>", "|").Replace(row)
		row = strings.Join(strings.Fields(html.UnescapeString(tags.ReplaceAllString(row, ""))), " ")
		rows = append(rows, strings.ReplaceAll(row, "| ", "|"))
	}
	return rows
}

// timeless returns a history line without the time since which the change repeats. That text depends on
// when the history is read.
func timeless(line string) string {
	before, _, _ := strings.Cut(line, " times since ")
	return before
}

// holdfast runs the CLI and returns its output.
func (f *fixture) holdfast(args ...string) string {
	f.t.Helper()
	var out, problems bytes.Buffer
	code := cli.Main(f.t.Context(), append(append([]string{"holdfast"}, args...), "-n", f.namespace, "--kubeconfig", f.cluster.Kubeconfig()), cli.Streams{
		In: strings.NewReader(""), Out: &out, Err: &problems, Getenv: func(string) string { return "" }, Now: time.Now,
	})
	require.Less(f.t, code, 2, problems.String())
	return out.String()
}
