package plan_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/explain"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
)

// FuzzDecide checks that Decide, its view and Summarize never panic, and that a desired resource is
// never deleted.
func FuzzDecide(f *testing.F) {
	cases, _ := filepath.Glob(filepath.Join(goldenRoot, "*"))
	for _, dir := range cases {
		app, err := os.ReadFile(filepath.Join(dir, "application.yaml"))
		if err != nil {
			continue
		}
		raw, err := yaml.YAMLToJSON(app)
		if err != nil {
			continue
		}
		live := []byte("{}")
		if objects, err := os.ReadFile(filepath.Join(dir, "live.yaml")); err == nil {
			if live, err = yaml.YAMLToJSON(objects); err != nil {
				continue // several documents
			}
		}
		f.Add(raw, live)
	}
	f.Fuzz(func(t *testing.T, application, live []byte) {
		app := &v1alpha1.Application{}
		if json.Unmarshal(application, app) != nil {
			return
		}
		in := plan.Input{Application: app, Kinds: intent.Offline(), Live: map[manifest.ID]map[string]any{}, Memory: &plan.State{}}
		if object, err := manifest.DecodeJSON(live); err == nil {
			if id, ok := manifest.Identify(object, app.Namespace, in.Kinds); ok {
				in.Live[id] = object
			}
		}
		p := plan.Decide(in)
		if _, err := explain.ViewOf(p).YAML(); err != nil {
			t.Fatal(err)
		}
		seen := map[manifest.ID]bool{}
		for _, c := range p.Changes {
			if seen[c.ID] {
				t.Fatalf("%s is in the plan twice", c.ID)
			}
			seen[c.ID] = true
		}
		result := p.Summarize(nil, time.Unix(0, 0))
		if _, err := json.Marshal(result.Status); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzShared lets another client write the holders annotation of a shared object, and any client its
// status record. Nothing panics. A plan writes only manifest fields, tracking metadata and restorable
// baseline fields.
func FuzzShared(f *testing.F) {
	const entry = `{"default/shop":{"uid":"app-1","leaves":["data.a"]},"default/other":%s}`
	for _, other := range []string{
		`null`, `{}`, `7`, `[]`, `"text"`, `{"uid":"app-2"}`, `{"uid":"app-2","leaves":null}`, `{"uid":"app-2","leaves":[""]}`, `{"uid":"app-2","leaves":["."]}`,
		`{"uid":"app-2","leaves":["*"]}`, `{"uid":"app-2","leaves":["labels[*]","data"]}`, `{"uid":"app-2","pending":["","data.a"]}`, `{"uid":7,"leaves":[null]}`,
		`{"uid":"app-2","leaves":["data.a"],"handed":[{"path":"data.b","value":"evil","held":["absent"]}],"of":"u-9"}`,
	} {
		text := fmt.Sprintf(entry, other)
		f.Add(text, `{"baseline":[{"path":"data.b","value":"theirs"}]}`, true)
		f.Add(`{"default/shop":`+other+`}`, `{"baseline":[{"path":"","from":"data"},{"path":"data.b","from":"spec.c"},{"path":"x[*]"},{"path":"data['b","value":null}],"unrecorded":["","."]}`, false)
	}
	f.Add("null", "null", true)
	f.Add(strings.Repeat("[", 1_000_000), `{"uid":"u-9","waits":["","data"]}`, false)
	f.Fuzz(func(t *testing.T, holders, row string, desired bool) {
		live := map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"a": "live", "b": "live"},
			"metadata": map[string]any{
				"name": "config", "namespace": "default", "uid": "u-9", "resourceVersion": "7",
				"labels": map[string]any{v1alpha1.LabelHeld: "true"}, "annotations": map[string]any{v1alpha1.AnnotationHolders: holders},
			},
		}
		app := &v1alpha1.Application{}
		app.Namespace, app.Name, app.UID = "default", "shop", "app-1"
		app.Spec.Ownership = v1alpha1.OwnershipShare
		if desired {
			app.Spec.Manifest = raws(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "config"}, "data": map[string]any{"a": "ours"}})
		}
		status := v1alpha1.ResourceStatus{}
		_ = json.Unmarshal([]byte(row), &status)
		status.ResourceReference = v1alpha1.ResourceReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: "config"}
		status.Ownership = v1alpha1.OwnershipShare
		app.Status.Resources = []v1alpha1.ResourceStatus{status}
		in := plan.Input{Application: app, Kinds: intent.Offline(), Live: map[manifest.ID]map[string]any{config: live}, Memory: &plan.State{}}
		for _, p := range []*plan.Plan{plan.Decide(in), plan.DecideDeletion(in)} {
			for _, c := range p.Changes {
				for _, d := range c.Fields {
					isRecorded := slices.ContainsFunc(status.Baseline, func(b v1alpha1.BaselineField) bool {
						return observer.IsUnder(b.Path, d.Path) || observer.IsUnder(d.Path, b.Path)
					})
					if d.Path != "data.a" && !strings.HasPrefix(d.Path, "metadata.") && !isRecorded {
						t.Fatalf("%s is written: %v", d.Path, d.Desired)
					}
				}
				explain.Change(p, c, false)
			}
			result := p.Summarize(nil, time.Unix(0, 0))
			if _, err := json.Marshal(result.Status); err != nil {
				t.Fatal(err)
			}
		}
		claim.ListHolders(config, live)
	})
}
