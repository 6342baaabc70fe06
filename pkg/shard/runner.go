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
)

// Work is what is done for slots.
type Work interface {
	// Ready reports whether slots can be begun: none is taken before.
	Ready() bool
	// Begin is called when a slot is held. As long as held says nothing, it may be written
	// for it. Begin must not block.
	Begin(slot int, held func() error)
	// End returns when nothing more is done for a slot. If its lease is lost, what is
	// being done is abandoned.
	End(slot int, lost bool)
}

// Config says what is shared, and how.
type Config struct {
	Leases coordinationclient.LeaseInterface
	// Name begins the names of all leases.
	Name string
	// Identity is that of this process, and of no other.
	Identity string
	// Slots is how many there are.
	Slots int
	// LeaseDuration is how long others wait for who does not renew, RenewDeadline when who
	// could not renew stops, and RetryPeriod how often is renewed.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
	Work                                      Work
	// Missing is told whether the namespace of the leases is missing.
	Missing func(ctx context.Context, missing bool)
}

// Runner holds this process' share of the slots.
type Runner struct {
	Config

	view    *view
	changed chan struct{}
	// ended has the slots for which nothing is done any more.
	ended chan int
	held  map[int]*holding
	// replica is the lease that says that this process lives.
	replica     *lease
	replicaName string
	waiting     bool  // for others to end, which was said
	share       Fence // of any slot
}

// holding is a slot that this process holds.
type holding struct {
	*lease
	ending, lost bool
}

// New makes a Runner; Run starts it.
func New(config Config) *Runner {
	v := newView(config.Name, config.Slots)
	return &Runner{
		Config: config, view: v, changed: make(chan struct{}, 1), ended: make(chan int), held: map[int]*holding{},
		replicaName: v.replica(string(uuid.NewUUID())), share: Fence{deadline: config.RenewDeadline},
	}
}

// Err is an error while no slot is held.
func (r *Runner) Err() error { return r.share.Err() }

// Run runs the work and holds slots for it. When the context ends, it takes no more, and
// when the work has ended it lets go of those that it holds.
func (r *Runner) Run(ctx context.Context, work func(context.Context) error) error {
	sharing, leave := context.WithCancel(context.WithoutCancel(ctx))
	over := make(chan struct{})
	go func() {
		defer close(over)
		r.run(sharing, ctx)
	}()
	err := work(ctx)
	leave()
	<-over
	return err
}

// run holds slots until the first context ends, and takes none after the end of the second.
func (r *Runner) run(ctx, taking context.Context) {
	following, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	synced := r.follow(following)
	for (!synced() || !r.Work.Ready()) && ctx.Err() == nil {
		r.await(ctx, 50*time.Millisecond)
	}
	for ctx.Err() == nil {
		leases := r.view.leases()
		r.renewAll(ctx)
		r.loseLate(ctx)
		if taking.Err() == nil && r.register(ctx, leases) {
			r.settle(ctx, r.view.leases())
		}
		r.await(ctx, r.untilNext())
	}
	//nolint:contextcheck // the context has ended
	r.leave(following)
}

// follow watches the leases of the namespace: there are few.
func (r *Runner) follow(ctx context.Context) (synced func() bool) {
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

func (r *Runner) wake() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// await waits for news, and at most for a while. What has ended is let go.
func (r *Runner) await(ctx context.Context, most time.Duration) {
	timer := time.NewTimer(max(most, time.Millisecond))
	defer timer.Stop()
	select {
	case <-r.changed:
	case <-timer.C:
	case <-ctx.Done():
	case slot := <-r.ended:
		r.letGo(ctx, slot)
	}
}

// untilNext is when there is something to do though nothing happens: to renew, to give up,
// or to take what another replica does not renew.
func (r *Runner) untilNext() time.Duration {
	next := r.RetryPeriod
	sooner := func(d time.Duration) { next = min(next, d) }
	for _, h := range r.held {
		if !h.lost {
			sooner(time.Until(h.tried.Add(r.RetryPeriod)))
			sooner(h.left())
		}
	}
	if r.replica != nil {
		sooner(time.Until(r.replica.tried.Add(r.RetryPeriod)))
	}
	for _, l := range r.view.leases() {
		if left := r.view.left(l); !r.isMine(l) && left > -r.RetryPeriod && r.view.isOurs(l.Name) {
			sooner(max(left, 50*time.Millisecond))
		}
	}
	return next
}

// renewAll renews what is due, all at the same time.
func (r *Runner) renewAll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, r.RetryPeriod)
	defer cancel()
	var renewing sync.WaitGroup
	due := func(l *lease) bool { return time.Since(l.tried) >= r.RetryPeriod-r.RetryPeriod/20 }
	renew := func(l *lease) {
		if err := r.renew(ctx, l); errors.Is(err, errTaken) {
			l.Close()
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
		r.view.wrote(h.last)
		if h.Err() == nil && h.renewed.After(latest) {
			latest = h.renewed
		}
	}
	r.share.Renewed(latest)
	if r.replica != nil {
		r.view.wrote(r.replica.last)
	}
}

// loseLate gives up what was not renewed in time.
func (r *Runner) loseLate(ctx context.Context) {
	for slot, h := range r.held {
		if h.lost || h.Err() == nil {
			continue
		}
		klog.FromContext(ctx).Info("Lost a slot: its lease was not renewed in time", "slot", slot)
		h.lost = true
		if h.ending { // which is waited for already, and is abandoned now
			go r.Work.End(slot, true)
			continue
		}
		h.ending = true
		r.end(slot, true)
	}
	if r.replica != nil && r.replica.Err() != nil {
		r.view.forget(r.replica.last.Name)
		r.replica = nil
	}
}

