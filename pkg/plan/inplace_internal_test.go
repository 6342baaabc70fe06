package plan

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// The comparison of an object includes the tracking metadata in schema and desired state. This also
// applies if they were omitted because the object is in sync.
func TestFieldsInPlaceAreCompared(t *testing.T) {
	cases, err := filepath.Glob("../../testdata/plan/*/application.yaml")
	require.NoError(t, err)
	short, whole := 0, 0
	inputs := map[string]Input{"labels that are held whole": heldWhole(t)}
	for _, file := range cases {
		inputs[file] = caseIn(t, filepath.Dir(file))
	}
	for name, in := range inputs {
		for range 2 { // first as it is, then as desired
			if in.Application.UID == "" && in.Application.Spec.Tosca == nil {
				in.Application.UID = "submitted"
			}
			p := Decide(in)
			c := comparer{&p.facts}
			for _, res := range p.resources {
				live := in.Live[res.object.ID]
				if live == nil || res.entry == nil {
					continue
				}
				want := res.withoutClaimed(delta.Compare(c.comparison(res, live)))
				require.Equal(t, want, c.compare(res, live), "%s: %s", name, res.object.ID)
				if _, is := c.isInSync(res, live); is {
					short++
				} else {
					whole++
				}
				marks := claim.Tracking(in.Application, res.object.ID)
				if res.policy.Claims {
					marks = c.marks(res)
				}
				in.Live[res.object.ID] = observer.MarkedObject(res.desired, marks)
			}
		}
	}
	require.Greater(t, short, 100)
	require.Greater(t, whole, 100)
}

// heldWhole returns an Application that holds all labels and annotations of an object at their learned
// values, including the tracking metadata.
func heldWhole(t *testing.T) Input {
	t.Helper()
	in := Input{Application: &v1alpha1.Application{}, Kinds: intent.Offline(), Live: map[manifest.ID]map[string]any{}}
	in.Application.Namespace, in.Application.Name, in.Application.UID = "default", "shop", "app"
	in.Application.Spec.Manifest = []runtime.RawExtension{manifest.EncodeRaw(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}})}
	in.Application.Spec.ObserverSchema = []runtime.RawExtension{manifest.EncodeRaw(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", "labels": nil, "annotations": nil},
	})}
	id := manifest.ID{Kind: "ConfigMap", Namespace: "default", Name: "a"}
	in.Live[id] = map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{
		"name": "a", "namespace": "default", "uid": "u", "labels": map[string]any{v1alpha1.LabelApplicationUID: "app", "more": "is learned"},
		"annotations": map[string]any{v1alpha1.AnnotationTrackingID: claim.TrackingID(in.Application, id)},
	}}
	return in
}

func caseIn(t *testing.T, dir string) Input {
	t.Helper()
	in := Input{Application: &v1alpha1.Application{}, Kinds: intent.Offline(), Live: map[manifest.ID]map[string]any{}}
	raw, err := os.ReadFile(filepath.Join(dir, "application.yaml"))
	require.NoError(t, err)
	require.NoError(t, yaml.UnmarshalStrict(raw, in.Application))
	raw, err = os.ReadFile(filepath.Join(dir, "live.yaml"))
	if os.IsNotExist(err) {
		return in
	}
	require.NoError(t, err)
	documents, err := manifest.Read("live.yaml", raw)
	require.NoError(t, err)
	for _, document := range documents {
		if id, ok := manifest.Identify(document.Value, in.Application.Namespace, in.Kinds); ok {
			in.Live[id] = document.Value
		}
	}
	return in
}
