package shard

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/watch"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/pkg/cluster"
)

// Work is the work that a Runner starts and stops for slots. For each slot, calls of Begin and End alternate, except
// for a second End after the loss of a Lease.
type Work interface {
	// Ready reports whether work can begin. The Runner takes no slot before.
	Ready() bool
	// Begin is called when this process holds a slot. The work may write as long as held returns nil. Begin must not
	// block, because it is called on the goroutine that renews the Leases.
	Begin(slot int, held func() error)
	// End stops the work for a slot and returns when it has stopped. It is called on its own goroutine. Except when
	// the process leaves, the Lease is renewed until it returns. If the Lease is lost, lost is true and running work
	// is aborted. If the Lease is lost during a call of End, End is called once more, concurrently, with lost. This
	// call must not wait, because the slot may begin again when the first one has returned.
	End(slot int, lost bool)
}

// Config configures a Runner.
type Config struct {
	// Leases is a client for the Leases of one namespace.
	Leases coordinationclient.LeaseInterface
	// Name is the prefix of the names of all Leases.
	Name string
	// Identity identifies this process. It must be unique.
	Identity string
	// Slots is the total number of slots. All replicas must use the same number: see view.conflictingLease.
	Slots int
	// LeaseDuration is the time after which other replicas take a Lease that was not renewed. RenewDeadline
	// is the time after which a holder that cannot renew stops its work. RetryPeriod is the interval
	// between renewals.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
	Work                                      Work
	// Missing is called with true if the namespace of the Leases does not exist, and with false once it
	// does.
	Missing func(ctx context.Context, missing bool)
}

// Runner holds this process' share of the slots. One goroutine, that of run, uses its fields. The exceptions are
// changed, ended and share, and the Fences.
type Runner struct {
	Config

	// view has the Leases of all replicas.
	view *view
	// changed wakes the loop after an event of the watch. It has room for one signal, so several events cause one
	// pass.
	changed chan struct{}
	// ended receives the slots whose work has stopped. It has no buffer: the sender waits until the loop releases the
	// slot.
	ended chan int
	// held has the slots that this process holds, by number, also those whose work is stopping.
	held map[int]*heldSlot
	// replica is the Lease that shows other replicas that this process is alive.
	replica *lease
	// replicaName is the name of that Lease. It is unique to this process.
	replicaName string
	waiting     bool           // for replicas with another number of slots; logged once
	share       *cluster.Fence // open while any slot is held
}

// New returns a Runner. Run starts it.
func New(config Config) *Runner {
	v := newView(config.Name, config.Slots)
	return &Runner{
		Config: config, view: v, changed: make(chan struct{}, 1), ended: make(chan int), held: map[int]*heldSlot{},
		replicaName: v.replicaLease(string(uuid.NewUUID())), share: cluster.NewFence(config.RenewDeadline),
	}
}

// Err returns an error while no slot is held. It can be called from any goroutine.
func (r *Runner) Err() error { return r.share.Err() }

// Run runs the work and holds slots for it. When the context ends, it takes no more slots. When the work has
// returned, it releases the slots that it holds. Until then it renews them, so that the work can finish. It returns
// the error of the work.
func (r *Runner) Run(ctx context.Context, work func(context.Context) error) error {
	sharing, leave := context.WithCancel(context.WithoutCancel(ctx))
	var runner sync.WaitGroup
	runner.Go(func() { r.run(sharing, ctx) })
	err := work(ctx)
	leave()
	runner.Wait()
	return err
}

// run holds slots until the first context ends, and takes no slots after the second one has ended. Each pass of its
// loop first renews the Leases, because everything else can take time.
func (r *Runner) run(ctx, taking context.Context) {
	// The watch must run until the last Lease is released.
	following, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	synced := r.watchLeases(following)
	for (!synced() || !r.Work.Ready()) && ctx.Err() == nil {
		r.await(ctx, 50*time.Millisecond)
	}
	for ctx.Err() == nil {
		leases := r.view.leases()
		r.renewAll(ctx)
		r.dropExpired(ctx)
		if taking.Err() == nil && r.register(ctx, leases) {
			r.settle(ctx, r.view.leases())
		}
		r.await(ctx, r.nextWakeup())
	}
	//nolint:contextcheck // the context has ended
	r.leave(following)
}

