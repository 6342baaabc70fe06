package shard

import (
	"context"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
)

// heldSlot is a slot that this process holds. ending is true once End was called, lost if the Lease was not renewed
// in time. A slot that is lost is not released.
type heldSlot struct {
	*lease
	ending, lost bool
}

// end stops the work of a slot on a separate goroutine. await or leave receives the slot afterwards.
func (r *Runner) end(slot int, lost bool) {
	r.held[slot].ending = true
	go func() {
		r.Work.End(slot, lost)
		r.ended <- slot
	}()
}

// releaseSlot releases a slot whose work has stopped. The request has a context that does not end with the loop,
// because other replicas would otherwise wait until the Lease expires.
func (r *Runner) releaseSlot(ctx context.Context, slot int) {
	h := r.held[slot]
	delete(r.held, slot)
	if h.lost {
		r.wake()
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.RetryPeriod)
	defer cancel()
	if !r.tryRelease(ctx, slot, h) {
		return
	}
	r.view.recordWrite(h.last)
	klog.FromContext(ctx).Info("Released a slot", "slot", slot)
	r.wake()
}

// tryRelease releases the Lease of a slot. It logs an error, and reports whether there was none.
func (r *Runner) tryRelease(ctx context.Context, slot int, h *heldSlot) bool {
	err := r.release(ctx, h.lease)
	if err != nil {
		klog.FromContext(ctx).Error(err, "Releasing a slot: other replicas wait until its lease expires", "slot", slot)
	}
	return err == nil
}

// begin takes a free slot, and starts its work. seen is its Lease; nil if it does not exist. After an error, the next
// pass tries again.
func (r *Runner) begin(ctx context.Context, slot int, seen *coordinationv1.Lease) {
	asking, cancel := context.WithTimeout(ctx, r.RetryPeriod)
	defer cancel()
	l, err := r.take(asking, r.view.slotLease(slot), seen)
	switch {
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err):
		r.view.forget(r.view.slotLease(slot))
		return // another client was faster; the watch delivers its state
	case err != nil:
		klog.FromContext(ctx).Error(err, "Taking a slot", "slot", slot)
		return
	}
	r.view.recordWrite(l.last)
	r.held[slot] = &heldSlot{lease: l}
	r.share.Renewed(l.renewed)
	klog.FromContext(ctx).Info("Holding a slot", "slot", slot, "of", r.Slots)
	r.Work.Begin(slot, l.Err)
}
