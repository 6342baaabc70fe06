package plan_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/explain"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// printed returns the status of a plan as it is printed in JSON.
func printed(t *testing.T, p *plan.Plan) (status v1alpha1.ApplicationStatus) {
	t.Helper()
	raw, err := json.Marshal(explain.ViewOf(p).Status)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &status))
	return status
}

// onRecord returns the parts of the status that the next plan depends on. It omits the UIDs and the
// health of objects, which only an API server knows.
func onRecord(status v1alpha1.ApplicationStatus) any {
	record := status.DeepCopy()
	for i := range record.Resources {
		r := &record.Resources[i]
		r.UID, r.Health, r.LastCorrection = "", "", nil
	}
	return []any{record.Resources, record.MangledObserverSchema, record.LastAppliedManifest, record.ObservedGeneration}
}

// Plans can be chained offline. The next plan is the same from a printed status and from the status
// that the controller writes, because both record the same state.
func TestPrintedPlansChain(t *testing.T) {
	const config, service = `{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {a: "1", b: "2"}}`,
		`{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 80, targetPort: 80}, {port: 81, targetPort: 81}]}}`
	const schema = `
observerSchema:
- {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {sessionAffinity: observed,
   ports: [{port: observed}, {observer_schema_list_min_length: 1, observer_schema_list_max_length: 3}]}}`
	w := newWorld(t, `manifest: [`+config+`, `+service+`]`+schema)
	status := w.app.Status
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"objects are created", func() {}},
		{"what the API server has set is learned", func() {
			for id, object := range w.live {
				if id.Kind == "Service" {
					set(object, "None", "spec", "sessionAffinity")
				}
			}
		}},
		{"fields drift", func() {
			for id, object := range w.live {
				if id.Kind == "ConfigMap" {
					set(object, "theirs", "data", "a")
				}
			}
		}},
		{"a learned field drifts", func() {
			for id, object := range w.live {
				if id.Kind == "Service" {
					set(object, "ClientIP", "spec", "sessionAffinity")
				}
			}
		}},
		{"an object is gone", func() { delete(w.live, manifest.ID{Kind: "ConfigMap", Namespace: "default", Name: "config"}) }},
		{"the manifest loses a field", func() {
			w.edit(`manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {a: "1"}}, ` + service + `]` + schema)
		}},
		{"the entry is given up", func() { w.edit(`manifest: [` + config + `, ` + service + `]`) }},
		{"an object leaves the manifest", func() { w.edit(`manifest: [` + config + `]`) }},
		{"an object is added", func() { w.edit(`manifest: [` + config + `, ` + service + `]`) }},
		{"an object leaves the manifest that was just created", func() { w.edit(`manifest: [` + config + `]`) }},
		{"nothing", func() {}},
	} {
		t.Run(step.name, func(t *testing.T) {
			step.do()
			offline := *w
			app := *w.app
			app.Status = status
			offline.app = &app
			p, chained := w.decide(), offline.decide()
			want, err := explain.ViewOf(p).YAML()
			require.NoError(t, err)
			got, err := explain.ViewOf(chained).YAML()
			require.NoError(t, err)
			assert.Equal(t, string(want), string(got))

			status = printed(t, chained)
			_, result := w.round()
			assert.Equal(t, onRecord(result.Status), onRecord(status))
		})
	}
}

// The law holds for every golden case: after its changes are made, the next plan has none.
func TestGoldenPlansChain(t *testing.T) {
	cases, err := filepath.Glob(filepath.Join(goldenRoot, "*", "application.yaml"))
	require.NoError(t, err)
	for _, file := range cases {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			in := readCase(t, filepath.Dir(file))
			first := plan.Decide(in)
			for _, change := range first.Changes {
				switch change.Action {
				case plan.Create:
					in.Live[change.ID] = change.Manifest
				case plan.Update:
					in.Live[change.ID] = applyPatch(t, in.Live[change.ID], change)
				case plan.Delete:
					delete(in.Live, change.ID)
				case plan.Unchanged:
				}
			}
			next := in.Application.DeepCopy()
			next.Status = printed(t, first)
			in.Application, in.Memory = next, &plan.State{}
			for _, change := range plan.Decide(in).Changes {
				assert.Equal(t, plan.Unchanged, change.Action, "%s", change.ID)
			}
		})
	}
}
