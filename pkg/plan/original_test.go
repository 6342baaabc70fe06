package plan_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/plan"
)

// originalWorld has a ConfigMap of another client, and an Application with these fields of a spec that holds it.
func originalWorld(t *testing.T, spec string) (w *world, hold func(data string)) {
	t.Helper()
	w = newWorld(t, spec+"\nmanifest: []")
	w.live[config] = map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "config", "namespace": "default", "uid": "u-1", "resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z"},
		"data":     map[string]any{"a": "theirs", "b": "theirs"},
	}
	return w, func(data string) {
		w.edit(spec + "\nmanifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, " + data + "}]")
	}
}

func rejectedUpdate() map[plan.Action]plan.Outcome {
	return map[plan.Action]plan.Outcome{plan.Update: {Action: plan.Update, Problem: &plan.Problem{Reason: v1alpha1.ReasonRetrying, Message: errors.ErrUnsupported.Error()}}}
}

// The responses of an adoption and of the release are lost. The object is not deleted, although it has no tracking
// metadata any more.
func TestReleasedAdoptedObjectIsNotDeleted(t *testing.T) {
	w, hold := originalWorld(t, "adoption: Always")
	w.app.CreationTimestamp.Time = w.now.AddDate(-1, 0, 0) // the object is newer
	hold("data: {a: ours}")
	w.die(true)
	w.edit("adoption: Always\nmanifest: []")
	w.refuse = rejectedUpdate()
	w.round()
	w.refuse = nil
	w.die(true)
	require.Empty(t, get(w.only(), "metadata", "labels"))
	w.round()
	w.round()
	assert.Contains(t, w.live, config)
}
