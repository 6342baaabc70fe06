package plan_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// FuzzDecide: no Application and no live object make Decide, its view or
// Conclude panic, and a desired resource is never deleted.
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
		in := plan.Input{Application: app, Kinds: plan.Offline(), Live: map[manifest.ID]map[string]any{}, Memory: &plan.Memory{}}
		if object, err := manifest.DecodeJSON(live); err == nil {
			if id, ok := plan.Identify(object, app.Namespace, in.Kinds); ok {
				in.Live[id] = object
			}
		}
		p := plan.Decide(in)
		if _, err := p.View().YAML(); err != nil {
			t.Fatal(err)
		}
		seen := map[manifest.ID]bool{}
		for _, c := range p.Changes {
			if seen[c.ID] {
				t.Fatalf("%s is in the plan twice", c.ID)
			}
			seen[c.ID] = true
		}
		result := p.Conclude(nil, time.Unix(0, 0))
		if _, err := json.Marshal(result.Status); err != nil {
			t.Fatal(err)
		}
	})
}
