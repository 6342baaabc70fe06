package reconcile

import (
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// A restart does not lose what the status reports about a contested field.
func TestAContestedFieldIsRememberedWithItsValues(t *testing.T) {
	next := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	app := &v1alpha1.Application{}
	app.Status.Contested = []v1alpha1.ContestedField{{
		ReportedField: v1alpha1.ReportedField{
			Resource: v1alpha1.ResourceReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: "config"},
			Path:     "data.key", Desired: &runtime.RawExtension{Raw: []byte(`{"n":1}`)},
		},
		Manager: "mallory", Corrections: 5, NextCorrection: next,
	}}
	fight := remembered(app).Contests[plan.Leaf{ID: manifest.ID{Kind: "ConfigMap", Namespace: "default", Name: "config"}, Path: "data.key"}]
	require.NotNil(t, fight)
	assert.Equal(t, &plan.Contest{
		Corrections: 5, Next: next.Time, Manager: "mallory", Desired: delta.NewValue(map[string]any{"n": int64(1)}),
	}, fight)
}

// The cache may not yet contain the objects that an earlier process was about to create.
func TestNamespacesThatWereWrittenDownStay(t *testing.T) {
	app := &v1alpha1.Application{}
	app.Namespace = "own"
	app.Annotations = map[string]string{v1alpha1.AnnotationNamespaces: "written,ahead"}
	assert.Equal(t, "ahead,written", namespacesAnnotation(app, &plan.Plan{}, true))
	assert.Empty(t, namespacesAnnotation(app, &plan.Plan{}, false))
}

func TestAMemoryOfNothingHasNoMaps(t *testing.T) {
	m := reflect.ValueOf(NewMemory(&v1alpha1.Application{}, time.Time{})).Elem()
	for field := range m.NumField() {
		if value := m.Field(field); value.Kind() == reflect.Map {
			assert.True(t, value.IsNil(), m.Type().Field(field).Name)
		}
	}
	var all map[string]int
	put(&all, "a", 1)
	put(&all, "b", 2)
	assert.Equal(t, map[string]int{"a": 1, "b": 2}, all)
}

// TestMemoryHasNoFormerObjects checks that the state of an Application does not grow with each object that it once had.
func TestMemoryHasNoFormerObjects(t *testing.T) {
	id := func(name string) manifest.ID { return manifest.ID{Kind: "ConfigMap", Namespace: "default", Name: name} }
	listed := v1alpha1.ResourceStatus{UID: "listed", ResourceReference: v1alpha1.ResourceReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: "held"}}
	app := &v1alpha1.Application{}
	app.Status.Resources = []v1alpha1.ResourceStatus{listed}
	m := NewMemory(app, time.Time{})
	m.gone = map[types.UID]bool{"listed": true, "former": true}
	m.permits = map[manifest.ID]readPermission{id("held"): {}, id("former"): {}}
	m.lists = map[listKey]listPermission{{}: {}}
	s := &Snapshot{memory: m, kinds: &knownKinds{}, shared: map[manifest.ID]bool{id("held"): true}}
	s.Input.Application = app
	g := &gatherer{Snapshot: s, request: Request{Application: app, Memory: m, Shared: func(cluster.Location) (map[string]any, error) { return nil, nil }}}
	require.NoError(t, g.addNamed(t.Context(), nil))
	require.NoError(t, g.addUnwatched(t.Context()))
	assert.Equal(t, map[types.UID]bool{"listed": true}, m.gone)
	assert.Equal(t, []manifest.ID{id("held")}, slices.Collect(maps.Keys(m.permits)))

	app.Generation++
	m.startReconcile(app, News{}, time.Time{})
	assert.Empty(t, m.permits)
	assert.Empty(t, m.lists)
}
