package controller

import "k8s.io/apimachinery/pkg/types"

// reports schedules the reports that can wait. While any Application has an unhandled change, only one such report is
// written at a time, because corrections have priority. A waiting Application is not queued before its report may be
// written, because a reconcile that only asks again costs as much as a correction. registry.mu guards it.
type reports struct {
	// writing is the number of reports that are being written.
	writing int
	// waiting contains the Applications whose reports wait. order lists them in the order of arrival, and can also
	// contain others that no longer wait.
	waiting map[types.NamespacedName]struct{}
	order   []types.NamespacedName
}

// wait adds an Application whose report waits.
func (r *reports) wait(key types.NamespacedName) {
	if _, waits := r.waiting[key]; waits {
		return
	}
	if r.waiting == nil {
		r.waiting = map[types.NamespacedName]struct{}{}
	}
	r.waiting[key] = struct{}{}
	r.order = append(r.order, key)
}

// next removes the Application whose report has waited longest, and returns it. ok is false if none waits.
func (r *reports) next() (key types.NamespacedName, ok bool) {
	for len(r.order) > 0 && !ok {
		key = r.order[0]
		_, ok = r.waiting[key]
		r.order = r.order[1:]
		delete(r.waiting, key)
	}
	return key, ok
}
