package controller

import "k8s.io/apimachinery/pkg/types"

// reports has who writes a report that can wait, and whose waits: while anything has changed
// there is one such report at a time, since corrections come first. Who waits has no turn
// before there is something to do in it: a turn to ask again would cost as much as a
// correction.
type reports struct {
	writing int
	// waiting are the Applications whose reports wait; order has them as they came, and
	// others that wait no more.
	waiting map[types.NamespacedName]struct{}
	order   []types.NamespacedName
}

// next is whose report has waited longest, and now waits for its turn only.
func (r *reports) next() (key types.NamespacedName, ok bool) {
	for len(r.order) > 0 && !ok {
		key = r.order[0]
		_, ok = r.waiting[key]
		r.order = r.order[1:]
		delete(r.waiting, key)
	}
	return key, ok
}
