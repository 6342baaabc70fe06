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
	watches  *cluster.Watches
	// stores have the Applications and the slices. Their stalled watches are counted, too.
	stores []*cluster.ApplicationStore
	now    func() time.Time
}

// Describe sends no descriptions, because Collect creates them. prometheus.DescribeByCollect would call Collect before
// the controller runs, on a goroutine that recovers no panic.
func (s state) Describe(chan<- *prometheus.Desc) {}

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
		contested += len(m.seen.contestedFields)
		count(&stalled, m.seen.stalled)
		count(&suspended, m.seen.suspended)
		count(&observing, m.seen.observing)
		count(&drifted, m.seen.drifted)
	}
	s.registry.mu.Unlock()
	gauge := func(name, help string, n int) {
		to <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, nil, nil), prometheus.GaugeValue, float64(n))
	}
	applications := prometheus.NewDesc("holdfast_applications", "Applications that this process has reconciled, by the status of their condition Ready.", []string{"ready"}, nil)
	for status, n := range ready {
		to <- prometheus.MustNewConstMetric(applications, prometheus.GaugeValue, float64(n), string(status))
	}
	gauge("holdfast_stalled_applications", "Applications that need the action of a user.", stalled)
	gauge("holdfast_suspended_applications", "Suspended Applications (spec.suspend), whose objects are not written.", suspended)
	gauge("holdfast_observing_applications", "Observe-only Applications (spec.mode), whose objects are not written; without suspended Applications.", observing)
	gauge("holdfast_drifted_applications", "Applications with drift: their condition Held is False.", drifted)
	gauge("holdfast_contested_fields", "Held fields that another client keeps changing.", contested)
	gauge("holdfast_held_objects", "Objects of Applications that are watched.", s.watches.Objects())
	gauge("holdfast_watches", "Watches of the kinds of objects in Applications.", s.watches.Len())
	now := s.now()
	dead := s.watches.Stalled(now)
	for _, store := range s.stores {
		dead += store.Stalled(now)
	}
	gauge("holdfast_dead_watches", "Watches that have had no list, event or bookmark for more than a minute.", dead)
}
