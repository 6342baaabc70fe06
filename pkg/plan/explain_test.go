package plan_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
)

// TestExplanationsAgreeWithThePlan checks the explanations of every golden case.
func TestExplanationsAgreeWithThePlan(t *testing.T) {
	cases, err := filepath.Glob(filepath.Join(goldenRoot, "*", "application.yaml"))
	require.NoError(t, err)
	explained := 0
	for _, file := range cases {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			p := plan.Decide(readCase(t, dir))
			for _, change := range p.Changes {
				e, ok := p.Explain(change.ID, false)
				require.True(t, ok)
				agrees(t, change, e)
				explained++
			}
		})
	}
	assert.Greater(t, explained, 50)
}

// If only some fields of an object are released, they are restored first. The explanation lists them.
func TestRestoredFieldsAreExplained(t *testing.T) {
	in := readCase(t, filepath.Join(goldenRoot, "an-absent-field-of-a-shared-object-is-restored"))
	in.Application.Spec.Manifest = []runtime.RawExtension{{Raw: []byte(`{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": 2}}`)}}
	p := plan.Decide(in)
	e, ok := p.Explain(p.Changes[0].ID, false)
	require.True(t, ok)
	agrees(t, p.Changes[0], e)
	states := map[string]plan.FieldState{}
	for _, f := range e.Fields {
		states[f.Path] = f.State
	}
	for path, state := range map[string]plan.FieldState{
		"spec.paused": plan.FieldRestored, "spec.template.spec.nodeSelector": plan.FieldRestored, "spec.replicas": plan.FieldHeld, "spec.minReadySeconds": plan.FieldFree,
	} {
		assert.Equal(t, state, states[path], path)
	}
}

func agrees(t *testing.T, change plan.Change, e plan.Explanation) {
	t.Helper()
	for _, d := range change.Fields {
		found := false
		for _, f := range e.Fields {
			found = found || observer.IsUnder(f.Path, d.Path) && f.Drift == d.Reason
		}
		assert.True(t, found, "the drift of %s is explained", d.Path)
	}
	type field struct {
		path string
		// A missing element without keys has the same path as the live element at its position.
		live bool
	}
	seen := map[field]bool{}
	for _, f := range e.Fields {
		assert.False(t, seen[field{f.Path, f.Live.Set}], "%s is explained once", f.Path)
		seen[field{f.Path, f.Live.Set}] = true
		assert.NotEmpty(t, f.Why, f.Path)
		if f.State == plan.FieldRemoved || f.State == plan.FieldRestored {
			isIn := slices.ContainsFunc(change.Fields, func(d delta.Difference) bool { return observer.IsUnder(f.Path, d.Path) })
			assert.True(t, isIn, "%s is %s by the plan", f.Path, f.State)
		}
		assert.True(t, observer.IsUnder(f.Path, f.Parent) || f.Parent == "", "%s is in %s", f.Path, f.Parent)
		if change.Action == plan.Unchanged && change.Problem == nil && f.State != plan.FieldReported {
			assert.Empty(t, f.Drift, "%s of a resource to which nothing is done", f.Path)
		}
		if f.State == plan.FieldHeld && f.Drift == "" && f.Live.Set {
			assert.True(t, inAnyOrder(f.Desired.Any) == inAnyOrder(f.Live.Any) || isEmptyList(f.Desired), "%s is held and in place: %v, %v", f.Path, f.Desired, f.Live)
		}
		assert.False(t, f.State == plan.FieldFree && f.Desired.Set, "%s is free and has no desired value", f.Path)
	}
}

// inAnyOrder returns a text that does not depend on the order of lists.
func inAnyOrder(v any) string {
	switch v := v.(type) {
	case map[string]any:
		text := ""
		for _, name := range keys(v) {
			text += name + ":" + inAnyOrder(v[name]) + ","
		}
		return "{" + text + "}"
	case []any:
		elements := []string{}
		for _, element := range v {
			elements = append(elements, inAnyOrder(element))
		}
		slices.Sort(elements)
		return fmt.Sprint(elements)
	}
	return fmt.Sprintf("%v", v)
}

