package audit

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/plan"
)

// What is kept, in number and time. The API server sends a batch every 30 seconds by
// default, and tries again for a minute or two.
const (
	mostNames = 4096
	mostAsked = 4096
	keptFor   = 10 * time.Minute
)

// Users knows who wrote which version of an object.
type Users struct {
	now  func() time.Time
	tell func(application types.UID)

	mu sync.Mutex
	// names are those for which nobody has asked yet, asked the versions that an
	// Application has asked for, with their names when they have come.
	names *shelf[claim]
	asked *shelf[question]

	received, joined, dropped int64
}

// claim is what an event says of a version.
type claim struct {
	user plan.User
	// at is when the request arrived. One that changes nothing is answered with the version
	// that was there: of several claims the first one is right.
	at time.Time
}

type question struct {
	application types.UID
	answer      *claim // nil as long as there is none
}

// NewUsers knows nobody yet.
func NewUsers(now func() time.Time) *Users {
	return &Users{now: now, tell: func(types.UID) {}, names: newShelf[claim](mostNames), asked: newShelf[question](mostAsked)}
}

// Tell has an Application be told that a name has come for which it has asked. It is to be
// called before anything else is.
func (u *Users) Tell(tell func(application types.UID)) { u.tell = tell }

// Of are the users of those versions that are known, never nil. Of the others the
// Application is told when they come.
func (u *Users) Of(application types.UID, versions []v1alpha1.ObjectVersion) map[v1alpha1.ObjectVersion]plan.User {
	u.mu.Lock()
	defer u.mu.Unlock()
	known := map[v1alpha1.ObjectVersion]plan.User{}
	now := u.now()
	for _, v := range versions {
		q, asked := u.asked.get(v, now)
		if name, came := u.names.get(v, now); came && q.answer == nil {
			q.answer = &name
			u.joined++
			u.asked.put(v, question{application, q.answer}, now)
		}
		if q.answer != nil {
			known[v] = q.answer.user
		} else if !asked {
			u.asked.put(v, question{application, nil}, now)
		}
	}
	return known
}

// add takes in that a user wrote a version.
func (u *Users) add(v v1alpha1.ObjectVersion, c claim) {
	if application, asked := u.take(v, c); asked {
		u.tell(application)
	}
}

// take is add, and returns the Application that is to be told.
func (u *Users) take(v v1alpha1.ObjectVersion, c claim) (application types.UID, asked bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := u.now()
	q, asked := u.asked.get(v, now)
	switch {
	case asked && q.answer == nil:
		u.joined++
		u.asked.put(v, question{q.application, &c}, now)
		return q.application, true
	case asked: // it has been told
	default:
		if known, ok := u.names.get(v, now); !ok || c.at.Before(known.at) {
			u.names.put(v, c, now)
		}
	}
	return "", false
}

func (u *Users) count(received, dropped int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.received, u.dropped = u.received+received, u.dropped+dropped
}

// Counts are how many events were received, have named a user, and name nobody for
// certain. All others are kept for a while, and nobody has asked for them.
func (u *Users) Counts() (received, joined, dropped int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.received, u.joined, u.dropped
}

// shelf has a bounded number of things, each for a bounded time; the oldest go first.
type shelf[V any] struct {
	most  int
	items map[v1alpha1.ObjectVersion]*item[V]
	// order has what was put in, the oldest first. What is put in again keeps its place.
	order []v1alpha1.ObjectVersion
}

type item[V any] struct {
	value V
	at    time.Time
}

func newShelf[V any](most int) *shelf[V] {
	return &shelf[V]{most: most, items: map[v1alpha1.ObjectVersion]*item[V]{}}
}

func (s *shelf[V]) get(v v1alpha1.ObjectVersion, now time.Time) (value V, ok bool) {
	i := s.items[v]
	if i == nil || now.Sub(i.at) >= keptFor {
		return value, false
	}
	return i.value, true
}

func (s *shelf[V]) put(v v1alpha1.ObjectVersion, value V, now time.Time) {
	for len(s.order) > 0 && (len(s.order) >= s.most || now.Sub(s.items[s.order[0]].at) >= keptFor) {
		delete(s.items, s.order[0])
		s.order = s.order[1:]
	}
	if i := s.items[v]; i != nil {
		i.value = value
		return
	}
	s.items[v] = &item[V]{value, now}
	s.order = append(s.order, v)
}
