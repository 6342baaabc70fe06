package controller

import (
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/version"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/plan"
)

// A user who can define kinds must not be able to exhaust the memory of the metrics system.
func TestCorrectionsAreCountedForSoManyKinds(t *testing.T) {
	m := NewMetrics()
	const beyond = 50
	for range 2 {
		for i := range mostKinds + beyond {
			m.corrected(schema.GroupKind{Group: "example.com", Kind: "Kind" + strconv.Itoa(i)}, "person")
		}
	}
	families, err := m.Gatherer().Gather()
	require.NoError(t, err)
	series, others := 0, 0.0
	for _, family := range families {
		if family.GetName() != "holdfast_corrections_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			series++
			for _, label := range metric.GetLabel() {
				if label.GetValue() == "other" {
					others += metric.GetCounter().GetValue()
				}
			}
		}
	}
	assert.Equal(t, mostKinds+1, series)
	assert.InDelta(t, 2*beyond, others, 0)
}

// The duration of drift is observed only for corrected drift.
func TestExposureIsDurationOfDrift(t *testing.T) {
	m := NewMetrics()
	stood := func(outcome v1alpha1.HistoryOutcome, d time.Duration) plan.HistoryRecord {
		return plan.HistoryRecord{HistoryEntry: v1alpha1.HistoryEntry{Outcome: outcome, Duration: &metav1.Duration{Duration: d}}}
	}
	m.happened([]plan.HistoryRecord{
		stood(v1alpha1.OutcomeCorrected, 8*time.Millisecond), stood(v1alpha1.OutcomeRestored, 2*time.Second), stood(v1alpha1.OutcomeContested, time.Second),
		stood(v1alpha1.OutcomeAccepted, time.Second), stood(v1alpha1.OutcomeLearned, time.Hour), {HistoryEntry: v1alpha1.HistoryEntry{Outcome: v1alpha1.OutcomeCorrected}},
	})
	var metric dto.Metric
	require.NoError(t, m.exposure.Write(&metric))
	assert.EqualValues(t, 4, metric.GetHistogram().GetSampleCount())
	assert.InDelta(t, 4.008, metric.GetHistogram().GetSampleSum(), 1e-9)
}

func TestBuildInfoMetric(t *testing.T) {
	families, err := NewMetrics().Gatherer().Gather()
	require.NoError(t, err)
	i := slices.IndexFunc(families, func(f *dto.MetricFamily) bool { return f.GetName() == "holdfast_build_info" })
	require.GreaterOrEqual(t, i, 0)
	told := map[string]string{}
	for _, label := range families[i].GetMetric()[0].GetLabel() {
		told[label.GetName()] = label.GetValue()
	}
	assert.Equal(t, map[string]string{"version": version.String(), "goversion": runtime.Version()}, told)
	assert.InDelta(t, 1, families[i].GetMetric()[0].GetGauge().GetValue(), 0)
}