// isEmptyList reports whether a value is an empty list. Such a list may become longer.
func isEmptyList(v delta.Value) bool {
	l, ok := v.Any.([]any)
	return ok && len(l) == 0
}

// given returns a plan input with a submitted Application and its live objects.
func given(t *testing.T, application string, live ...string) plan.Input {
	t.Helper()
	in := plan.Input{
		Application: &v1alpha1.Application{}, Kinds: intent.Offline(), Live: map[manifest.ID]map[string]any{},
		Now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	require.NoError(t, yaml.UnmarshalStrict([]byte(application), in.Application))
	for _, text := range live {
		documents, err := manifest.Read("live", []byte(text))
		require.NoError(t, err)
		id, ok := manifest.Identify(documents[0].Value, in.Application.Namespace, in.Kinds)
		require.True(t, ok)
		in.Live[id] = documents[0].Value
	}
	return in
}

func lines(e plan.Explanation) []string {
	var all []string
	for _, f := range e.Fields {
		line := fmt.Sprintf("%s %s: %s", f.State, f.Path, value(f.Live))
		if f.Desired.Set && !f.Desired.Equal(f.Live) {
			line += " want " + value(f.Desired)
		}
		if f.Drift != "" {
			line += fmt.Sprintf(" (%s, corrected %t)", f.Drift, f.Corrected)
		}
		if f.Writer.Manager != "" {
			line += " by " + f.Writer.Manager
		}
		if f.Writer.Subresource != "" {
			line += "/" + f.Writer.Subresource
		}
		all = append(all, line)
	}
	return all
}

func value(v delta.Value) string {
	if !v.Set {
		return "-"
	}
	return fmt.Sprint(v.Any)
}

const explainedApplication = `
metadata: {name: shop, namespace: default, generation: 1}
spec:
  suspend: %t
  manifest:
  - apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec: {template: {spec: {containers: [{name: web, image: "web:1", resources: {limits: {cpu: 1000m}}}], hostNetwork: true}}}
  observerSchema:
  - apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      paused: observed
      template:
        spec:
          dnsPolicy: observed
          hostNetwork: observed
          containers:
          - {image: observed, resources: {limits: {cpu: observed}}}
          - {observer_schema_list_min_length: 1, observer_schema_list_max_length: 2}
    status: {replicas: observed}
status:
  observedGeneration: 1
  accepted:
  - resource: {apiVersion: apps/v1, kind: Deployment, namespace: default, name: web}
    path: spec.template.spec.containers[name=web].resources.limits.cpu
    desired: 1000m
    accepted: "1"
`

const explainedLive = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: default
  uid: u-1
  resourceVersion: "7"
  managedFields:
  - {manager: hpa, subresource: scale, time: '2026-01-01T00:00:00Z', fieldsV1: {'f:spec': {'f:replicas': {}}}}
  - {manager: kubectl-set, time: '2026-01-01T00:00:00Z', fieldsV1: {'f:spec': {'f:template': {'f:spec': {'f:containers': {'k:{"name":"web"}': {'f:image': {}}}}}}}}
spec:
  replicas: 5
  template:
    spec:
      dnsPolicy: ClusterFirst
      containers:
      - {name: proxy, image: "proxy:1"}
      - {name: web, image: "web:2", resources: {limits: {cpu: "1"}}}
      - {name: extra, image: "extra:1"}
status: {replicas: 5, readyReplicas: 5}
`

var webID = manifest.ID{Group: "apps", Kind: "Deployment", Namespace: "default", Name: "web"}

func TestEveryFieldIsExplained(t *testing.T) {
	e, ok := plan.Decide(given(t, fmt.Sprintf(explainedApplication, false), explainedLive)).Explain(webID, false)
	require.True(t, ok)
	assert.False(t, e.Default)
	assert.True(t, e.Desired)
	assert.Equal(t, []string{
		"learned spec.paused: -",
		"free spec.replicas: 5 by hpa/scale",
		"learned spec.template.spec.dnsPolicy: ClusterFirst",
		"held spec.template.spec.hostNetwork: - want true (missing, corrected true)",
		"held spec.template.spec.containers[name=web].image: web:2 want web:1 (changed, corrected true) by kubectl-set",
		"free spec.template.spec.containers[name=web].name: web",
		"accepted spec.template.spec.containers[name=web].resources.limits.cpu: 1 want 1000m",
		"free spec.template.spec.containers[name=proxy].image: proxy:1",
		"free spec.template.spec.containers[name=proxy].name: proxy",
		"removed spec.template.spec.containers[name=extra]: map[image:extra:1 name:extra] (extra, corrected true)",
		"free status.readyReplicas: 5",
		"reported status.replicas: 5",
	}, lines(e))
}

func TestAFreeFieldShowsWhatTheManifestHas(t *testing.T) {
	in := given(t, `
metadata: {name: shop, namespace: default, generation: 1}
spec:
  manifest:
  - apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      replicas: 3
      paused: false
      revisionHistoryLimit: 4
      template: {spec: {containers: [{name: web, image: "web:1", resources: {limits: {cpu: 1000m, memory: 2Gi}}}, {name: gone, image: "gone:1"}]}}
  observerSchema:
  - apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec: {template: {spec: {containers: [{image: observed}, {observer_schema_list_min_length: 1, observer_schema_list_max_length: 0}]}}}
`, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec: {replicas: 1, template: {spec: {containers: [{name: web, image: "web:1", resources: {limits: {cpu: "1", memory: 1Gi}}}]}}}
`)
	e, _ := plan.Decide(in).Explain(webID, false)
	unheld := map[string]string{}
	for _, f := range e.Fields {
		if f.Manifest.Set {
			unheld[f.Path] = value(f.Live) + " " + value(f.Manifest)
			assert.Equal(t, plan.FieldFree, f.State)
			assert.Contains(t, f.Why, "not held")
		}
	}
	assert.Equal(t, map[string]string{
		"spec.replicas": "1 3", "spec.revisionHistoryLimit": "- 4",
		"spec.template.spec.containers[name=web].resources.limits.memory": "1Gi 2Gi",
		"spec.template.spec.containers[name=gone]":                        "- map[image:gone:1 name:gone]",
	}, unheld)
}

