package reconcile

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/plan"
)

func TestAReportThatWaitsIsWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := func(name string) (list []runtime.RawExtension) {
			for _, text := range rapid.SliceOfN(rapid.StringMatching(`[a-z"{}]{0,200}`), 0, 5).Draw(t, name) {
				list = append(list, runtime.RawExtension{Raw: []byte(text)})
			}
			return list
		}
		status := v1alpha1.ApplicationStatus{
			Summary: "1/1", Resources: []v1alpha1.ResourceStatus{{Health: rapid.StringMatching(`[a-z]{0,9}`).Draw(t, "health")}},
			History: make([]v1alpha1.HistoryEntry, rapid.IntRange(0, 2).Draw(t, "entries")), MangledObserverSchema: list("schema"), LastAppliedManifest: list("applied"), LastObservedManifest: list("observed"),
		}
		var m State
		m.postpone(plan.Result{Status: status}, time.Time{})
		for range rapid.IntRange(0, 3).Draw(t, "times") {
			m.postponed.pack()
		}
		require.True(t, statusEqual(status, *m.PendingStatus()))
		m.postponed.pack()
		require.True(t, statusEqual(status, *m.PendingStatus()), "the second time as well")
		m.postponed.pack()
		m.postpone(plan.Result{Status: v1alpha1.ApplicationStatus{Summary: "later"}}, time.Time{})
		require.Equal(t, v1alpha1.ApplicationStatus{Summary: "later"}, *m.PendingStatus())
	})
}

func TestAReportThatWaitsIsSmall(t *testing.T) {
	var status v1alpha1.ApplicationStatus
	for i := range 100 {
		raw := runtime.RawExtension{Raw: fmt.Appendf(nil, `{"name":"%d","data":"%s"}`, i, strings.Repeat("text ", 200))}
		status.LastAppliedManifest = append(status.LastAppliedManifest, raw)
	}
	var m State
	m.postpone(plan.Result{Status: status}, time.Time{})
	m.postponed.pack()
	assert.Less(t, len(m.postponed.content), 10_000, "of 100,000")
	assert.Nil(t, m.postponed.status.LastAppliedManifest)
	assert.Len(t, status.LastAppliedManifest, 100, "the original status is unchanged")
}
