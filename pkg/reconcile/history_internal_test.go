package reconcile

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// The log reports drift as the history does. Changes that a new spec requires are logged as writes.
func TestEachDriftIsALineOfTheLog(t *testing.T) {
	web := manifest.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	raw := func(text string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(text)} }
	var log bytes.Buffer
	logHistory(klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log)))), []plan.HistoryRecord{
		{ID: web, HistoryEntry: v1alpha1.HistoryEntry{Outcome: v1alpha1.OutcomeCreated}},
		{ID: web, HistoryEntry: v1alpha1.HistoryEntry{
			Outcome: v1alpha1.OutcomeCorrected, Path: "spec.replicas", From: raw("2"), To: raw("5"),
			Manager: "kubectl", Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "scale", User: "alice", Duration: &metav1.Duration{Duration: 8 * time.Millisecond},
		}},
		{ID: web, HistoryEntry: v1alpha1.HistoryEntry{Outcome: v1alpha1.OutcomeContested, Path: "metadata.labels", To: raw(`{"a":"b\nE1122 \"c\""}`)}},
		{ID: web, HistoryEntry: v1alpha1.HistoryEntry{Outcome: v1alpha1.OutcomeRestored}},
		{ID: web, HistoryEntry: v1alpha1.HistoryEntry{Outcome: v1alpha1.OutcomeReleased}},
	})
	var lines []string
	for line := range strings.Lines(log.String()) {
		_, line, _ = strings.Cut(line, "] ")
		lines = append(lines, strings.TrimSpace(line))
	}
	const of = ` object="Deployment.apps shop/web"`
	assert.Equal(t, []string{
		`"Corrected"` + of + ` path="spec.replicas" manager="kubectl" operation="Update" subresource="scale" user="alice" from=2 to=5 stood="8ms"`,
		`"Contested"` + of + ` path="metadata.labels" to={"a":"b\nE1122 \"c\""}`,
		`"Restored"` + of,
	}, lines)
}

// However often fields drift, few slices are written. Entries that have waited for a long time are written.
func TestOlderHistoryWrites(t *testing.T) {
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	m := &State{}
	in := func(after time.Duration, entries int) time.Duration {
		m.plan.Older = make([]v1alpha1.HistoryEntry, entries)
		wait, waits := m.historyIn(begin.Add(after))
		assert.Equal(t, entries > 0, waits)
		return wait
	}
	assert.Zero(t, in(0, 0))
	assert.Equal(t, historyDelay, in(time.Second, 1))
	assert.Equal(t, historyDelay-time.Minute, in(time.Second+time.Minute, historyBatch-1), "counted from the first")
	assert.Zero(t, in(time.Second+time.Minute, historyBatch))
	assert.Zero(t, in(time.Second+historyDelay, 1))

	m.olderWritten = begin.Add(time.Hour)
	assert.Equal(t, historyPause-time.Second, in(time.Hour+time.Second, 500))
	assert.Zero(t, in(time.Hour+historyPause, 500))
	in(2*time.Hour, 0)
	assert.Equal(t, historyDelay, in(3*time.Hour, 1), "the delay starts again")
}
