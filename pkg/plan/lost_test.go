package plan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/plan"
)

// If the record is lost, the list elements that the API server added are unknown.
func TestALostRecordCutsNothing(t *testing.T) {
	w := newWorld(t, "manifest: [{apiVersion: v1, kind: ServiceAccount, metadata: {name: robot}, imagePullSecrets: [{name: a}]}]")
	w.respond = func(object map[string]any) {
		object["imagePullSecrets"] = append(object["imagePullSecrets"].([]any), map[string]any{"name": "added"})
	}
	w.round()
	w.respond = nil
	w.quiet()
	w.app.Status.MangledObserverSchema, w.app.Status.LastAppliedManifest, w.app.Status.LastObservedManifest = nil, nil, nil
	p, _ := w.round()
	assert.Empty(t, paths(p))
	w.quiet()
}

// A backup without the status has no original values. An event reports this once.
func TestLostOriginalValuesAreReported(t *testing.T) {
	const spec = "adoption: IfUnowned\nonRelease: Restore\n"
	for name, row := range map[string]struct {
		spec string
		live bool // the object exists before
		lost bool
	}{
		"an adopted object": {spec, true, true},
		"a shared object":   {"ownership: Share\n", true, true},
		"a created object":  {spec, false, false},
	} {
		w := newWorld(t, row.spec+settings)
		if row.live {
			w.live[settingsID] = foreignSettings()
		}
		_, result := w.round()
		assert.NotEqual(t, plan.OriginalsLost, result.Event.Reason, name)
		w.quiet()
		w.app.Status, w.mem = v1alpha1.ApplicationStatus{}, &plan.State{}
		_, result = w.round()
		if !row.lost {
			assert.Nil(t, result.Event, name)
			continue
		}
		require.NotNil(t, result.Event, name)
		assert.Equal(t, plan.OriginalsLost, result.Event.Reason, name)
		assert.True(t, result.Event.Warning, name)
		assert.Contains(t, result.Event.Note, "their original values are lost and are not restored: "+settingsID.String(), name)
		w.quiet()
	}
}
