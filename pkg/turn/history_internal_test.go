package turn

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// However often something drifts, few slices are written; and what has waited long is.
func TestWhenTheOlderHistoryIsWritten(t *testing.T) {
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	m := &Memory{}
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
	assert.Equal(t, historyDelay, in(3*time.Hour, 1), "it begins anew")
}
