package reconcile_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/reconcile"
	"holdfast.dev/holdfast/pkg/store"
)

// An object that a watch has not listed yet may exist nevertheless.
func TestNothingIsDoneBeforeTheFirstList(t *testing.T) {
	d := newDesk(t, `manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {level: info}}]`)
	d.unseen = reconcile.ErrNotSeen
	assert.Empty(t, d.take(t))
	assert.Zero(t, d.statuses)
	d.unseen = nil
	assert.Equal(t, []string{"create config"}, d.take(t))
	assert.NotZero(t, d.statuses)
}

// A read returns managedFields, which the watch of a shared object drops. A read whose result is lost with an
// incomplete snapshot would not be repeated.
func TestSharedObjectIsReadOnlyAfterTheFirstList(t *testing.T) {
	d := newDesk(t, `manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {level: info}}]
ownership: Share`)
	d.theirs(true)
	d.unseen = reconcile.ErrNotSeen
	d.take(t)
	assert.Zero(t, d.reads)
	d.unseen = nil
	assert.Equal(t, []string{"patch config"}, d.take(t))
	assert.Equal(t, 1, d.reads)
}

// An object that has lost the tracking label is in no watch, but not gone: without its record, nothing would delete it.
func TestObjectsWithoutTheLabelAreReadAndDeleted(t *testing.T) {
	d := newDesk(t, `manifest: [{apiVersion: v1, kind: Secret, metadata: {name: other}}]`)
	d.has(config)
	metadata, _ := d.live[config]["metadata"].(map[string]any)
	delete(metadata, "labels")
	assert.Equal(t, []string{"create other", "delete config"}, d.take(t))
}

// While an Application is suspended, no create finds an object that another client has unlabeled.
func TestASuspendedObjectIsNotGoneWithoutItsLabel(t *testing.T) {
	d := newDesk(t, `manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {level: info}}]
suspend: true`)
	d.has(config)
	metadata, _ := d.live[config]["metadata"].(map[string]any)
	delete(metadata, "labels")
	assert.Empty(t, d.take(t))
	assert.Contains(t, d.app.Status.Resources[0].Message, "has drifted, and is not corrected while suspended")
	d.take(t)
	assert.Equal(t, 1, d.reads)

	delete(d.live, config)
	d.now = d.now.Add(time.Hour)
	d.take(t)
	assert.Equal(t, "does not exist, and is not created while suspended", d.app.Status.Resources[0].Message)
	d.take(t)
	assert.Equal(t, 2, d.reads)
}

// The watch can deliver a write after the objects were read from it. The writer of the older version is then not known.
func TestWriterOfAnObjectThatChangesMeanwhile(t *testing.T) {
	d := newDesk(t, `manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {level: info}}]`)
	d.has(config)
	d.live[config]["data"] = map[string]any{"level": "info"}
	d.take(t)
	written := store.New(store.Options{Now: time.Now, Changed: func(_, _ *store.Object) {}, Synced: func() {}})
	deliver := func(version string) {
		d.live[config] = observer.CopyMap(d.live[config])
		metadata := d.live[config]["metadata"].(map[string]any)
		metadata["resourceVersion"] = version
		object := observer.CopyMap(d.live[config])
		object["metadata"].(map[string]any)["managedFields"] = []any{map[string]any{
			"manager": "mallory", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
			"fieldsV1": map[string]any{"f:data": map[string]any{"f:level": map[string]any{}}},
		}}
		require.NoError(t, written.Update(&unstructured.Unstructured{Object: object}))
	}
	deliver("1")
	d.live[config]["data"] = map[string]any{"level": "debug"}
	deliver("2")
	before := d.live[config]
	deliver("3")
	d.live[config] = before
	d.newer = map[manifest.ID]store.WrittenObject{config: written.Written(d.app.UID)[types.NamespacedName{Namespace: "default", Name: "config"}]}
	d.patched = map[string]any{"level": "info"}
	d.now = d.now.Add(time.Second)
	require.Equal(t, []string{"patch config"}, d.take(t))
	d.now, d.newer = d.now.Add(time.Minute), nil
	d.take(t) // writes the postponed report
	require.NotEmpty(t, d.app.Status.History)
	assert.Equal(t, "mallory", d.app.Status.History[0].Manager)
}

// Corrections in quick succession have one report, in which none may be missing.
func TestAPostponedReportHasAllCorrections(t *testing.T) {
	d := newDesk(t, `manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {level: info, mode: live}}]`)
	d.has(config)
	data := func(level, mode string) { d.live[config]["data"] = map[string]any{"level": level, "mode": mode} }
	d.patched = map[string]any{"level": "info", "mode": "live"}
	data("info", "live")
	d.take(t)
	data("debug", "live")
	assert.Equal(t, []string{"patch config"}, d.take(t))
	data("info", "test")
	assert.Equal(t, []string{"patch config"}, d.take(t))
	assert.Empty(t, d.app.Status.History, "the report is postponed")
	d.now = d.now.Add(time.Second)
	d.take(t)
	assert.Len(t, d.app.Status.History, 2)
}
