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

// mayReport lets a report that can wait be written, if this is the time; done is to be
// called when it is written. nil means later: its Application is queued then.
func (c *Controller) mayReport(key types.NamespacedName) (done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &c.reports
	_, waits := r.waiting[key]
	if len(c.changed) > 0 && r.writing > 0 {
		if !waits {
			if r.waiting == nil {
				r.waiting = map[types.NamespacedName]struct{}{}
			}
			r.waiting[key] = struct{}{}
			r.order = append(r.order, key)
		}
		return nil
	}
	delete(r.waiting, key)
	r.writing++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		r.writing--
		if next, ok := r.next(); ok {
			c.queue.Add(next)
		}
	}
}

// taken takes in that what has changed about an Application is being handled, or is nobody's
// to handle any more. After the last such change all reports may be written. The lock is held.
func (c *Controller) taken(uid types.UID) {
	delete(c.changed, uid)
	for len(c.changed) == 0 {
		next, ok := c.reports.next()
		if !ok {
			return
		}
		c.queue.Add(next)
	}
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
