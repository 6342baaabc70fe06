package controller

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/cluster"
)

// state is a collector of the metrics that are states and not counters. Prometheus calls Collect from any goroutine.
type state struct {
	registry *registry
	watches  *cluster.Watches
	// stores contain the Applications and the slices. Their stalled watches are counted, too.
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
	namespaceOf := make(map[types.UID]string, len(s.registry.names))
	for uid, key := range s.registry.names {
		namespaceOf[uid] = key.Namespace
	}
	s.registry.mu.Unlock()
	taken := map[string]int{}
	s.watches.AddBytes(taken, namespaceOf)
	for _, store := range s.stores {
		store.AddBytes(taken)
	}
	stored := prometheus.NewDesc("holdfast_stored_bytes", "Memory that the Applications of a namespace take between reconciles, with their slices and objects: the 100 largest namespaces, and the others together as \"\".", []string{"namespace"}, nil)
	for namespace, n := range largest(taken) {
		to <- prometheus.MustNewConstMetric(stored, prometheus.GaugeValue, float64(n), namespace)
	}
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

// maxNamespaces limits the values of a label.
const maxNamespaces = 100

// largest returns the largest values, and the sum of the others for the empty key.
func largest(all map[string]int) map[string]int {
	names := slices.SortedFunc(maps.Keys(all), func(a, b string) int { return cmp.Or(cmp.Compare(all[b], all[a]), cmp.Compare(a, b)) })
	few := map[string]int{}
	for i, name := range names {
		if i >= maxNamespaces {
			few[""] += all[name]
			continue
		}
		few[name] += all[name]
	}
	return few
}
