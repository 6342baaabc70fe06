package audit

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/plan"
)

// Limits of the tables. By default, the API server sends a batch every 30 seconds and retries for one or
// two minutes.
const (
	maxUnclaimed      = 4096
	maxPendingLookups = 4096
	retention         = 10 * time.Minute
)

// Users maps object versions to the users who wrote them, as reported by audit events. Workers of Applications call
// Lookup, and handlers of requests call add, concurrently.
type Users struct {
	now func() time.Time
	// notify is called without the lock; set by SetNotify.
	notify func(application types.UID)

	// mu guards the fields below.
	mu sync.Mutex
	// names holds attributions without a lookup so far. asked holds the versions that an Application has
	// looked up, with their attribution once the event has arrived.
	names *expiringCache[attribution]
	asked *expiringCache[pendingLookup]

	// received, joined and dropped are the results of Stats.
	received, joined, dropped int64
}

// attribution is the result of one audit event: the user who wrote an object version.
type attribution struct {
	// user is the user who sent the request, also if it was impersonated.
	user plan.User
	// at is the time when the API server received the request. A request that changes nothing returns the
	// existing version, so the earliest of several attributions is the right one.
	at time.Time
}

// pendingLookup lists the Applications that have looked up an object version. Applications that share an object look up
// the same version.
type pendingLookup struct {
	applications []types.UID
	answer       *attribution // nil until the event arrives
}

// NewUsers returns a Users without any attribution.
func NewUsers(now func() time.Time) *Users {
	return &Users{now: now, notify: func(types.UID) {}, names: newExpiringCache[attribution](maxUnclaimed), asked: newExpiringCache[pendingLookup](maxPendingLookups)}
}

// SetNotify sets the function to call when the user of a looked-up version becomes known. It must be called
// before any other method.
func (u *Users) SetNotify(tell func(application types.UID)) { u.notify = tell }

// Lookup returns the known users of the given versions. The map is never nil. For each version that is missing, the
// notify function is called when its audit event arrives. This is lost if the event arrives later than the retention
// period, or if too many lookups are pending.
func (u *Users) Lookup(application types.UID, versions []v1alpha1.ObjectVersion) map[v1alpha1.ObjectVersion]plan.User {
	u.mu.Lock()
	defer u.mu.Unlock()
	known := map[v1alpha1.ObjectVersion]plan.User{}
	now := u.now()
	for _, v := range versions {
		// Several reconciles can look up a version before its event arrives.
		q, _ := u.asked.get(v, now)
		if name, came := u.names.get(v, now); came && q.answer == nil {
			q.answer = &name
			u.joined++
			u.asked.put(v, q, now)
		}
		if q.answer != nil {
			known[v] = q.answer.user
		} else if !slices.Contains(q.applications, application) {
			q.applications = append(q.applications, application)
			u.asked.put(v, q, now)
		}
	}
	return known
}

// add records an attribution and notifies the Applications that have looked up the version. It notifies without the
// lock, because an Application can look up the version at once.
func (u *Users) add(v v1alpha1.ObjectVersion, c attribution) {
	for _, application := range u.record(v, c) {
		u.notify(application)
	}
}

// record stores an attribution. It returns the Applications with a pending lookup for the version.
func (u *Users) record(v v1alpha1.ObjectVersion, c attribution) []types.UID {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := u.now()
	q, asked := u.asked.get(v, now)
	switch {
	case asked && q.answer == nil:
		u.joined++
		u.asked.put(v, pendingLookup{answer: &c}, now)
		return q.applications
	case asked: // the Applications were notified before
	default:
		if known, ok := u.names.get(v, now); !ok || c.at.Before(known.at) {
			u.names.put(v, c, now)
		}
	}
	return nil
}

// addCounts adds to the counts of Stats, after a list of events was read.
func (u *Users) addCounts(received, dropped int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.received, u.dropped = u.received+received, u.dropped+dropped
}

// Stats returns the number of events that were received, that answered a lookup, and that were dropped
// because they do not identify a user. The remaining events have no lookup yet; they are kept for the
// retention period.
func (u *Users) Stats() (received, joined, dropped int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.received, u.joined, u.dropped
}

// expiringCache is a cache that is bounded in size and age. The oldest items are evicted first. The lock of Users
// guards it.
type expiringCache[V any] struct {
	// most is the maximum number of items.
	most  int
	items map[v1alpha1.ObjectVersion]*item[V]
	// order lists the keys by insertion time, oldest first. Updating an item keeps its position. It has exactly the
	// keys of items.
	order []v1alpha1.ObjectVersion
}

type item[V any] struct {
	// at is the time of the insertion, from which the retention period counts.
	value V
	at    time.Time
}

func newExpiringCache[V any](most int) *expiringCache[V] {
	return &expiringCache[V]{most: most, items: map[v1alpha1.ObjectVersion]*item[V]{}}
}

// get returns an item that is younger than the retention period. An expired item is removed only by put.
func (s *expiringCache[V]) get(v v1alpha1.ObjectVersion, now time.Time) (value V, ok bool) {
	i := s.items[v]
	if i == nil || now.Sub(i.at) >= retention {
		return value, false
	}
	return i.value, true
}

// put adds or updates an item. Before it adds one, it evicts expired items, and the oldest one if the cache is full. An
// update does not extend the life of an item.
func (s *expiringCache[V]) put(v v1alpha1.ObjectVersion, value V, now time.Time) {
	if i := s.items[v]; i != nil && now.Sub(i.at) < retention {
		i.value = value
		return
	}
	for len(s.order) > 0 && (len(s.order) >= s.most || now.Sub(s.items[s.order[0]].at) >= retention) {
		delete(s.items, s.order[0])
		s.order = s.order[1:]
	}
	s.items[v] = &item[V]{value, now}
	s.order = append(s.order, v)
}