// watchLeases watches all Leases of the namespace, until the context ends. There are only few. synced reports whether
// the first list is complete.
func (r *Runner) watchLeases(ctx context.Context) (synced func() bool) {
	// The loop reads the store itself, so the event has no content.
	signal := func(any) { r.wake() }
	var controller cache.Controller
	r.view.store, controller = cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
				return r.Leases.List(ctx, options)
			},
			WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
				return r.Leases.Watch(ctx, options)
			},
		},
		ObjectType: &coordinationv1.Lease{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: signal, UpdateFunc: func(_, after any) { signal(after) }, DeleteFunc: signal,
		},
	})
	go controller.RunWithContext(ctx)
	return controller.HasSynced
}

// wake makes await return. It does not block, and can be called from any goroutine.
func (r *Runner) wake() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// await waits for a change, at most for the given time. It releases a slot whose work has stopped, which can take a
// request.
func (r *Runner) await(ctx context.Context, most time.Duration) {
	select {
	case <-r.changed:
	case <-time.After(max(most, time.Millisecond)):
	case <-ctx.Done():
	case slot := <-r.ended:
		r.releaseSlot(ctx, slot)
	}
}

// nextWakeup returns the time until something is due without an event: a renewal, a deadline, or the expiry
// of another replica's Lease.
func (r *Runner) nextWakeup() time.Duration {
	next := r.RetryPeriod
	sooner := func(d time.Duration) { next = min(next, d) }
	for _, h := range r.held {
		if !h.lost {
			sooner(time.Until(h.tried.Add(r.RetryPeriod)))
			sooner(h.Remaining())
		}
	}
	if r.replica != nil {
		sooner(time.Until(r.replica.tried.Add(r.RetryPeriod)))
	}
	for _, l := range r.view.leases() {
		// A Lease that expired long ago was handled by an earlier pass.
		if left := r.view.remaining(l); !r.isMine(l) && left > -r.RetryPeriod && r.view.isShardLease(l.Name) {
			sooner(max(left, 50*time.Millisecond))
		}
	}
	return next
}

// renewAll renews all due Leases concurrently, and waits for the responses for at most RetryPeriod. So a slow
// response for one slot does not delay the others. Then it opens or closes the common fence.
func (r *Runner) renewAll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, r.RetryPeriod)
	defer cancel()
	var renewing sync.WaitGroup
	due := func(l *lease) bool { return time.Since(l.tried) >= r.RetryPeriod-r.RetryPeriod/20 }
	renew := func(l *lease) {
		// dropExpired sees the closed fence.
		if err := r.renew(ctx, l); errors.Is(err, errTaken) {
			l.open(time.Time{})
		} else if err != nil {
			klog.FromContext(ctx).Error(err, "Renewing a lease", "lease", l.last.Name)
		}
	}
	for _, h := range r.held {
		if !h.lost && due(h.lease) {
			renewing.Go(func() { renew(h.lease) })
		}
	}
	if r.replica != nil && due(r.replica) {
		renewing.Go(func() { renew(r.replica) })
	}
	renewing.Wait()
	latest := time.Time{}
	for _, h := range r.held {
		r.view.recordWrite(h.last)
		if h.Err() == nil && h.renewed.After(latest) {
			latest = h.renewed
		}
	}
	r.share.Renewed(latest)
	if r.replica != nil {
		r.view.recordWrite(r.replica.last)
	}
}

// dropExpired drops Leases that were not renewed in time. The work of their slots is aborted; it cannot write any
// more, because the fence is closed. The slot remains in held until its work has stopped.
func (r *Runner) dropExpired(ctx context.Context) {
	for slot, h := range r.held {
		if h.lost || h.Err() == nil {
			continue
		}
		klog.FromContext(ctx).Info("Lost a slot: its lease was not renewed in time", "slot", slot)
		h.lost = true
		r.view.forget(h.last.Name) // the Lease may be deleted
		if h.ending {              // the work is stopping already, and is now aborted
			go r.Work.End(slot, true)
			continue
		}
		r.end(slot, true)
	}
	if r.replica != nil && r.replica.Err() != nil {
		r.view.forget(r.replica.last.Name)
		r.replica = nil
	}
}

// register creates the Lease of this replica, so that other replicas assign slots to it. It reports whether the Lease
// exists. NotFound for a create means that the namespace does not exist.
func (r *Runner) register(ctx context.Context, leases map[string]*coordinationv1.Lease) bool {
	if r.replica != nil {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, r.RetryPeriod)
	defer cancel()
	seen := leases[r.replicaName]
	l, err := r.take(ctx, r.replicaName, seen)
	switch {
	case apierrors.IsNotFound(err) && seen == nil:
		r.Missing(ctx, true)
		return false
	case apierrors.IsNotFound(err), apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		r.view.forget(r.replicaName) // the watch delivers the current state
		return false
	case err != nil:
		klog.FromContext(ctx).Error(err, "Creating the lease of this replica", "lease", r.replicaName)
		return false
	}
	r.Missing(ctx, false)
	r.replica = l
	r.view.recordWrite(l.last)
	return true
}

