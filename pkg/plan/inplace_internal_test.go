package plan

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
)

// Whatever an object is, it is compared as with our marks in entry and desired state: also
// where they were left out because nothing differs.
func TestWhatIsInPlaceIsCompared(t *testing.T) {
	cases, err := filepath.Glob("../../testdata/plan/*/application.yaml")
	require.NoError(t, err)
	short, whole := 0, 0
	for _, file := range cases {
		in := caseIn(t, filepath.Dir(file))
		for range 2 { // as it is, and when all of it is as desired
			if in.Application.UID == "" && in.Application.Spec.Tosca == nil {
				in.Application.UID = "submitted"
			}
			p := Decide(in)
			for _, res := range p.resources {
				live := in.Live[res.object.ID]
				if live == nil || res.entry == nil {
					continue
				}
				want := res.withoutClaimed(delta.Compare(p.comparison(res, live)))
				require.Equal(t, want, p.compare(res, live), "%s: %s", file, res.object.ID)
				if _, is := p.inPlace(res, live); is {
					short++
				} else {
					whole++
				}
				_, live = res.marked(in.Application)
				in.Live[res.object.ID] = live
			}
		}
	}
	require.Greater(t, short, 100)
	require.Greater(t, whole, 100)
}

func caseIn(t *testing.T, dir string) Input {
	t.Helper()
	in := Input{Application: &v1alpha1.Application{}, Kinds: Offline(), Live: map[manifest.ID]map[string]any{}}
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
		if id, ok := Identify(document.Value, in.Application.Namespace, in.Kinds); ok {
			in.Live[id] = document.Value
		}
	}
	return in
}
