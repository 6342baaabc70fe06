package controller

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/version"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/worker"
	"holdfast.dev/holdfast/pkg/writer"
)

// Metrics are the holdfast_* metrics of one process. A user cannot add an unlimited number of values to any label.
// All methods are safe for concurrent use.
type Metrics struct {
	registry    *prometheus.Registry
	reconciles  *prometheus.CounterVec
	duration    prometheus.Histogram
	corrections *prometheus.CounterVec
	observed    *prometheus.CounterVec
	// exposure measures the time between drift and its correction. observed counts drift that is only observed.
	exposure  prometheus.Histogram
	contests  prometheus.Counter
	callbacks *prometheus.CounterVec

	// notifications and audit read their values when the metrics are collected.
	notifications, audit counts

	mu    sync.Mutex
	kinds map[schema.GroupKind]struct{} // with corrections, or with drift in observe-only mode
}

// NewMetrics returns metrics in their own registry.
func NewMetrics() *Metrics {
	m := &Metrics{
		kinds:    map[schema.GroupKind]struct{}{},
		registry: prometheus.NewRegistry(),
		reconciles: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_reconciles_total", Help: "Reconciles of Applications by result: success, error or panic.",
		}, []string{"result"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "holdfast_reconcile_duration_seconds", Help: "Duration of a reconcile of an Application.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 4, 10), // to 131 s
		}),
		corrections: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_corrections_total", Help: "Objects that drifted and were corrected, by kind and by the kind of client that changed them.",
		}, []string{"group", "kind", "writer"}),
		observed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_observed_drifts_total", Help: "Fields and objects of observe-only Applications that drifted, by kind and by the kind of client that changed them.",
		}, []string{"group", "kind", "writer"}),
		exposure: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "holdfast_drift_exposure_seconds", Help: "Time between the drift of a held field or object and its correction.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 12), // to 70 min
		}),
		contests: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "holdfast_contests_total", Help: "Held fields or objects that became contested.",
		}),
		callbacks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_callbacks_total", Help: "Requests to the callback server by result.",
		}, []string{"result"}),
	}
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "holdfast_build_info", Help: "Always 1. The labels contain the version of Holdfast and of Go.",
	}, []string{"version", "goversion"})
	build.WithLabelValues(version.String(), runtime.Version()).Set(1)
	m.registry.MustRegister(build, m.reconciles, m.duration, m.corrections, m.observed, m.exposure, m.contests, m.callbacks)
	m.notifications.register(m.registry, prometheus.CounterOpts{
		Name: "holdfast_notifications_total", Help: "Notifications that were sent, dropped because too many were waiting, or whose requests failed.",
	}, "sent", "dropped", "failed")
	m.audit.register(m.registry, prometheus.CounterOpts{
		Name: "holdfast_audit_events_total", Help: "Audit events that were received, that named the user of a change, or that were dropped.",
	}, "received", "joined", "dropped")
	for _, result := range []string{resultSuccess, resultError, resultPanic} {
		m.reconciles.WithLabelValues(result) // so that a rate has a first sample
	}
	return m
}

// Gatherer returns the registry of the metrics.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }

// Callback counts a request to the callback server. There are only a few results, and none contains text of
// the request.
func (m *Metrics) Callback(result string) { m.callbacks.WithLabelValues(result).Inc() }

// Notifications sets the function that returns the counts of notifications.
func (m *Metrics) Notifications(of func() (sent, dropped, failed int64)) { m.notifications.Store(&of) }

// Audit sets the function that returns the counts of audit events.
func (m *Metrics) Audit(of func() (received, joined, dropped int64)) { m.audit.Store(&of) }

// counts are three counters that another component keeps, each with another label result. They are 0 until their
// function is set.
type counts struct {
	atomic.Pointer[func() (a, b, c int64)]
}

// register registers the three counters. results are their labels, in the order of the results of the function.
func (c *counts) register(registry *prometheus.Registry, options prometheus.CounterOpts, results ...string) {
	for i, result := range results {
		options.ConstLabels = prometheus.Labels{"result": result}
		registry.MustRegister(prometheus.NewCounterFunc(options, func() float64 {
			of := c.Load()
			if of == nil {
				return 0
			}
			x, y, z := (*of)()
			return float64([]int64{x, y, z}[i])
		}))
	}
}

// Results of a reconcile.
const (
	resultSuccess = "success"
	resultError   = "error"
	resultPanic   = "panic"
)

// reconciled counts a reconcile by its result. An outdated Application counts as success.
func (m *Metrics) reconciled(err error, took time.Duration) {
	result := resultSuccess
	switch {
	case errors.Is(err, worker.ErrPanic):
		result = resultPanic
	case err != nil:
		result = resultError
	}
	m.reconciles.WithLabelValues(result).Inc()
	m.duration.Observe(took.Seconds())
}

// mostKinds limits the number of kinds whose corrections are counted separately. All other kinds are
// counted together, so that a user who may define kinds cannot fill the memory.
const mostKinds = 200

// corrected counts a corrected object. writer is a class of clients of package writer, or "spec".
func (m *Metrics) corrected(gk schema.GroupKind, writer string) {
	gk = m.bounded(gk)
	m.corrections.WithLabelValues(gk.Group, gk.Kind, writer).Inc()
}

// bounded returns the kind, or the kind "other" if too many kinds are counted separately.
func (m *Metrics) bounded(gk schema.GroupKind) schema.GroupKind {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, known := m.kinds[gk]
	if !known && len(m.kinds) >= mostKinds {
		gk = schema.GroupKind{Kind: "other"}
	} else if !known {
		m.kinds[gk] = struct{}{}
	}
	return gk
}

// happened measures how long drift existed before it was corrected, and counts drift in observe-only mode.
func (m *Metrics) happened(all []plan.HistoryRecord) {
	for _, h := range all {
		switch h.Outcome {
		case v1alpha1.OutcomeCorrected, v1alpha1.OutcomeContested, v1alpha1.OutcomeAccepted, v1alpha1.OutcomeRestored:
			if h.Duration != nil {
				m.exposure.Observe(h.Duration.Seconds())
			}
		case v1alpha1.OutcomeObserved:
			gk := m.bounded(h.ID.GroupKind())
			m.observed.WithLabelValues(gk.Group, gk.Kind, writer.Class(h.Manager, h.Operation)).Inc()
		}
	}
}

// contested counts the fields in now that are not in before.
func (m *Metrics) contested(before, now []v1alpha1.ContestedField) {
	for _, f := range now {
		if !slices.ContainsFunc(before, func(b v1alpha1.ContestedField) bool { return b.Resource == f.Resource && b.Path == f.Path }) {
			m.contests.Inc()
		}
	}
}