func TestFieldWithoutWriter(t *testing.T) {
	e, _ := plan.Decide(given(t, fmt.Sprintf(explainedApplication, false), explainedLive)).Explain(webID, false)
	assert.Equal(t, "spec.paused", e.Fields[0].Path)
	assert.Contains(t, e.Fields[0].Why, "learns the first value")
}

func TestRemovedFieldsAreNotFree(t *testing.T) {
	dir := filepath.Join(goldenRoot, "removing-a-field-from-the-manifest-removes-it-under-the-default-schema")
	p := plan.Decide(readCase(t, dir))
	e, _ := p.Explain(p.Changes[0].ID, false)
	removed := 0
	for _, f := range e.Fields {
		if f.Drift == delta.Removed {
			removed++
			assert.Equal(t, plan.FieldRemoved, f.State)
			assert.Contains(t, f.Why, "it is removed")
		}
	}
	assert.Positive(t, removed)
}

func TestAKeyIsPutBackAfterItsElementWasRefused(t *testing.T) {
	w := newWorld(t, `
manifest:
- {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {ports: [{port: 8080, protocol: TCP, targetPort: 8080}]}}
observerSchema:
- apiVersion: v1
  kind: Service
  metadata: {name: web}
  spec: {ports: [{port: observed, protocol: observed, targetPort: observed}, {observer_schema_list_min_length: 1, observer_schema_list_max_length: 4}]}
`)
	w.round()
	port := func(port int64) any { return map[string]any{"port": port, "protocol": "UDP", "targetPort": port} }
	w.set([]any{port(1), port(2)}, "spec", "ports")
	p := w.decide()
	require.Equal(t, []string{"spec.ports[port=8080,protocol=TCP] missing"}, paths(p))
	refused := p.RecordRejection(plan.Leaf{ID: p.Changes[0].ID, Path: "spec.ports[port=8080,protocol=TCP]"}, &plan.Problem{Reason: v1alpha1.ReasonRejected, Message: "no"})
	w.refuse = map[plan.Action]plan.Outcome{plan.Update: {Action: plan.Update, Object: w.only(), Problem: refused.Problem, Rejected: []plan.RejectedLeaf{refused}}}
	w.round()
	w.now = w.now.Add(time.Hour)
	assert.Equal(t, []string{
		"spec.ports[port=8080,protocol=TCP].port changed", "spec.ports[port=8080,protocol=TCP].protocol changed",
		"spec.ports[port=8080,protocol=TCP].targetPort changed",
	}, paths(w.decide()), "it does not begin again")
	w.refuse = nil
	w.round()
	w.quiet()
	assert.Equal(t, []any{map[string]any{"port": int64(8080), "protocol": "TCP", "targetPort": int64(8080)}, port(2)}, get(w.only(), "spec", "ports"))
	assert.Empty(t, w.mem.Rejections)
}

