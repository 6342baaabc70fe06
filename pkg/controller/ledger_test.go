package controller_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// AwaitHistory waits until the newest entry of a history is as wanted.
func (f *fixture) AwaitHistory(name, what string, wanted func(v1alpha1.HistoryEntry) bool) v1alpha1.HistoryEntry {
	f.t.Helper()
	app := f.AwaitApplication(name, what, func(app *v1alpha1.Application) bool {
		return len(app.Status.History) > 0 && wanted(app.Status.History[0])
	})
	return app.Status.History[0]
}

// Whoever looks finds who changed what, and what became of it.
func TestTheHistoryNamesWhoChangedWhat(t *testing.T) {
	f := given(t)
	f.Submit("app", `{manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {key: held, other: held}}]}`)
	f.AwaitReady("app")

	f.Patch("mallory", configMaps, "config", `{data: {key: changed}}`)
	entry := f.AwaitHistory("app", "corrected", func(e v1alpha1.HistoryEntry) bool { return e.Outcome == v1alpha1.OutcomeCorrected })
	assert.Equal(t, []string{"data.key", `"held"`, `"changed"`, "mallory", "Update"},
		[]string{entry.Path, string(entry.From.Raw), string(entry.To.Raw), entry.Manager, string(entry.Operation)})
	require.NotNil(t, entry.Stood)
	f.AwaitNote("app", `data.key was changed from "held" to "changed" by mallory`)

	f.Delete(configMaps, "config")
	f.AwaitHistory("app", "restored", func(e v1alpha1.HistoryEntry) bool { return e.Outcome == v1alpha1.OutcomeRestored && e.Stood != nil })
}
