package plan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
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