func TestNothingIsCorrectedWhileSuspended(t *testing.T) {
	e, _ := plan.Decide(given(t, fmt.Sprintf(explainedApplication, true), explainedLive)).Explain(webID, false)
	drifted := 0
	for _, f := range e.Fields {
		if f.Drift == "" {
			continue
		}
		drifted++
		assert.False(t, f.Corrected, f.Path)
		assert.Contains(t, f.Why, "while the Application is suspended")
	}
	assert.Equal(t, 3, drifted)
}

func TestAnObjectThatIsNotThereIsExplained(t *testing.T) {
	e, _ := plan.Decide(given(t, fmt.Sprintf(explainedApplication, false))).Explain(webID, false)
	assert.True(t, e.Missing)
	assert.Contains(t, lines(e), "held spec.template.spec.containers[name=web].image: - want web:1 (missing, corrected true)")
}

func TestAContestedFieldNamesWhoFights(t *testing.T) {
	in := given(t, fmt.Sprintf(explainedApplication, false), explainedLive)
	next := in.Now.Add(time.Minute)
	in.Memory = &plan.State{Contests: map[plan.Leaf]*plan.Contest{
		{ID: webID, Path: "spec.template.spec.containers[name=web].image"}: {Corrections: 7, Next: next, Manager: "kubectl-set"},
	}}
	e, _ := plan.Decide(in).Explain(webID, false)
	for _, f := range e.Fields {
		if f.State != plan.FieldContested {
			continue
		}
		assert.Equal(t, "spec.template.spec.containers[name=web].image", f.Path)
		assert.Equal(t, 7, f.Corrections)
		assert.Equal(t, next, f.Next)
		assert.False(t, f.Corrected)
		assert.Contains(t, f.Why, "by kubectl-set")
		return
	}
	assert.Fail(t, "no field is contested")
}

