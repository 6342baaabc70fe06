package explain_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/explain"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
)

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

func lines(e explain.Explanation) []string {
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
	e, ok := explain.Resource(plan.Decide(given(t, fmt.Sprintf(explainedApplication, false), explainedLive)), webID, false)
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
	e, _ := explain.Resource(plan.Decide(in), webID, false)
	unheld := map[string]string{}
	for _, f := range e.Fields {
		if f.Manifest.Set {
			unheld[f.Path] = value(f.Live) + " " + value(f.Manifest)
			assert.Equal(t, explain.Free, f.State)
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
	e, _ := explain.Resource(plan.Decide(given(t, fmt.Sprintf(explainedApplication, false), explainedLive)), webID, false)
	assert.Equal(t, "spec.paused", e.Fields[0].Path)
	assert.Contains(t, e.Fields[0].Why, "learns the first value")
}

func TestNothingIsCorrectedWhileSuspended(t *testing.T) {
	e, _ := explain.Resource(plan.Decide(given(t, fmt.Sprintf(explainedApplication, true), explainedLive)), webID, false)
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
	e, _ := explain.Resource(plan.Decide(given(t, fmt.Sprintf(explainedApplication, false))), webID, false)
	assert.True(t, e.Missing)
	assert.Contains(t, lines(e), "held spec.template.spec.containers[name=web].image: - want web:1 (missing, corrected true)")
}

func TestAContestedFieldNamesWhoFights(t *testing.T) {
	in := given(t, fmt.Sprintf(explainedApplication, false), explainedLive)
	next := in.Now.Add(time.Minute)
	in.Memory = &plan.State{Contests: map[plan.Leaf]*plan.Contest{
		{ID: webID, Path: "spec.template.spec.containers[name=web].image"}: {Corrections: 7, Next: next, Manager: "kubectl-set"},
	}}
	e, _ := explain.Resource(plan.Decide(in), webID, false)
	for _, f := range e.Fields {
		if f.State != explain.Contested {
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
			e, _ := explain.Resource(plan.Decide(in), id, false)
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
	e, _ := explain.Resource(plan.Decide(in), id, false)
	shown, err := json.Marshal(e.Fields)
	require.NoError(t, err)
	assert.NotContains(t, string(shown), "Y2FuYXJ5")
	assert.NotContains(t, string(shown), "canary")
	assert.Contains(t, lines(e), "held data.a: ***")
	assert.Contains(t, lines(e), "held data.b: *** (observed) want *** (desired) (changed, corrected true)")
	assert.Contains(t, lines(e), "free data.c: ***")
	e, _ = explain.Resource(plan.Decide(in), id, true)
	assert.Contains(t, lines(e), "held data.a: Y2FuYXJ5LTE=")
}

func TestExplainNeedsAPlannedObject(t *testing.T) {
	_, ok := explain.Resource(plan.Decide(given(t, fmt.Sprintf(explainedApplication, false))), manifest.ID{Kind: "Pod", Name: "x"}, false)
	assert.False(t, ok)
}