func (r *Runner) end(slot int, lost bool) {
	go func() {
		r.Work.End(slot, lost)
		r.ended <- slot
	}()
}

// letGo releases a slot for which nothing is done any more.
func (r *Runner) letGo(ctx context.Context, slot int) {
	h := r.held[slot]
	delete(r.held, slot)
	if h.lost {
		r.wake()
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.RetryPeriod)
	defer cancel()
	if err := r.release(ctx, h.lease); err != nil {
		klog.FromContext(ctx).Error(err, "Letting go of a slot: others wait until its lease runs out", "slot", slot)
		return
	}
	r.view.wrote(h.last)
	klog.FromContext(ctx).Info("Let go of a slot", "slot", slot)
	r.wake()
}

// register has others count this process, and reports whether they do.
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
		r.view.forget(r.replicaName) // the watch will say what there is
		return false
	case err != nil:
		klog.FromContext(ctx).Error(err, "Making the lease of this replica", "lease", r.replicaName)
		return false
	}
	r.Missing(ctx, false)
	r.replica = l
	r.view.wrote(l.last)
	return true
}

// settle moves towards this process' share: it lets one slot go, or takes those that are
// free.
func (r *Runner) settle(ctx context.Context, leases map[string]*coordinationv1.Lease) {
	if inTheWay := r.view.inTheWay(leases); inTheWay != "" && len(r.held) == 0 {
		if !r.waiting {
			klog.FromContext(ctx).Info("Waiting for replicas with another --shards to end", "lease", inTheWay)
		}
		r.waiting = true
		return
	}
	r.waiting = false
	holders := make([]string, r.Slots)
	for slot := range holders {
		holders[slot] = r.view.holder(leases[r.view.slot(slot)])
		if r.held[slot] != nil {
			holders[slot] = r.Identity
		}
	}
	wanted := Assign(holders, r.members(leases))
	free := false
	for slot, holder := range holders {
		if r.held[slot] == nil && wanted[slot] == r.Identity && (holder == "" || holder == r.Identity) {
			r.begin(ctx, slot, leases[r.view.slot(slot)])
		}
		free = free || holder == ""
	}
	r.yield(holders, wanted, free)
	r.sweep(ctx, leases)
}

// members are the replicas that live.
func (r *Runner) members(leases map[string]*coordinationv1.Lease) []string {
	found := map[string]struct{}{r.Identity: {}}
	for name, l := range leases {
		if holder := r.view.holder(l); r.view.isReplica(name) && holder != "" {
			found[holder] = struct{}{}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// begin takes a slot that is free.
func (r *Runner) begin(ctx context.Context, slot int, seen *coordinationv1.Lease) {
	asking, cancel := context.WithTimeout(ctx, r.RetryPeriod)
	defer cancel()
	l, err := r.take(asking, r.view.slot(slot), seen)
	switch {
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err):
		return // another was faster, which the watch will say
	case err != nil:
		klog.FromContext(ctx).Error(err, "Taking a slot", "slot", slot)
		return
	}
	r.view.wrote(l.last)
	r.held[slot] = &holding{lease: l}
	r.share.Renewed(l.renewed)
	klog.FromContext(ctx).Info("Holding a slot", "slot", slot, "of", r.Slots)
	r.Work.Begin(slot, l.Err)
}

// yield begins to let go of the last slot that is to be another's, if none is on its way: as
// long as one is, those who are to take it have not shown that they do.
func (r *Runner) yield(holders, wanted []string, free bool) {
	if free {
		return
	}
	for slot := len(wanted) - 1; slot >= 0; slot-- {
		h := r.held[slot]
		if h != nil && h.ending {
			return
		}
	}
	for slot := len(wanted) - 1; slot >= 0; slot-- {
		if h := r.held[slot]; h != nil && wanted[slot] != holders[slot] {
			h.ending = true
			r.end(slot, false)
			return
		}
	}
}

// sweep deletes the leases of replicas that are no more. Who has the first slot does.
func (r *Runner) sweep(ctx context.Context, leases map[string]*coordinationv1.Lease) {
	if r.held[0] == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, r.RetryPeriod)
	defer cancel()
	for name, l := range leases {
		if !r.view.isReplica(name) || r.isMine(l) || r.view.left(l) > -r.LeaseDuration {
			continue
		}
		if err := r.remove(ctx, l); err == nil || apierrors.IsNotFound(err) {
			klog.FromContext(ctx).Info("Deleted the lease of a replica that is no more", "lease", name)
		}
	}
}

// leave lets go of everything. Others take it as soon as they see that this replica is no
// more.
func (r *Runner) leave(ctx context.Context) {
	for slot, h := range r.held {
		if !h.ending {
			h.ending = true
			r.end(slot, false)
		}
	}
	for range r.held {
		<-r.ended
	}
	// Later than that others take it anyhow.
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
		leaving.Go(func() {
			if err := r.release(ctx, h.lease); err != nil {
				klog.FromContext(ctx).Error(err, "Letting go of a slot: others wait until its lease runs out", "slot", slot)
			}
		})
	}
	leaving.Wait()
}
