package plan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/pkg/plan"
)

func TestMergedEventsRepeatNoNote(t *testing.T) {
	const corrected, contested = "corrected ConfigMap a", "corrected ConfigMap a; ConfigMap a: it is contested"
	for _, row := range []struct{ first, second, want string }{
		{corrected, contested, contested},
		{contested, corrected, contested},
		{corrected, "created ConfigMap b", corrected + "; created ConfigMap b"},
	} {
		both := (&plan.Event{Note: row.first, Redacted: row.first}).Merge(&plan.Event{Note: row.second, Redacted: row.second})
		assert.Equal(t, row.want, both.Note)
		assert.Equal(t, row.want, both.Redacted)
	}
}
