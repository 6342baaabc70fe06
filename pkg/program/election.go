package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/controller"
)

// candidacy determines when this process works. Without leader election, all fields are nil. Two leaders at the same
// time are harmless; they only do the work twice.
type candidacy struct {
	// leading is closed when this process leads.
	leading chan struct{}
	// elector holds the Lease.
	elector *leaderelection.LeaderElector
	lock    *waitingLock // of the Lease
}

// held returns an error while another process may lead. Then nothing may be written. Each write calls it, from any
// goroutine.
func (e *candidacy) held() error {
	if e.lock == nil {
		return nil
	}
	return e.lock.fence.Err()
}

// possible returns an error if the election cannot take place, because the namespace of the Lease is missing. The
// readiness probe reports it.
func (e *candidacy) possible() error {
	if e.lock != nil && e.lock.missing.Load() {
		return e.lock
	}
	return nil
}

// waitingLock is a lock that waits for its namespace and logs that once. The elector alone would log an error every
// few seconds without a remedy. It also opens the fence with each successful write of the Lease by this process.
type waitingLock struct {
	resourcelock.Interface

	// namespace is the namespace of the Lease.
	namespace string
	// retry is the interval between attempts to create the Lease.
	retry time.Duration
	// missing is true while the namespace does not exist.
	missing atomic.Bool
	// fence is open as long as this process certainly leads.
	fence *cluster.Fence
}

// Error returns the remedy for a missing namespace.
func (p *waitingLock) Error() string {
	return fmt.Sprintf("no controller can become the leader, so no field is held: the namespace %[1]s of the lease does not exist. "+
		"Create it (kubectl create namespace %[1]s), set another one with --leader-elect-resource-namespace, or, "+
		"if this is the only controller of the cluster, set --leader-elect=false", p.namespace)
}

// Update implements resourcelock.Interface. It retries a release if an aborted renewal has succeeded after
// all. Otherwise the next leader would have to wait until the Lease expires.
func (p *waitingLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	begun := time.Now()
	err := p.Interface.Update(ctx, record)
	// An empty holder is a release.
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

// Create implements resourcelock.Interface. It returns only when the namespace exists, or the context has ended. The
// fence counts from the start of the request, as in Update.
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
		// Only the first attempt is logged.
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

// candidate prepares the leader election that the flags configure. It sends no request. The identity of this process
// differs after each start, so a restarted process does not mistake an old Lease for its own.
func (f *flags) candidate(config *rest.Config) (*candidacy, error) {
	if !f.election.LeaderElect {
		return &candidacy{}, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("naming this process for the election: %w", err)
	}
	// The requests of the election are then distinguishable in the audit log.
	config = rest.AddUserAgent(config, "leader-election")
	lock, err := resourcelock.NewFromKubeconfig(f.election.ResourceLock, f.election.ResourceNamespace, f.election.ResourceName,
		resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())}, config, f.election.RenewDeadline.Duration)
	if err != nil {
		return nil, fmt.Errorf("preparing the election: %w", err)
	}
	at := &waitingLock{
		Interface: lock, namespace: f.election.ResourceNamespace, retry: f.election.RetryPeriod.Duration,
		fence: cluster.NewFence(f.election.RenewDeadline.Duration),
	}
	// The elector calls the lock, which opens the fence before OnStartedLeading is called.
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

// run runs the controller. Its context ends with the given one, or when the Lease is lost, which is the error
// ErrNotLeading. The Lease is released after the controller has stopped.
func (e *candidacy) run(ctx context.Context, c *controller.Controller) error {
	if e.elector == nil {
		return c.Run(ctx)
	}
	working, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	// The Lease is renewed until the work has returned.
	electing, release := context.WithCancel(context.WithoutCancel(ctx))
	var election sync.WaitGroup
	election.Go(func() {
		e.elector.Run(electing)
		stop(controller.ErrNotLeading) // no effect after the work has ended
	})
	err := c.Run(working)
	release()
	election.Wait()
	if err == nil && errors.Is(context.Cause(working), controller.ErrNotLeading) {
		klog.FromContext(ctx).Info("Another process is the leader: exiting")
		return controller.ErrNotLeading
	}
	return err
}
