package shard

import (
	"context"
	"errors"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"holdfast.dev/holdfast/pkg/cluster"
)

// errTaken is returned if another replica has taken the Lease.
var errTaken = errors.New("another replica has the lease")

// lease is a Lease that this process holds. Only the goroutine of the Runner, and the goroutines that it waits for,
// use its fields. The work uses only the Fence.
type lease struct {
	*cluster.Fence
	last *coordinationv1.Lease // as last returned by the API server
	// tried is the start of the last attempt to renew it, renewed that of the last success.
	tried, renewed time.Time
}

// open opens the fence for a renewal that started then, and closes it for the zero time.
func (l *lease) open(renewed time.Time) {
	l.renewed = renewed
	l.Renewed(renewed)
}

// take acquires a Lease in the version that was seen, or creates it if seen is nil. It fails with Conflict,
// AlreadyExists or NotFound if another client was faster: the resourceVersion guards the write. It does not check
// whether the Lease has expired; the caller does.
func (r *Runner) take(ctx context.Context, name string, seen *coordinationv1.Lease) (*lease, error) {
	now := time.Now()
	l := &lease{Fence: cluster.NewFence(r.RenewDeadline), tried: now}
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
	l.open(now)
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
	l.open(now)
	return nil
}

// release clears the holder of a Lease, so that another replica can take it at once. It closes the fence first. It
// returns nil if another replica already holds the Lease. It keeps the Lease, so that its name and version remain
// known to the other replicas.
func (r *Runner) release(ctx context.Context, l *lease) error {
	l.open(time.Time{})
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
