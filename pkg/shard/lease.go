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

// ErrNotHeld refuses what is only done with a lease: it was not renewed in time, and another
// replica may have it.
var ErrNotHeld = errors.New("the lease was not renewed in time: another replica may go on with this")

// errTaken is that a lease is another replica's.
var errTaken = errors.New("another replica has the lease")

// Fence is when a lease was renewed last. It is closed while that is too long ago.
type Fence struct {
	deadline time.Duration
	mu       sync.Mutex
	renewed  time.Time
}

// NewFence is closed until the lease is renewed, and again when that is a deadline ago.
func NewFence(deadline time.Duration) *Fence { return &Fence{deadline: deadline} }

// Renewed opens the fence. The time is that before the request: it may have taken long.
func (f *Fence) Renewed(at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.renewed = at
}

// Close closes the fence until the lease is renewed.
func (f *Fence) Close() { f.Renewed(time.Time{}) }

// Err is ErrNotHeld while the fence is closed.
func (f *Fence) Err() error {
	if f.left() <= 0 {
		return ErrNotHeld
	}
	return nil
}

// left is how long the fence stays open, by both clocks: one stands still while a machine
// sleeps, and people turn the other.
func (f *Fence) left() time.Duration {
	f.mu.Lock()
	renewed := f.renewed
	f.mu.Unlock()
	if renewed.IsZero() {
		return 0
	}
	now := time.Now()
	return f.deadline - max(now.Sub(renewed), now.Round(0).Sub(renewed.Round(0)))
}

// lease is one that this process holds.
type lease struct {
	*Fence
	last  *coordinationv1.Lease // as the API server had it last
	tried time.Time
}

// take makes a lease ours, as it was seen last; nil if there is none. It fails if another
// client was faster.
func (r *Runner) take(ctx context.Context, name string, seen *coordinationv1.Lease) (*lease, error) {
	now := time.Now()
	l := &lease{Fence: NewFence(r.RenewDeadline), tried: now}
	wanted := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if seen != nil {
		wanted = seen.DeepCopy()
	}
	transitions := ptr.Deref(wanted.Spec.LeaseTransitions, 0)
	if seen != nil {
		transitions++
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

// renew renews a lease. It fails with errTaken if it is another replica's.
func (r *Runner) renew(ctx context.Context, l *lease) error {
	now := time.Now()
	l.tried = now
	wanted := l.last.DeepCopy()
	wanted.Spec.RenewTime = ptr.To(metav1.NewMicroTime(now))
	written, err := r.Leases.Update(ctx, wanted, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) { // it is another's, or an answer of ours was lost
		wanted, err = r.Leases.Get(ctx, l.last.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if !r.isMine(wanted) {
			return errTaken
		}
		wanted.Spec.RenewTime = ptr.To(metav1.NewMicroTime(now))
		written, err = r.Leases.Update(ctx, wanted, metav1.UpdateOptions{})
	}
	switch {
	case apierrors.IsNotFound(err):
		return errTaken // anybody can make it anew
	case err != nil:
		return err
	}
	l.last = written
	l.Renewed(now)
	return nil
}

// release lets go of a lease, for others to take it at once.
func (r *Runner) release(ctx context.Context, l *lease) error {
	l.Close()
	err := r.giveUp(ctx, l, l.last)
	if !apierrors.IsConflict(err) {
		return err
	}
	// It is another's, or the answer to a renewal was lost, as when all ends meanwhile.
	seen, err := r.Leases.Get(ctx, l.last.Name, metav1.GetOptions{})
	if err != nil || !r.isMine(seen) {
		return err
	}
	return r.giveUp(ctx, l, seen)
}

func (r *Runner) giveUp(ctx context.Context, l *lease, seen *coordinationv1.Lease) error {
	wanted := seen.DeepCopy()
	wanted.Spec.HolderIdentity, wanted.Spec.LeaseDurationSeconds = ptr.To(""), ptr.To[int32](1)
	written, err := r.Leases.Update(ctx, wanted, metav1.UpdateOptions{})
	if err == nil {
		l.last = written
	}
	return err
}

// resign deletes the lease of this replica, in whatever version: an answer may have been lost.
func (r *Runner) resign(ctx context.Context) error {
	return r.Leases.Delete(ctx, r.replicaName, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &r.replica.last.UID}})
}

// remove deletes the lease of a replica, in the version that was seen.
func (r *Runner) remove(ctx context.Context, seen *coordinationv1.Lease) error {
	return r.Leases.Delete(ctx, seen.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &seen.UID, ResourceVersion: &seen.ResourceVersion},
	})
}

func (r *Runner) isMine(l *coordinationv1.Lease) bool {
	return ptr.Deref(l.Spec.HolderIdentity, "") == r.Identity
}

func seconds(d time.Duration) int32 { return int32(max((d+time.Second-1)/time.Second, 1)) }
