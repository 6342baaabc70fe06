package controller

import (
	"bytes"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/reconcile"
	"holdfast.dev/holdfast/pkg/store"
	"holdfast.dev/holdfast/pkg/worker"
)

// registry stores the state of the Applications between reconciles, and queues them. It may be lost. Goroutines of
// watches queue Applications, and workers take their state.
//
// An Application is known from its first event on, until it is deleted or no longer selected. Events of objects of
// unknown Applications are ignored, because a reconcile will read these objects.
type registry struct {
	// queue contains the keys of the Applications to reconcile. A key that is added during its reconcile is handed out
	// again after it.
	queue workqueue.TypedRateLimitingInterface[types.NamespacedName]
	now   func() time.Time

	// mu guards the fields below. Only methods of the queue are called with it.
	mu sync.Mutex
	// names contains the known Applications by UID, which is the value of the tracking label of their objects.
	names map[types.UID]types.NamespacedName
	// memories stores the state of each Application between reconciles. It has no entry before the first reconcile.
	memories map[types.UID]*memory
	// changed lists the Applications that have changed, or whose objects have changed, since the start of their last
	// reconcile. The next one retries operations that were given up. While it is not empty, most reports wait.
	changed map[types.UID]struct{}
	// arrived lists the Applications that waited for a namespace which exists now.
	arrived map[types.UID]struct{}
	// orphans lists the Applications of which a version showed that their deletion must orphan their objects. An entry
	// remains until the Application is deleted.
	orphans map[types.UID]struct{}
	// reports are the reports that wait; guarded by mu.
	reports reports
}

// newRegistry returns an empty registry with a new queue, which has metrics of the name "applications".
func newRegistry(now func() time.Time) *registry {
	return &registry{
		queue:    worker.NewQueue("applications", namespaceOf),
		now:      now,
		names:    map[types.UID]types.NamespacedName{},
		memories: map[types.UID]*memory{},
		changed:  map[types.UID]struct{}{},
		arrived:  map[types.UID]struct{}{},
		orphans:  map[types.UID]struct{}{},
	}
}

// add queues an Application that has changed. From now on, changes of its objects queue it, too. changed is set before
// the key is queued, so the reconcile cannot miss it.
func (r *registry) add(object *store.Object) {
	r.mu.Lock()
	r.names[object.UID] = object.Key
	r.changed[object.UID] = struct{}{}
	r.mu.Unlock()
	r.queue.Add(object.Key)
}

// addLater queues Applications after a definition has changed: the users of its group, and the Applications that
// waited for it. Several calls within the delay cause one reconcile.
func (r *registry) addLater(users []types.UID, waiting map[types.NamespacedName]struct{}) {
	// The API server starts or stops serving the kind a moment after the definition has changed.
	const delay = 100 * time.Millisecond
	for key := range waiting {
		r.queue.AddAfter(key, delay)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, uid := range users {
		if key, known := r.names[uid]; known {
			r.changed[uid] = struct{}{}
			r.queue.AddAfter(key, delay)
		}
	}
}

// key returns the name of a known Application.
func (r *registry) key(uid types.UID) (key types.NamespacedName, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key, known = r.names[uid]
	return key, known
}

// keys returns the names of all known Applications.
func (r *registry) keys() []types.NamespacedName {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.names))
}

// memoryOf returns the memory of an Application, and its changes since the last call. The worker calls it at the
// start of a reconcile. A change that arrives later belongs to the next reconcile, which the queue starts after this
// one.
//
// The changes are returned only once, even if the reconcile fails: Reconcile applies them to the State before it can
// fail. Only news.Orphan is returned again until the Application is deleted.
func (r *registry) memoryOf(app *v1alpha1.Application) (m *memory, news reconcile.News) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m = r.memories[app.UID]
	if m == nil {
		m = &memory{state: reconcile.NewMemory(app, r.now())}
		r.memories[app.UID] = m
	}
	_, news.Changed = r.changed[app.UID]
	r.taken(app.UID)
	_, news.Namespace = r.arrived[app.UID]
	delete(r.arrived, app.UID)
	_, news.Orphan = r.orphans[app.UID]
	// The Application may be known only by its key until now, for example if a template has created it.
	r.names[app.UID] = store.Key(app)
	return m, news
}

