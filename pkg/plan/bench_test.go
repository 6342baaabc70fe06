package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

const configMap = `
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: settings-%d, labels: {app: web}}
  data: {mode: live, level: info, text: some words that are a bit longer}
`

const deployment = `
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: web-%d, labels: {app: web}}
  spec:
    replicas: 2
    selector: {matchLabels: {app: web}}
    template:
      metadata: {labels: {app: web}}
      spec:
        containers:
        - name: web
          image: web:1
          args: [serve, --fast]
          env: [{name: A, value: '1'}, {name: B, value: '2'}, {name: C, value: '3'}]
          ports: [{containerPort: 80}, {containerPort: 443}]
          resources: {limits: {cpu: '1', memory: 1Gi}, requests: {cpu: 500m, memory: 512Mi}}
          readinessProbe: {httpGet: {path: /ready, port: 80}}
          volumeMounts: [{name: tmp, mountPath: /tmp}]
        volumes: [{name: tmp, emptyDir: {}}]
`

// BenchmarkDecide decides an Application that is in sync: every object exists and is recorded.
func BenchmarkDecide(b *testing.B) {
	rows := []struct {
		name, manifest string
		n              int
	}{
		{"OneConfigMap", configMap, 1},
		{"TenDeployments", deployment, 10},
		{"1000ConfigMaps", configMap, 1000},
		{"300Deployments", deployment, 300},
		{"2000ConfigMaps", configMap, 2000}, // its record is packed
	}
	for _, row := range rows {
		b.Run(row.name, func(b *testing.B) {
			in := atRest(b, row.manifest, row.n)
			b.ReportAllocs()
			for b.Loop() {
				if p := plan.Decide(in); p.HasWork() || p.Invalid != nil {
					b.Fatal("not at rest", p.Invalid)
				}
			}
		})
	}
}

// BenchmarkDecideCreates decides an Application whose objects do not exist yet.
func BenchmarkDecideCreates(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			in := atRest(b, configMap, n)
			in.Application.Status, in.Live = v1alpha1.ApplicationStatus{}, nil
			b.ReportAllocs()
			for b.Loop() {
				if p := plan.Decide(in); len(p.Changes) != n {
					b.Fatal("not all are created")
				}
			}
		})
	}
}

// TestAtRestARecordIsNotDecoded counts the allocations of a decision for each resource. They double if
// a record is decoded although it follows from the manifest.
func TestAtRestARecordIsNotDecoded(t *testing.T) {
	const n = 50
	in := atRest(t, configMap, n)
	require.LessOrEqual(t, testing.AllocsPerRun(5, func() { plan.Decide(in) })/n, 200.0)
}

// BenchmarkConclude writes the status of an Application that is in sync.
func BenchmarkConclude(b *testing.B) {
	in := atRest(b, configMap, 1000)
	p := plan.Decide(in)
	b.ReportAllocs()
	for b.Loop() {
		p.Summarize(nil, in.Now)
	}
}

func atRest(b testing.TB, item string, n int) plan.Input {
	b.Helper()
	var spec strings.Builder
	spec.WriteString("manifest:")
	for i := range n {
		fmt.Fprintf(&spec, item, i)
	}
	var read v1alpha1.ApplicationSpec
	if err := yaml.UnmarshalStrict([]byte(spec.String()), &read); err != nil {
		b.Fatal(err)
	}
	return restOf(b, read.Manifest)
}

// restOf returns an Application that is in sync with its manifests as written.
func restOf(b testing.TB, manifests []runtime.RawExtension) plan.Input {
	b.Helper()
	app := &v1alpha1.Application{}
	app.Namespace, app.Name, app.UID = "default", "shop", "app-1"
	app.Spec.Manifest = manifests
	in := plan.Input{Application: app, Kinds: intent.Offline(), Memory: &plan.State{}, Live: map[manifest.ID]map[string]any{}}
	p := plan.Decide(in)
	if p.Invalid != nil {
		b.Fatal(p.Invalid)
	}
	outcomes := map[manifest.ID]plan.Outcome{}
	for i, c := range p.Changes {
		live := c.Manifest
		set(live, c.ID.Namespace, "metadata", "namespace")
		set(live, fmt.Sprint("u-", i), "metadata", "uid")
		in.Live[c.ID] = live
		outcomes[c.ID] = plan.Outcome{Action: plan.Create, Object: live}
	}
	app.Status = p.Summarize(outcomes, in.Now).Status
	return in
}