// settle moves towards the wanted assignment: it releases one slot, or takes all free ones that are assigned to this
// process. Without a change, it sends no request.
func (r *Runner) settle(ctx context.Context, leases map[string]*coordinationv1.Lease) {
	if inTheWay := r.view.conflictingLease(leases); inTheWay != "" && len(r.held) == 0 {
		if !r.waiting {
			klog.FromContext(ctx).Info("Waiting for replicas with another --shards to end", "lease", inTheWay)
		}
		r.waiting = true
		return
	}
	r.waiting = false
	holders := make([]string, r.Slots)
	for slot := range holders {
		holders[slot] = r.view.holder(leases[r.view.slotLease(slot)])
		// The watch may be behind the own writes.
		if r.held[slot] != nil {
			holders[slot] = r.Identity
		}
	}
	wanted := Assign(holders, r.members(leases))
	free, began := false, time.Now()
	for slot, holder := range holders {
		isMine := wanted[slot] == r.Identity && (holder == "" || holder == r.Identity)
		// The first ones must be renewed before slow requests have taken all of them. The next pass takes the others.
		if isMine && r.held[slot] == nil && time.Since(began) < r.RetryPeriod {
			r.begin(ctx, slot, leases[r.view.slotLease(slot)])
		}
		free = free || holder == ""
	}
	r.yield(holders, wanted, free)
	r.sweep(ctx, leases)
}

// members returns the identities of all live replicas.
func (r *Runner) members(leases map[string]*coordinationv1.Lease) []string {
	found := map[string]struct{}{r.Identity: {}}
	for name, l := range leases {
		if holder := r.view.holder(l); r.view.isReplica(name) && holder != "" {
			found[holder] = struct{}{}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// yield starts to release the last slot that is assigned to another replica. It releases one slot at a time, and only
// if no slot is free: a free slot means that its next holder has not taken it yet. So the number of Applications
// without a replica is small at any time.
func (r *Runner) yield(holders, wanted []string, free bool) {
	if free {
		return
	}
	for _, h := range r.held {
		if h.ending { // an earlier slot is still being released
			return
		}
	}
	for slot := len(wanted) - 1; slot >= 0; slot-- {
		if r.held[slot] != nil && wanted[slot] != holders[slot] {
			r.end(slot, false)
			return
		}
	}
}

// sweep deletes the Leases of replicas that have ended. Only the holder of the first slot does this.
func (r *Runner) sweep(ctx context.Context, leases map[string]*coordinationv1.Lease) {
	if r.held[0] == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, r.RetryPeriod)
	defer cancel()
	for name, l := range leases {
		if !r.view.isReplica(name) || r.isMine(l) || r.view.remaining(l) > -r.LeaseDuration {
			continue
		}
		seen := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &l.UID, ResourceVersion: &l.ResourceVersion}}
		if err := r.Leases.Delete(ctx, l.Name, seen); err == nil || apierrors.IsNotFound(err) {
			klog.FromContext(ctx).Info("Deleted the lease of a replica that has ended", "lease", name)
		}
	}
}

// leave stops the work of all slots, and releases them. Other replicas take them as soon as they notice that the
// Lease of this replica is deleted. The Leases are not renewed meanwhile.
func (r *Runner) leave(ctx context.Context) {
	for slot, h := range r.held {
		if !h.ending {
			r.end(slot, false)
		}
	}
	// Each held slot, also a lost one, is sent once.
	for range r.held {
		<-r.ended
	}
	// After that time other replicas take the Leases anyway.
	ctx, cancel := context.WithTimeout(ctx, r.LeaseDuration)
	defer cancel()
	if r.replica != nil {
		if err := r.resign(ctx); err != nil {
			klog.FromContext(ctx).Error(err, "Deleting the lease of this replica", "lease", r.replicaName)
		}
	}
	var leaving sync.WaitGroup
	for slot, h := range r.held {
		if h.lost {
			continue
		}
		leaving.Go(func() { r.tryRelease(ctx, slot, h) })
	}
	leaving.Wait()
}
