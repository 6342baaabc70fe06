package plan_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/explain"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
)

var update = flag.Bool("update", false, "write the golden files")

const goldenRoot = "../../testdata/plan"

// TestGolden decides every case under testdata/plan and compares the printed plan with
// plan.golden.yaml. A case has these files: application.yaml, live.yaml (existing objects),
// profiles.yaml (HoldProfiles), mangle.yaml (objects that a hook merges) and before.yaml (the
// Application of a process that died before its status update).
func TestGolden(t *testing.T) {
	cases, err := filepath.Glob(filepath.Join(goldenRoot, "*", "application.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, cases)
	for _, file := range cases {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			in := readCase(t, dir)
			p := plan.Decide(in)
			got, err := explain.ViewOf(p).YAML()
			require.NoError(t, err)
			golden := filepath.Join(dir, "plan.golden.yaml")
			if *update {
				require.NoError(t, os.WriteFile(golden, got, 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err, "run `go test ./pkg/plan -update` and read what it wrote")
			assert.Equal(t, string(want), string(got))
			patchesConverge(t, in, p)
		})
	}
}

// patchesConverge applies every patch to its live object and decides again. A corrected object needs no
// second correction.
func patchesConverge(t *testing.T, in plan.Input, p *plan.Plan) {
	t.Helper()
	for _, change := range p.Changes {
		if change.Action == plan.Update {
			in.Live[change.ID] = applyPatch(t, in.Live[change.ID], change)
		}
	}
	for _, change := range plan.Decide(in).Changes {
		assert.NotEqual(t, plan.Update, change.Action, "%s is corrected twice: %v", change.ID, change.Patch)
	}
}

func applyPatch(t require.TestingT, live map[string]any, change plan.Change) map[string]any {
	ops, err := json.Marshal(slices.Concat(change.Guards, change.Patch))
	require.NoError(t, err)
	patch, err := jsonpatch.DecodePatch(ops)
	require.NoError(t, err)
	// A file may have no UID, but the guard needs one.
	document := observer.CopyMap(live)
	metadata := document["metadata"].(map[string]any)
	if _, ok := metadata["uid"]; !ok {
		metadata["uid"] = ""
	}
	if _, ok := metadata["resourceVersion"]; !ok {
		metadata["resourceVersion"] = ""
	}
	raw, err := json.Marshal(document)
	require.NoError(t, err)
	raw, err = patch.Apply(raw)
	require.NoError(t, err, "%s", ops)
	patched, err := manifest.DecodeJSON(raw)
	require.NoError(t, err)
	return patched
}

func readCase(t *testing.T, dir string) plan.Input {
	t.Helper()
	in := plan.Input{Kinds: intent.Offline(), Live: map[manifest.ID]map[string]any{}, Normalize: cluster.Normalize}
	raw, err := os.ReadFile(filepath.Join(dir, "application.yaml"))
	require.NoError(t, err)
	raw, err = yaml.YAMLToJSONStrict(raw)
	require.NoError(t, err)
	in.Application, err = cluster.DecodeApplication(raw)
	require.NoError(t, err)
	for _, object := range readObjects(t, filepath.Join(dir, "live.yaml")) {
		id, ok := manifest.Identify(object, in.Application.Namespace, in.Kinds)
		require.True(t, ok)
		in.Live[id] = object
		if target, ok := intent.AutoscalerTarget(object); ok {
			in.Profiles.Autoscaled = map[manifest.ID]string{target: id.Name}
		}
	}
	for _, object := range readObjects(t, filepath.Join(dir, "profiles.yaml")) {
		in.Profiles.All = append(in.Profiles.All, readProfile(t, object))
	}
	if raw, err = os.ReadFile(filepath.Join(dir, "before.yaml")); err == nil {
		before := plan.Input{Application: &v1alpha1.Application{}, Kinds: in.Kinds}
		require.NoError(t, yaml.UnmarshalStrict(raw, before.Application))
		creating, changed := plan.Decide(before).PendingCreates(false)
		require.True(t, changed)
		in.Application.Annotations = map[string]string{v1alpha1.AnnotationCreating: creating}
	}
	if additions := readObjects(t, filepath.Join(dir, "mangle.yaml")); additions != nil {
		in.Hooks = hooks.New()
		in.Hooks.ApplicationMangling.Listen("test", merger(additions).mangle)
	}
	return in
}

func readProfile(t *testing.T, object map[string]any) *intent.Profile {
	t.Helper()
	raw, err := json.Marshal(object)
	require.NoError(t, err)
	profile, err := cluster.DecodeProfile(raw)
	require.NoError(t, err)
	read, mistakes := intent.ReadProfile(profile)
	require.Empty(t, mistakes)
	return read
}

func readObjects(t *testing.T, file string) []map[string]any {
	t.Helper()
	raw, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(t, err)
	documents, err := manifest.Read(file, raw)
	require.NoError(t, err)
	var objects []map[string]any
	for _, d := range documents {
		objects = append(objects, d.Value)
	}
	return objects
}

// merger is a hook that merges its objects into objects of the same kind and name.
type merger []map[string]any

func (m merger) mangle(event *hooks.Mangling) error {
	mangled := make([]manifest.Object, len(event.Objects))
	for i, o := range event.Objects {
		o.Content = observer.CopyMap(o.Content)
		for _, addition := range m {
			name := addition["metadata"].(map[string]any)["name"]
			if addition["kind"] == o.ID.Kind && name == o.ID.Name {
				merge(o.Content, addition)
			}
		}
		mangled[i] = o
	}
	event.Objects = mangled
	return nil
}

func merge(into, from map[string]any) {
	for k, v := range from {
		switch v := v.(type) {
		case map[string]any:
			if child, ok := into[k].(map[string]any); ok {
				merge(child, v)
				continue
			}
		case []any:
			if list, ok := into[k].([]any); ok {
				into[k] = append(list, v...)
				continue
			}
		}
		into[k] = v
	}
}
