package reconcile

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// A restart does not lose what the status reports about a contested field.
func TestAContestedFieldIsRememberedWithItsValues(t *testing.T) {
	next := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	app := &v1alpha1.Application{}
	app.Status.Contested = []v1alpha1.ContestedField{{
		Resource: v1alpha1.ResourceReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: "config"},
		Path:     "data.key", Manager: "mallory", Corrections: 5, NextCorrection: next,
		Desired: &runtime.RawExtension{Raw: []byte(`{"n":1}`)},
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