// memory returns the memory of an Application, or nil if it was deleted.
func (r *registry) memory(uid types.UID) *memory {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.memories[uid]
}

// see records the state that the metrics report. It returns the previous one, with ready "" if there is none. It
// records nothing if the Application was dropped during its reconcile.
func (r *registry) see(uid types.UID, now metricsState) (before metricsState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := r.memories[uid]; m != nil {
		before, m.seen = m.seen, now
	}
	return before
}

// remembered returns the memory of all Applications that were reconciled, by UID.
func (r *registry) remembered() map[types.UID]*memory {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.memories)
}

// drop drops the state of an Application, and returns its name; empty if it is not known. It does not remove the
// Application from the queue.
func (r *registry) drop(uid types.UID) types.NamespacedName {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := r.names[uid]
	delete(r.names, uid)
	delete(r.memories, uid)
	r.taken(uid)
	delete(r.arrived, uid)
	delete(r.orphans, uid)
	return key
}

// noteOrphan records an Application whose deletion must orphan its objects, because the garbage collector
// may remove its finalizer before the next reconcile.
func (r *registry) noteOrphan(o *store.Object) {
	if !bytes.Contains(o.JSON(), []byte(`"`+metav1.FinalizerOrphanDependents+`"`)) {
		return // the usual case, without decoding
	}
	if app, err := cluster.DecodeApplication(o.JSON()); err != nil || !plan.RequestsOrphan(app) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.orphans[o.UID] = struct{}{}
}

// ObjectChanged queues an Application after another client has changed one of its objects. It implements
// cluster.Handler, as do WatchChanged and watchHandler.KindGone. Goroutines of watches call it.
func (r *registry) ObjectChanged(application types.UID) {
	r.mu.Lock()
	key, known := r.names[application]
	if known {
		r.changed[application] = struct{}{}
	}
	r.mu.Unlock()
	if known {
		r.queue.Add(key)
	}
}

// enqueue queues Applications without a change, for example because the name of a user is known now.
func (r *registry) enqueue(applications []types.UID) {
	for _, application := range applications {
		if key, known := r.key(application); known {
			r.queue.Add(key)
		}
	}
}

// namespaceCreated queues an Application that waited for a namespace which exists now. The two locked sections are
// not atomic together: a reconcile in between takes the news early, and the next one finds no work.
func (r *registry) namespaceCreated(application types.UID) {
	r.mu.Lock()
	r.arrived[application] = struct{}{}
	r.mu.Unlock()
	r.ObjectChanged(application)
}

// WatchChanged queues Applications after the watch of a kind has received its first list, failed or
// recovered.
func (r *registry) WatchChanged(applications []types.UID) {
	for _, uid := range applications {
		r.ObjectChanged(uid)
	}
}

// mayReport permits a reconcile to write a report that can wait. The caller must call done after the write. A nil
// done means that the report must wait; mayReport queues the Application later: when another report is written, or
// when no change is left.
func (r *registry) mayReport(key types.NamespacedName) (done func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// Without changes, nothing has priority. If none is being written, this one may be.
	if len(r.changed) > 0 && r.reports.writing > 0 {
		r.reports.wait(key)
		return nil
	}
	// Its place in order remains, and next skips it.
	delete(r.reports.waiting, key)
	r.reports.writing++
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.reports.writing--
		if next, ok := r.reports.next(); ok {
			r.queue.Add(next)
		}
	}
}

// taken records that the change of an Application is being handled, or no longer needs to be. After the
// last such change, it queues all Applications whose reports wait. The caller holds the lock.
func (r *registry) taken(uid types.UID) {
	delete(r.changed, uid)
	for len(r.changed) == 0 {
		next, ok := r.reports.next()
		if !ok {
			return
		}
		r.queue.Add(next)
	}
}
