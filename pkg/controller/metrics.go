package controller

import (
	"errors"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/worker"
)

// Metrics are the holdfast_* metrics of one process. No label has a value that a
// user can choose without end.
type Metrics struct {
	registry    *prometheus.Registry
	reconciles  *prometheus.CounterVec
	duration    prometheus.Histogram
	corrections *prometheus.CounterVec
	callbacks   *prometheus.CounterVec

	mu    sync.Mutex
	kinds map[schema.GroupKind]struct{} // with corrections
}

// NewMetrics makes metrics with a registry of their own.
func NewMetrics() *Metrics {
	m := &Metrics{
		kinds:    map[schema.GroupKind]struct{}{},
		registry: prometheus.NewRegistry(),
		reconciles: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_reconciles_total", Help: "Reconciles of Applications by result: success, error or panic.",
		}, []string{"result"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "holdfast_reconcile_duration_seconds", Help: "How long a reconcile of an Application took.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 4, 10), // to 131 s
		}),
		corrections: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_corrections_total", Help: "Objects that had drifted and were corrected, by their kind.",
		}, []string{"group", "kind"}),
		callbacks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "holdfast_callbacks_total", Help: "Requests to the callback server by result.",
		}, []string{"result"}),
	}
	m.registry.MustRegister(m.reconciles, m.duration, m.corrections, m.callbacks)
	for _, result := range []string{resultSuccess, resultError, resultPanic} {
		m.reconciles.WithLabelValues(result) // so that a rate has a beginning
	}
	return m
}

// Gatherer has all that is counted.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }

// Callback counts a request to the callback server. The results are few, and
// none is text of the request.
func (m *Metrics) Callback(result string) { m.callbacks.WithLabelValues(result).Inc() }

// Results of a reconcile.
const (
	resultSuccess = "success"
	resultError   = "error"
	resultPanic   = "panic"
)

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

// mostKinds is how many kinds have their corrections counted apart. Those beyond
// are counted as one: whoever may define kinds cannot fill the memory.
const mostKinds = 200

func (m *Metrics) corrected(gk schema.GroupKind) {
	m.mu.Lock()
	_, known := m.kinds[gk]
	if !known && len(m.kinds) >= mostKinds {
		gk = schema.GroupKind{Kind: "other"}
	} else if !known {
		m.kinds[gk] = struct{}{}
	}
	m.mu.Unlock()
	m.corrections.WithLabelValues(gk.Group, gk.Kind).Inc()
}

// of has the state of a controller told with the metrics.
func (m *Metrics) of(c *Controller) { m.registry.MustRegister(state{c}) }

// seen is what the metrics tell of one Application.
type seen struct {
	ready     metav1.ConditionStatus
	stalled   bool
	contested int
}

// observe counts the corrections of a plan, and keeps what the metrics tell of
// its Application.
func (c *Controller) observe(app *v1alpha1.Application, p *plan.Plan, outcomes map[manifest.ID]plan.Outcome, status v1alpha1.ApplicationStatus) {
	now := seen{ready: metav1.ConditionUnknown, contested: len(status.Contested)}
	if ready := apimeta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady); ready != nil {
		now.ready = ready.Status
	}
	now.stalled = apimeta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionStalled)
	c.mu.Lock()
	if m := c.memories[app.UID]; m != nil {
		m.seen = now
	}
	c.mu.Unlock()
	for _, change := range p.Changes {
		outcome := outcomes[change.ID]
		// Without fields, it is our marks that were taken off.
		if outcome.Action == plan.Update && outcome.Object != nil && outcome.Problem == nil && len(change.Fields) > 0 && app.DeletionTimestamp == nil {
			c.options.Metrics.corrected(change.ID.GroupKind())
		}
	}
}

// state collects the metrics that are states and not counts.
type state struct{ *Controller }

var (
	applicationsDesc = prometheus.NewDesc("holdfast_applications", "Applications that this process has handled, by the status of their condition Ready.", []string{"ready"}, nil)
	stalledDesc      = prometheus.NewDesc("holdfast_stalled_applications", "Applications that only a user can help.", nil, nil)
	contestedDesc    = prometheus.NewDesc("holdfast_contested_fields", "Held fields that somebody keeps changing.", nil, nil)
	objectsDesc      = prometheus.NewDesc("holdfast_held_objects", "Objects of Applications that are watched.", nil, nil)
	deadDesc         = prometheus.NewDesc("holdfast_dead_watches", "Watches that have had no list, event or bookmark for more than a minute.", nil, nil)
	watchesDesc      = prometheus.NewDesc("holdfast_watches", "Watches of kinds that Applications have objects of.", nil, nil)
)

// Describe tells of all metrics.
func (s state) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{applicationsDesc, stalledDesc, contestedDesc, objectsDesc, watchesDesc, deadDesc} {
		to <- desc
	}
}

// Collect tells how things are now.
func (s state) Collect(to chan<- prometheus.Metric) {
	ready := map[metav1.ConditionStatus]int{metav1.ConditionTrue: 0, metav1.ConditionFalse: 0, metav1.ConditionUnknown: 0}
	stalled, contested := 0, 0
	s.mu.Lock()
	for _, m := range s.memories {
		if m.seen.ready == "" {
			continue // it is being handled for the first time
		}
		ready[m.seen.ready]++
		contested += m.seen.contested
		if m.seen.stalled {
			stalled++
		}
	}
	s.mu.Unlock()
	gauge := func(desc *prometheus.Desc, n int, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(n), labels...)
	}
	for status, n := range ready {
		gauge(applicationsDesc, n, string(status))
	}
	gauge(stalledDesc, stalled)
	gauge(contestedDesc, contested)
	gauge(objectsDesc, s.target.watches.Objects())
	gauge(watchesDesc, s.target.watches.Len())
	now := s.options.Now()
	gauge(deadDesc, s.target.watches.Dead(now)+s.applications.Dead(now))
}
