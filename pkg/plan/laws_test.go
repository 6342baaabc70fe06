package plan_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/observertest"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/explain"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// TestDecideSurvivesInvalidInput puts odd values at random places in the golden cases, including the
// status.
func TestDecideSurvivesInvalidInput(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(goldenRoot, "*", "application.yaml"))
	require.NoError(t, err)
	rapid.Check(t, func(r *rapid.T) {
		dir := filepath.Dir(rapid.SampledFrom(files).Draw(r, "case"))
		raw, err := os.ReadFile(filepath.Join(dir, "application.yaml"))
		require.NoError(r, err)
		raw, err = yaml.YAMLToJSON(raw)
		require.NoError(r, err)
		tree, err := manifest.DecodeJSON(raw)
		require.NoError(r, err)
		for _, part := range []string{"spec", "status"} {
			if v, ok := tree[part]; ok {
				tree[part] = damage(r, v)
			}
		}
		raw, err = json.Marshal(tree)
		require.NoError(r, err)
		app := &v1alpha1.Application{}
		if json.Unmarshal(raw, app) != nil {
			return // the API server would reject it
		}
		in := plan.Input{Application: app, Kinds: intent.Offline(), Live: map[manifest.ID]map[string]any{}, Memory: &plan.State{}}
		for _, object := range readObjects(t, filepath.Join(dir, "live.yaml")) {
			if id, ok := manifest.Identify(object, app.Namespace, in.Kinds); ok {
				in.Live[id] = object
				if rapid.Bool().Draw(r, "damage live") {
					in.Live[id]["spec"] = damage(r, object["spec"])
				}
			}
		}
		p := plan.Decide(in)
		_, err = explain.ViewOf(p).YAML()
		require.NoError(r, err)
		p.Summarize(nil, time.Unix(0, 0))
	})
}

// damage replaces some values with odd ones.
func damage(t *rapid.T, v any) any {
	if rapid.IntRange(0, 25).Draw(t, "odd") == 0 {
		return rapid.SampledFrom([]any{
			nil, "", "observed", int64(-1), 1.5, true, []any{}, map[string]any{}, []any{nil}, []any{map[string]any{}},
			map[string]any{"": nil}, strings.Repeat("x", 300),
		}).Draw(t, "value")
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range keys(v) {
			v[name] = damage(t, v[name])
		}
	case []any:
		for i := range v {
			v[i] = damage(t, v[i])
		}
	}
	return v
}

var keys = observertest.Keys

// TestEveryApplicationSettles runs random Applications against a cluster that changes, defaults and
// drops fields. After at most a few rounds there is nothing to do, and the status does not change any
// more.
func TestEveryApplicationSettles(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w := newWorld(t, "manifest: []")
		edit := func() {
			w.app.Generation++
			spec := observertest.Spec(r)
			w.app.Spec.Manifest = raws(observertest.Manifest(spec).Content)
			w.app.Spec.ObserverSchema, w.app.Spec.Fields = nil, nil
			if rapid.Bool().Draw(r, "user's") {
				rules := rapid.Bool().Draw(r, "rules")
				observe(r, w, observertest.Entry(r, spec, observertest.Options{Bounded: true, Known: rules, Walked: rules, Rules: rules}))
			}
		}
		rest := func() {
			var last []string
			for range 12 {
				p, result := w.round()
				last = paths(p)
				if !p.HasWork() && !result.Again {
					before := w.app.Status.DeepCopy()
					w.round()
					require.Equal(r, before, w.app.Status.DeepCopy())
					return
				}
			}
			r.Fatalf("no rest: %v\n%s\nlive %v", last, w.app.Spec.Manifest[0].Raw, w.only())
		}
		edit()
		drops, adds := rapid.Bool().Draw(r, "drops"), rapid.Bool().Draw(r, "adds")
		w.respond = func(o map[string]any) { rewrite(o["spec"], drops, adds) }
		rest()
		for range rapid.IntRange(1, 3).Draw(r, "edits") {
			switch rapid.IntRange(0, 2).Draw(r, "what") {
			case 0:
				edit()
			case 1:
				w.only()["spec"] = observertest.Mutate(r, w.only()["spec"].(map[string]any))
				w.now = w.now.Add(time.Hour)
			default:
				w.live = map[manifest.ID]map[string]any{}
			}
			rest()
		}
	})
}

// rewrite changes a value as API servers do: it normalizes values, drops fields, and adds defaults and
// elements. The result is deterministic.
func rewrite(v any, drops, adds bool) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range keys(v) {
			if v[name] == true {
				v[name] = "yes"
			}
			if drops && name == "v2" {
				delete(v, name)
				continue
			}
			rewrite(v[name], drops, adds)
			if l, ok := v[name].([]any); ok && adds && name == "k1" && !slices.ContainsFunc(l, isInjected) {
				v[name] = append([]any{map[string]any{"name": "injected"}}, l...)
			}
		}
		if _, has := v["v1"]; !has && adds {
			v["v1"] = "default"
		}
	case []any:
		for _, child := range v {
			rewrite(child, drops, adds)
		}
	}
}

func isInjected(v any) bool {
	m, _ := v.(map[string]any)
	return m["name"] == "injected"
}
