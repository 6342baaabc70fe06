package controller

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/pkg/cluster"
)

// state is a collector of the metrics that are states and not counters. Prometheus calls Collect from any goroutine.
type state struct {
	registry *registry
	slots    *slots
	watches  *cluster.Watches
	// stores have the Applications and the slices. Their stalled watches are counted, too.
	stores []*cluster.ApplicationStore
	now    func() time.Time
}

var (
	applicationsDesc = prometheus.NewDesc("holdfast_applications", "Applications that this process has reconciled, by the status of their condition Ready.", []string{"ready"}, nil)
	stalledDesc      = prometheus.NewDesc("holdfast_stalled_applications", "Applications that need the action of a user.", nil, nil)
	suspendedDesc    = prometheus.NewDesc("holdfast_suspended_applications", "Suspended Applications (spec.suspend), whose objects are not written.", nil, nil)
	observingDesc    = prometheus.NewDesc("holdfast_observing_applications", "Observe-only Applications (spec.mode), whose objects are not written; without suspended Applications.", nil, nil)
	driftedDesc      = prometheus.NewDesc("holdfast_drifted_applications", "Applications with drift: their condition Held is False.", nil, nil)
	contestedDesc    = prometheus.NewDesc("holdfast_contested_fields", "Held fields that another client keeps changing.", nil, nil)
	objectsDesc      = prometheus.NewDesc("holdfast_held_objects", "Objects of Applications that are watched.", nil, nil)
	deadDesc         = prometheus.NewDesc("holdfast_dead_watches", "Watches that have had no list, event or bookmark for more than a minute.", nil, nil)
	slotsDesc        = prometheus.NewDesc("holdfast_slots", "Slots over which --shards distributes the Applications.", nil, nil)
	slotsHeldDesc    = prometheus.NewDesc("holdfast_slots_held", "Slots that this process holds.", nil, nil)
	watchesDesc      = prometheus.NewDesc("holdfast_watches", "Watches of the kinds of objects in Applications.", nil, nil)
)

// Describe sends the descriptions of all metrics.
func (s state) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{applicationsDesc, stalledDesc, suspendedDesc, observingDesc, driftedDesc, contestedDesc, objectsDesc, watchesDesc, deadDesc, slotsDesc, slotsHeldDesc} {
		to <- desc
	}
}

// Collect sends the current values of all metrics.
func (s state) Collect(to chan<- prometheus.Metric) {
	ready := map[metav1.ConditionStatus]int{metav1.ConditionTrue: 0, metav1.ConditionFalse: 0, metav1.ConditionUnknown: 0}
	stalled, suspended, observing, drifted, contested := 0, 0, 0, 0, 0
	count := func(n *int, holds bool) {
		if holds {
			*n++
		}
	}
	// The values are counted with the lock, and sent without it.
	s.registry.mu.Lock()
	for _, m := range s.registry.memories {
		if m.seen.ready == "" {
			continue // its first reconcile has not finished
		}
		ready[m.seen.ready]++
		contested += m.seen.contested
		count(&stalled, m.seen.stalled)
		count(&suspended, m.seen.suspended)
		count(&observing, m.seen.observing)
		count(&drifted, m.seen.drifted)
	}
	s.registry.mu.Unlock()
	gauge := func(desc *prometheus.Desc, n int, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(n), labels...)
	}
	for status, n := range ready {
		gauge(applicationsDesc, n, string(status))
	}
	gauge(stalledDesc, stalled)
	gauge(suspendedDesc, suspended)
	gauge(observingDesc, observing)
	gauge(driftedDesc, drifted)
	gauge(contestedDesc, contested)
	gauge(objectsDesc, s.watches.Objects())
	gauge(watchesDesc, s.watches.Len())
	if s.slots.n > 1 {
		gauge(slotsDesc, s.slots.n)
		gauge(slotsHeldDesc, s.slots.number())
	}
	now := s.now()
	dead := s.watches.Stalled(now)
	for _, store := range s.stores {
		dead += store.Stalled(now)
	}
	gauge(deadDesc, dead)
}
