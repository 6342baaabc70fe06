package record_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/record"
)

func raw(texts ...string) (all []runtime.RawExtension) {
	for _, text := range texts {
		all = append(all, runtime.RawExtension{Raw: []byte(text)})
	}
	return all
}

// A status gives the translation back only if it has all of it, and of the current spec.
func TestTranslationNeedsAWholeStatus(t *testing.T) {
	whole := func() *v1alpha1.Application {
		app := &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Name: "app", Namespace: "default", Generation: 3}}
		app.Status.SourceDigest = "digest"
		app.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionHeld, Status: metav1.ConditionTrue, ObservedGeneration: 3}}
		app.Status.Resources = []v1alpha1.ResourceStatus{{ResourceReference: v1alpha1.ResourceReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: "page"}}}
		app.Status.LastAppliedManifest = raw(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "page"}}`)
		return app
	}
	require.NotNil(t, record.Translation(whole()))
	assert.Len(t, record.Translation(whole()).Objects, 1)
	for name, change := range map[string]func(*v1alpha1.Application){
		"it was not held":               func(app *v1alpha1.Application) { app.Status.Conditions[0].Status = metav1.ConditionFalse },
		"nothing is known of it":        func(app *v1alpha1.Application) { app.Status.Conditions = nil },
		"it was another spec":           func(app *v1alpha1.Application) { app.Generation++ },
		"it was no translation":         func(app *v1alpha1.Application) { app.Status.SourceDigest = "" },
		"an object has no record":       func(app *v1alpha1.Application) { app.Status.LastAppliedManifest = nil },
		"a record cannot be read":       func(app *v1alpha1.Application) { app.Status.LastAppliedManifest = raw(`{`) },
		"a record is of another object": func(app *v1alpha1.Application) { app.Status.Resources[0].Name = "other" },
	} {
		app := whole()
		change(app)
		assert.Nil(t, record.Translation(app), name)
	}
}

// A record that cannot be read is skipped, and the others are read. A state is not taken for the schema of another
// object.
func TestReadSkipsBadRecords(t *testing.T) {
	app := &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Name: "app", Namespace: "default"}}
	const page, more = `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "page"}}`, `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "more"}}`
	app.Status.LastAppliedManifest = raw(`[]`, page, `{"kind": 1}`, more)
	app.Status.MangledObserverSchema = raw(`{}`, more, `{}`, more)
	records := record.Read(app, intent.Offline(), nil)
	require.Len(t, records, 2)
	assert.Nil(t, records[manifest.ID{Kind: "ConfigMap", Namespace: "default", Name: "page"}].Entry)
	assert.NotNil(t, records[manifest.ID{Kind: "ConfigMap", Namespace: "default", Name: "more"}].Entry)
}

// The annotation keeps the names of all objects, and the states that fit.
func TestPendingCreatesFitIntoTheirRoom(t *testing.T) {
	state := func(name string) any {
		return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": map[string]any{"replicas": int64(3)}}
	}
	pending := record.PendingCreates{Objects: []string{"/ConfigMap/default/a", "/ConfigMap/default/b"}, States: []any{state("a"), state("b")}}
	assert.Equal(t, pending, record.ReadPendingCreates(pending.Pack(32*1024)))
	whole := len(pending.Pack(32 * 1024))
	assert.Equal(t, record.PendingCreates{Objects: pending.Objects, States: pending.States[:1]}, record.ReadPendingCreates(pending.Pack(whole-1)))
	assert.Empty(t, pending.Pack(10))
	for _, text := range []string{"", "{", "AAAA", strings.Repeat("A", 1<<16)} {
		assert.Empty(t, record.ReadPendingCreates(text))
	}
	a := manifest.ID{Kind: "ConfigMap", Namespace: "default", Name: "a"}
	assert.True(t, pending.Has(a))
	assert.False(t, pending.Has(manifest.ID{Kind: "Secret", Namespace: "default", Name: "a"}))
}
