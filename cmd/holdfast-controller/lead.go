package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/pkg/controller"
)

// candidacy decides when this process works. Another one that leads does not
// make ours wrong: two at once do no harm, they only do the work twice.
type candidacy struct {
	// leading is closed when this process leads; nil if nobody is elected.
	leading chan struct{}
	elector *leaderelection.LeaderElector
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
	lock, err := resourcelock.NewFromKubeconfig(f.election.ResourceLock, f.election.ResourceNamespace, f.election.ResourceName,
		resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())}, config, f.election.RenewDeadline.Duration)
	if err != nil {
		return nil, fmt.Errorf("preparing the election: %w", err)
	}
	e := &candidacy{leading: make(chan struct{})}
	e.elector, err = leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, Name: f.election.ResourceName, ReleaseOnCancel: true,
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

// run runs the work, whose context ends with the one given or when the lease is
// lost, which is an error. The lease is released when the work has ended.
func (e *candidacy) run(ctx context.Context, work func(context.Context) error) error {
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
