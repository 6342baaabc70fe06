package shard

import (
	"context"
	"errors"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// ErrNotHeld is returned for actions that need the Lease. It was not renewed in time, so another replica
// can hold it.
var ErrNotHeld = errors.New("the lease was not renewed in time: another replica may hold it now")

// errTaken is returned if another replica has taken the Lease.
var errTaken = errors.New("another replica has the lease")

// Fence guards actions that need a Lease. It is open for a deadline after the last renewal. It closes without any
// event, also while the process is suspended, so an action must ask immediately before it writes. All methods can be
// called from any goroutine.
type Fence struct {
	// deadline is how long the fence is open after a renewal. mu guards renewed.
	deadline time.Duration
	mu       sync.Mutex
	// renewed is the start of the last successful renewal; zero while the fence is closed.
	renewed time.Time
}

// NewFence returns a closed fence. Renewed opens it for the deadline.
func NewFence(deadline time.Duration) *Fence { return &Fence{deadline: deadline} }

// Renewed opens the fence. The time must be taken before the request, because the request can take long.
func (f *Fence) Renewed(at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.renewed = at
}

// Close closes the fence until the next renewal.
func (f *Fence) Close() { f.Renewed(time.Time{}) }

// Err returns ErrNotHeld while the fence is closed.
func (f *Fence) Err() error {
	if f.remaining() <= 0 {
		return ErrNotHeld
	}
	return nil
}

// remaining returns for how long the fence remains open; zero or less if it is closed. It uses both clocks: the
// monotonic clock stops while the machine is suspended, and users can set the wall clock.
func (f *Fence) remaining() time.Duration {
	f.mu.Lock()
	renewed := f.renewed
	f.mu.Unlock()
	if renewed.IsZero() {
		return 0
	}
	now := time.Now()
	return f.deadline - max(now.Sub(renewed), now.Round(0).Sub(renewed.Round(0)))
}

// lease is a Lease that this process holds. Only the goroutine of the Runner, and the goroutines that it waits for,
// use its fields. The work uses only the Fence.
type lease struct {
	*Fence
	last *coordinationv1.Lease // as last returned by the API server
	// tried is the start of the last attempt to renew it.
	tried time.Time
}

// take acquires a Lease in the version that was seen, or creates it if seen is nil. It fails with Conflict,
// AlreadyExists or NotFound if another client was faster: the resourceVersion guards the write. It does not check
// whether the Lease has expired; the caller does.
func (r *Runner) take(ctx context.Context, name string, seen *coordinationv1.Lease) (*lease, error) {
	now := time.Now()
	l := &lease{Fence: NewFence(r.RenewDeadline), tried: now}
	// The copy of a seen Lease has its resourceVersion, which guards the update.
	wanted, transitions := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name}}, int32(0)
	if seen != nil {
		wanted, transitions = seen.DeepCopy(), ptr.Deref(seen.Spec.LeaseTransitions, 0)+1
	}
	at := metav1.NewMicroTime(now)
	wanted.Spec = coordinationv1.LeaseSpec{
		HolderIdentity: &r.Identity, LeaseDurationSeconds: ptr.To(seconds(r.LeaseDuration)),
		AcquireTime: &at, RenewTime: &at, LeaseTransitions: &transitions,
	}
	var err error
	if seen == nil {
		l.last, err = r.Leases.Create(ctx, wanted, metav1.CreateOptions{})
	} else {
		l.last, err = r.Leases.Update(ctx, wanted, metav1.UpdateOptions{})
	}
	if err != nil {
		return nil, err
	}
	l.Renewed(now)
	return l, nil
}

// renew renews a Lease, and opens its fence. It returns errTaken if another replica holds it. After another error,
// the Lease may or may not be renewed; the fence remains as it was. It is called for one Lease on one goroutine at a
// time.
func (r *Runner) renew(ctx context.Context, l *lease) error {
	now := time.Now()
	l.tried = now
	err := r.update(ctx, l, func(spec *coordinationv1.LeaseSpec) { spec.RenewTime = ptr.To(metav1.NewMicroTime(now)) })
	switch {
	case apierrors.IsNotFound(err):
		return errTaken // any replica can create it again
	case err != nil:
		return err
	}
	l.Renewed(now)
	return nil
}

// release clears the holder of a Lease, so that another replica can take it at once. It closes the fence first. It
// returns nil if another replica already holds the Lease. It keeps the Lease, so that its name and version remain
// known to the other replicas.
func (r *Runner) release(ctx context.Context, l *lease) error {
	l.Close()
	err := r.update(ctx, l, func(spec *coordinationv1.LeaseSpec) {
		// client-go releases a Lease in the same way.
		spec.HolderIdentity, spec.LeaseDurationSeconds = ptr.To(""), ptr.To[int32](1)
	})
	if errors.Is(err, errTaken) {
		return nil
	}
	return err
}

// update changes a Lease. After a conflict, it tries once more with the current version of the Lease, unless another
// replica holds it: then it returns errTaken.
func (r *Runner) update(ctx context.Context, l *lease, change func(*coordinationv1.LeaseSpec)) error {
	wanted := l.last.DeepCopy()
	change(&wanted.Spec)
	written, err := r.Leases.Update(ctx, wanted, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) { // another client has written or deleted it, or the response to our last write was lost
		wanted, err = r.Leases.Get(ctx, l.last.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if !r.isMine(wanted) {
			return errTaken
		}
		change(&wanted.Spec)
		written, err = r.Leases.Update(ctx, wanted, metav1.UpdateOptions{})
	}
	if err == nil {
		l.last = written
	}
	return err
}

// resign deletes the Lease of this replica in any version, because the response to the last write can have been lost.
// The other replicas then assign its slots to themselves.
func (r *Runner) resign(ctx context.Context) error {
	return r.Leases.Delete(ctx, r.replicaName, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &r.replica.last.UID}})
}

// isMine reports whether this process is the holder of a Lease, which can have expired.
func (r *Runner) isMine(l *coordinationv1.Lease) bool {
	return ptr.Deref(l.Spec.HolderIdentity, "") == r.Identity
}

// seconds returns a duration in seconds, rounded up, and at least 1, as a Lease requires.
func seconds(d time.Duration) int32 { return int32(max((d+time.Second-1)/time.Second, 1)) }
