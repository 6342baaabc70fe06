package controller_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/controller"
)

func gathered(t *testing.T, metrics *controller.Metrics) []*dto.MetricFamily {
	t.Helper()
	families, err := metrics.Gatherer().Gather()
	require.NoError(t, err)
	return families
}

// sum returns the sum of a metric over all labels that are not given.
func sum(t *testing.T, metrics *controller.Metrics, name string, labels ...string) float64 {
	t.Helper()
	total := 0.0
	for _, family := range gathered(t, metrics) {
		if family.GetName() != name {
			continue
		}
		for _, metric := range family.GetMetric() {
			if has(metric, labels) {
				total += metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + float64(metric.GetHistogram().GetSampleCount())
			}
		}
	}
	return total
}

func has(metric *dto.Metric, labels []string) bool {
	return !slices.ContainsFunc(labels, func(label string) bool {
		return !slices.ContainsFunc(metric.GetLabel(), func(l *dto.LabelPair) bool { return l.GetName()+"="+l.GetValue() == label })
	})
}

// Names and labels of metrics are an interface for dashboards and alerts. The documentation and the
// monitoring files contain them.
func TestTheMetricsOfALife(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	metrics := controller.NewMetrics()
	f.Run(controller.Options{Metrics: metrics})
	f.Submit("app", mixed(4))
	f.AwaitHeld("app")
	f.Submit("ready", strings.ReplaceAll(oneConfig, "name: config", "name: ready"))
	f.AwaitReady("ready")
	f.Submit("refused", `manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: "Not A Name"}}]`)
	f.AwaitReason("refused", v1alpha1.ReasonRejected)
	f.Submit("still", "suspend: true"+strings.ReplaceAll(oneConfig, "name: config", "name: still"))
	f.AwaitReason("still", v1alpha1.ReasonSuspended)
	f.Patch("mallory", services, "web", `{spec: {selector: {app: other}}}`)
	f.AwaitValue(services, "web", "web", "spec", "selector", "app")
	f.Quiet(time.Second)
	metrics.Callback("ok")

	assert.InDelta(t, 1, sum(t, metrics, "holdfast_corrections_total"), 0)
	assert.InDelta(t, 1, sum(t, metrics, "holdfast_corrections_total", "group=", "kind=Service"), 0)
	assert.InDelta(t, 1, sum(t, metrics, "holdfast_corrections_total", "writer=other"), 0)
	assert.InDelta(t, 1, sum(t, metrics, "holdfast_drift_exposure_seconds"), 0)
	assert.InDelta(t, 0, sum(t, metrics, "holdfast_contests_total"), 0)
	assert.InDelta(t, 1, sum(t, metrics, "holdfast_applications", "ready=True"), 0)
	assert.InDelta(t, 3, sum(t, metrics, "holdfast_applications", "ready=False"), 0)
	assert.InDelta(t, 1, sum(t, metrics, "holdfast_stalled_applications"), 0)
	assert.InDelta(t, 1, sum(t, metrics, "holdfast_suspended_applications"), 0)
	assert.InDelta(t, 2, sum(t, metrics, "holdfast_drifted_applications"), 0, "a rejected correction, and a missing object of a suspended Application")
	assert.InDelta(t, 5, sum(t, metrics, "holdfast_held_objects"), 0)
	assert.InDelta(t, 5, sum(t, metrics, "holdfast_watches"), 0)
	assert.InDelta(t, 0, sum(t, metrics, "holdfast_contested_fields"), 0)
	assert.InDelta(t, 0, sum(t, metrics, "holdfast_dead_watches"), 0)
	assert.InDelta(t, 1, sum(t, metrics, "holdfast_callbacks_total", "result=ok"), 0)
	assert.Positive(t, sum(t, metrics, "holdfast_reconciles_total", "result=success"))
	assert.Positive(t, sum(t, metrics, "holdfast_reconcile_duration_seconds"))

	shapes := map[string]string{}
	for _, family := range gathered(t, metrics) {
		for _, metric := range family.GetMetric() {
			var names []string
			for _, label := range metric.GetLabel() {
				names = append(names, label.GetName())
			}
			shapes[family.GetName()] = strings.Join(names, ",")
		}
	}
	assert.Equal(t, map[string]string{
		"holdfast_applications": "ready", "holdfast_audit_events_total": "result", "holdfast_build_info": "goversion,version", "holdfast_callbacks_total": "result", "holdfast_contested_fields": "", "holdfast_dead_watches": "",
		"holdfast_corrections_total": "group,kind,writer", "holdfast_drifted_applications": "", "holdfast_suspended_applications": "", "holdfast_held_objects": "", "holdfast_reconcile_duration_seconds": "",
		"holdfast_reconciles_total": "result", "holdfast_stalled_applications": "", "holdfast_watches": "", "holdfast_contests_total": "", "holdfast_drift_exposure_seconds": "", "holdfast_notifications_total": "result",
		"holdfast_observing_applications": "", "holdfast_stored_bytes": "namespace",
	}, shapes)
	problems, err := promlint.NewWithMetricFamilies(gathered(t, metrics)).Lint()
	require.NoError(t, err)
	assert.Empty(t, problems)

	f.Delete(applications, "app")
	f.AwaitGone(applications, "app")
	f.eventually("what is held for the other Application alone", func() bool {
		return sum(t, metrics, "holdfast_watches") == 1 && sum(t, metrics, "holdfast_held_objects") == 1
	})
	assert.InDelta(t, 1, sum(t, metrics, "holdfast_corrections_total"), 0, "what is deleted is not corrected")
}

func TestAContestedFieldIsCounted(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	metrics := controller.NewMetrics()
	f.Run(controller.Options{Metrics: metrics})
	f.Submit("app", oneConfig)
	f.AwaitReady("app")
	for i := 0; sum(t, metrics, "holdfast_contested_fields") == 0; i++ {
		require.Less(t, i, 50, "the field is not contested after 50 changes")
		f.Patch("mallory", configMaps, "config", fmt.Sprintf(`{data: {key: theirs-%d}}`, i))
		f.eventually("an answer", func() bool {
			return value(f.Get(configMaps, "config"), "data", "key") == "ours" || sum(t, metrics, "holdfast_contested_fields") > 0
		})
	}
	assert.InDelta(t, 1, sum(t, metrics, "holdfast_contested_fields"), 0)
}
