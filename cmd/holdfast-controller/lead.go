package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/pkg/controller"
	"holdfast.dev/holdfast/pkg/shard"
)

// candidacy decides when this process works. Another one that leads does not
// make ours wrong: two at once do no harm, they only do the work twice.
type candidacy struct {
	// leading is closed when this process leads; nil if nobody is elected.
	leading chan struct{}
	elector *leaderelection.LeaderElector
	lock    *waitingLock // of the lease; nil if nobody is elected
	// slots share the Applications instead; nil: they are not shared.
	slots *shard.Runner
}

// held is an error while another process may lead, and nothing is to be written.
func (e *candidacy) held() error {
	switch {
	case e.slots != nil:
		return e.slots.Err()
	case e.lock != nil:
		return e.lock.fence.Err()
	}
	return nil
}

// possible is an error that says why nobody can be elected, if that is so.
func (e *candidacy) possible() error {
	if e.lock != nil && e.lock.missing.Load() {
		return e.lock
	}
	return nil
}

// waitingLock is a lock that waits for its namespace, and says so once. The elector would
// log an error every few seconds, and nobody would know what to do.
type waitingLock struct {
	resourcelock.Interface

	namespace string
	retry     time.Duration
	missing   atomic.Bool
	fence     *shard.Fence
}

// Error says what to do about a namespace that is not there.
func (p *waitingLock) Error() string {
	return fmt.Sprintf("no controller can lead, and nothing is held: the namespace %[1]s, for the lease, is not there. "+
		"Create it (kubectl create namespace %[1]s), name another one with --leader-elect-resource-namespace, or, "+
		"if this is the only controller of the cluster, give --leader-elect=false", p.namespace)
}

// Update implements resourcelock.Interface. To release the lease is tried again where a renewal
// that was cut off has arrived after all: or else the next one waits until it has run out.
func (p *waitingLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	begun := time.Now()
	err := p.Interface.Update(ctx, record)
	for record.HolderIdentity == "" && apierrors.IsConflict(err) {
		stored, _, problem := p.Get(ctx)
		if problem != nil || stored.HolderIdentity != p.Identity() {
			return err
		}
		err = p.Interface.Update(ctx, record)
	}
	if err == nil && record.HolderIdentity == p.Identity() {
		p.fence.Renewed(begun)
	}
	return err
}

// Create implements resourcelock.Interface.
func (p *waitingLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	for {
		begun := time.Now()
		err := p.Interface.Create(ctx, record)
		if err == nil {
			p.fence.Renewed(begun)
		}
		if !apierrors.IsNotFound(err) {
			p.missing.Store(false)
			return err
		}
		if !p.missing.Swap(true) {
			klog.FromContext(ctx).Info(p.Error())
		}
		select {
		case <-time.After(p.retry):
		case <-ctx.Done():
			return err
		}
	}
}

// candidate prepares the election that the flags ask for.
func (f *flags) candidate(config *rest.Config) (*candidacy, error) {
	if !f.election.LeaderElect {
		return &candidacy{}, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("naming this process for the election: %w", err)
	}
	config = rest.AddUserAgent(config, "leader-election")
	if f.options.Slots > 1 {
		return f.sharer(config, host)
	}
	lock, err := resourcelock.NewFromKubeconfig(f.election.ResourceLock, f.election.ResourceNamespace, f.election.ResourceName,
		resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())}, config, f.election.RenewDeadline.Duration)
	if err != nil {
		return nil, fmt.Errorf("preparing the election: %w", err)
	}
	at := &waitingLock{
		Interface: lock, namespace: f.election.ResourceNamespace, retry: f.election.RetryPeriod.Duration,
		fence: shard.NewFence(f.election.RenewDeadline.Duration),
	}
	e := &candidacy{leading: make(chan struct{}), lock: at}
	e.elector, err = leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: at, Name: f.election.ResourceName, ReleaseOnCancel: true,
		LeaseDuration: f.election.LeaseDuration.Duration, RenewDeadline: f.election.RenewDeadline.Duration, RetryPeriod: f.election.RetryPeriod.Duration,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(e.leading) },
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("preparing the election: %w", err)
	}
	return e, nil
}

// sharer prepares to share the Applications with other replicas.
func (f *flags) sharer(config *rest.Config, host string) (*candidacy, error) {
	config.QPS = -1 // a lease that waits its turn is late
	client, err := coordinationclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("preparing to share: %w", err)
	}
	at := &waitingLock{namespace: f.election.ResourceNamespace}
	slots := shard.New(shard.Config{
		Leases: client.Leases(f.election.ResourceNamespace), Name: f.election.ResourceName,
		Identity: host + "_" + string(uuid.NewUUID()), Slots: f.options.Slots,
		LeaseDuration: f.election.LeaseDuration.Duration, RenewDeadline: f.election.RenewDeadline.Duration, RetryPeriod: f.election.RetryPeriod.Duration,
		Missing: func(ctx context.Context, missing bool) {
			if missing && !at.missing.Load() {
				klog.FromContext(ctx).Info(at.Error())
			}
			at.missing.Store(missing)
		},
	})
	return &candidacy{lock: at, slots: slots}, nil
}

// run runs the work, whose context ends with the one given or when the lease is
// lost, which is an error. The lease is released when the work has ended.
func (e *candidacy) run(ctx context.Context, c *controller.Controller) error {
	work := c.Run
	if e.slots != nil {
		e.slots.Work = c
		return e.slots.Run(ctx, work)
	}
	if e.elector == nil {
		return work(ctx)
	}
	working, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	electing, release := context.WithCancel(context.WithoutCancel(ctx))
	over := make(chan struct{})
	go func() {
		defer close(over)
		e.elector.Run(electing)
		stop(controller.ErrNotLeading) // does nothing if the work has ended
	}()
	err := work(working)
	release()
	<-over
	if err == nil && errors.Is(context.Cause(working), controller.ErrNotLeading) {
		klog.FromContext(ctx).Info("Another process leads: ending")
		return controller.ErrNotLeading
	}
	return err
}
