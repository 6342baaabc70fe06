package controller

import (
	"runtime"
	"slices"
	"strconv"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/version"
)

// Whoever may define kinds cannot fill the memory of who collects metrics.
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

func TestTheBuildIsTold(t *testing.T) {
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