// The contested leaf is the map if another client removes the map.
func TestFieldsOfAContestedMapAreContested(t *testing.T) {
	for name, c := range map[string]struct {
		data string
		want []string
	}{
		"removed": {"", []string{
			"data.a contested 5: drift, and its correction is deferred: it is repeatedly changed back by cleaner",
		}},
		"in sync": {"data: {a: '1', extra: '2'}", []string{
			"data.a contested 5: in sync now; it was repeatedly changed back by cleaner",
			"data.extra free 0: free: the observer schema does not name it, so it is never written again",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			in := given(t, `
metadata: {name: shop, namespace: default, uid: app-1, generation: 1}
spec: {manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: '1'}}]}
`, `
apiVersion: v1
kind: ConfigMap
metadata:
  name: c
  namespace: default
  labels: {holdfast.dev/application-uid: app-1}
  annotations: {holdfast.dev/tracking-id: "default/shop:/ConfigMap:default/c"}
`+c.data)
			id := manifest.ID{Kind: "ConfigMap", Namespace: "default", Name: "c"}
			in.Memory = &plan.State{Contests: map[plan.Leaf]*plan.Contest{
				{ID: id, Path: "data"}: {Corrections: 5, Next: in.Now.Add(time.Minute), Manager: "cleaner"},
			}}
			e, _ := plan.Decide(in).Explain(id, false)
			var data []string
			for _, f := range e.Fields {
				if observer.IsUnder(f.Path, "data") {
					data = append(data, fmt.Sprintf("%s %s %d: %s", f.Path, f.State, f.Corrections, f.Why))
				}
			}
			assert.Equal(t, c.want, data)
		})
	}
}

// A new element that waits is not contested.
func TestADeferredElementExplainsItsProblem(t *testing.T) {
	in := readCase(t, filepath.Join(goldenRoot, "a-container-with-a-mistyped-name-waits-on-a-shared-object"))
	p := plan.Decide(in)
	e, _ := p.Explain(p.Changes[0].ID, false)
	i := slices.IndexFunc(e.Fields, func(f plan.Field) bool { return strings.HasSuffix(f.Path, "[name=wbe].image") })
	require.GreaterOrEqual(t, i, 0)
	assert.Equal(t, "drift, and its correction is deferred: Deployment.apps default/worker: "+
		"spec.template.spec.containers has no element wbe: did you mean web?", e.Fields[i].Why)
}

func TestExplainingShowsNoValueOfASecret(t *testing.T) {
	in := given(t, `
metadata: {name: shop, namespace: default, uid: app-1, generation: 1}
spec:
  adoption: Always
  manifest: [{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {a: Y2FuYXJ5LTE=, b: Y2FuYXJ5LTI=}}]
`, `
apiVersion: v1
kind: Secret
metadata: {name: s, namespace: default, annotations: {kubectl.kubernetes.io/last-applied-configuration: canary}}
data: {a: Y2FuYXJ5LTE=, b: Y2FuYXJ5LTM=, c: Y2FuYXJ5LTQ=}
`)
	id := manifest.ID{Kind: "Secret", Namespace: "default", Name: "s"}
	e, _ := plan.Decide(in).Explain(id, false)
	hidesCanaries(t, e.Fields)
	assert.Contains(t, lines(e), "held data.a: ***")
	assert.Contains(t, lines(e), "held data.b: *** (observed) want *** (desired) (changed, corrected true)")
	assert.Contains(t, lines(e), "free data.c: ***")
	e, _ = plan.Decide(in).Explain(id, true)
	assert.Contains(t, lines(e), "held data.a: Y2FuYXJ5LTE=")
}

func TestExplainNeedsAPlannedObject(t *testing.T) {
	_, ok := plan.Decide(given(t, fmt.Sprintf(explainedApplication, false))).Explain(manifest.ID{Kind: "Pod", Name: "x"}, false)
	assert.False(t, ok)
}

func TestTheNearestClaimNamesTheHolder(t *testing.T) {
	w := newWorld(t, settings)
	w.round()
	w.set("theirs", "data", "free")
	w.set(`{"default/outer": {"uid": "app-2", "leaves": ["data"]}, "default/inner": {"uid": "app-3", "leaves": ["data.free"]}}`,
		"metadata", "annotations", v1alpha1.AnnotationHolders)
	p := w.decide()
	for range 20 {
		e, _ := p.Explain(settingsID, false)
		i := slices.IndexFunc(e.Fields, func(f plan.Field) bool { return f.Path == "data.free" })
		require.Equal(t, "default/inner", e.Fields[i].Holder)
	}
}
