package reconcile

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
)

// A field that no Application holds is reserved for an older Application only for a limited time.
func TestToYieldHasAnEnd(t *testing.T) {
	id := manifest.ID{Kind: "ConfigMap", Namespace: "default", Name: "theirs"}
	app := &v1alpha1.Application{}
	m, now, others := &State{}, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), []string{"default/older"}
	yields := func(after time.Duration, uid string) bool {
		now = now.Add(after)
		s := &Snapshot{memory: m, shared: map[manifest.ID]bool{id: true}}
		s.Input.Application, s.Input.Now = app, now
		s.Input.Live = map[manifest.ID]map[string]any{id: {"metadata": map[string]any{"uid": uid, "resourceVersion": "7"}}}
		g := &gatherer{Snapshot: s, request: Request{Older: func(asked manifest.ID, version string) []string {
			assert.Equal(t, id, asked)
			assert.Equal(t, "7", version)
			return others
		}}}
		g.addOlder()
		return len(s.Input.Precedence[id]) > 0
	}
	assert.True(t, yields(0, "u-1"))
	assert.True(t, yields(longestYield-1, "u-1"))
	assert.False(t, yields(1, "u-1"), "it has looked, or cannot")
	assert.False(t, yields(time.Hour, "u-1"))
	assert.True(t, yields(0, "u-2"), "another object")
	assert.False(t, yields(longestYield, "u-2"))
	app.Generation++
	assert.True(t, yields(0, "u-2"), "another spec")
	others = nil
	assert.False(t, yields(0, "u-2"), "it has looked")
	assert.Empty(t, m.yields, "nothing is kept of it")
}

// TestHoldersAreReadBeforeTheyAreIgnored checks that an Application that may be missing from the cache is
// read before the status ignores it.
func TestHoldersAreReadBeforeTheyAreIgnored(t *testing.T) {
	row := v1alpha1.ResourceStatus{ResourceReference: v1alpha1.ResourceReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: "theirs"}}
	holder := &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "older", UID: "uid-older"}}
	holder.Status.Resources = []v1alpha1.ResourceStatus{row}
	row.UID = "uid-theirs"
	row.WaitsFor, row.Waits = []v1alpha1.HolderReference{{Application: "default/older", UID: "uid-older"}}, []string{"data.a"}
	claims := `{"default/older": {"uid": "uid-older", "created": "2026-01-01T00:00:00Z", "leaves": ["data.a"]}}`
	for name, test := range map[string]struct {
		namespace      string
		holders        string // the annotation of the object
		cached, stored *v1alpha1.Application
		err            error
		reads          int
		known          bool
	}{
		"it is in the cache":                              {"default", claims, holder, nil, nil, 0, true},
		"it has released the field, and the cache is old": {"default", "", holder, nil, nil, 1, true},
		"it is not selected":                              {"default", claims, nil, holder, nil, 1, true},
		"it does not exist":                               {"default", claims, nil, nil, nil, 1, true},
		"it cannot be read":                               {"default", claims, nil, nil, errors.New("timeout"), 1, false},
		"it is in another namespace":                      {"far", claims, holder, nil, nil, 0, true},
		"another namespace may be unreadable":             {"far", claims, nil, nil, nil, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Snapshot{}
			s.Input.Application = &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Namespace: test.namespace, Name: "younger"}}
			s.Input.Application.Status.Resources = []v1alpha1.ResourceStatus{row}
			live := map[string]any{"metadata": map[string]any{"uid": "uid-theirs", "annotations": map[string]any{v1alpha1.AnnotationHolders: test.holders}}}
			s.Input.Live = map[manifest.ID]map[string]any{manifest.IDFromReference(row.ResourceReference): live}
			reads := 0
			g := &gatherer{Snapshot: s, request: Request{Application: s.Input.Application, Holder: func(_ context.Context, asked string, read bool) (*v1alpha1.Application, error) {
				assert.Equal(t, "default/older", asked)
				if !read {
					return test.cached, nil
				}
				reads++
				return test.stored, test.err
			}}}
			g.addHolders(t.Context())
			found, known := s.Input.Holders["default/older"]
			assert.Equal(t, test.known, known)
			assert.Equal(t, test.reads, reads)
			if test.stored != nil {
				assert.Equal(t, test.stored, found)
			}
		})
	}
}
