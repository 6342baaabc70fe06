package controller

import (
	"cmp"
	"context"
	"errors"
	"net"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/audit"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/controller/templates"
	"holdfast.dev/holdfast/pkg/fetch"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/reconcile"
	"holdfast.dev/holdfast/pkg/source"
	"holdfast.dev/holdfast/pkg/store"
	"holdfast.dev/holdfast/pkg/template"
)

// Options of the controller.
type Options struct {
	// Concurrency is how many Applications are reconciled at the same time; 0 means 16.
	Concurrency int
	// DefaultServiceAccount acts for Applications without spec.serviceAccountName.
	DefaultServiceAccount string
	// Rules define when a field is contested.
	Rules plan.ContestPolicy
	// Hooks are called after the controller's own hooks. It can be nil.
	Hooks *hooks.Hooks
	// Callback returns how workloads reach this controller. It is nil if they cannot.
	Callback func() hooks.Callback
	// Dial connects to the Services that are called for a shutdown. If nil, it uses the cluster's network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Fetcher fetches templates and archives. If nil, none can be fetched.
	Fetcher source.Fetcher
	// SourceInterval is the time between two polls of a template or archive; 0 means 5 min. spec.interval
	// takes precedence.
	SourceInterval time.Duration
	// Templates create Applications from custom resources.
	Templates []template.Template
	// Selection defines which Applications the controller handles; Select changes it.
	Selection cluster.Selection
	// ResyncInterval is the longest time between two reconciles of an Application; 0 means no periodic
	// reconcile. spec.interval takes precedence.
	ResyncInterval time.Duration
	// Held returns an error while another process may do the work of this one. Nothing is written then. If
	// nil, this never happens.
	Held func() error
	// Leading is closed when this process may work. Before that, it watches only Applications, not their
	// objects, and writes nothing. If nil, it works immediately.
	Leading <-chan struct{}
	// MemoryLimit is the memory that this process should use, in bytes; 0: unlimited. The manifests of an Application
	// may take a quarter of it: see intent.TooLargeProblem.
	MemoryLimit int64
	// Drain is how long running reconciles may continue after the context has ended; 0 means 10 s.
	Drain time.Duration
	// Metrics are the metrics to update. If nil, they are not exposed.
	Metrics *Metrics
	// Users returns the users who wrote object versions, from audit events. If nil, no user is known.
	Users *audit.Users
	// Notify sends notifications to another system. It can be nil.
	Notify Notifier
	// AtRest is called half a minute after the last reconcile. It can be nil.
	AtRest func()
	// Patience defines how long watches of objects may receive nothing.
	Patience cluster.StallTimeouts
	// Now is the clock; nil means the real one.
	Now func() time.Time
}

// ErrNotLeading is the cause with which the context of Run ends if another process leads. Running
// reconciles are then abandoned immediately.
var ErrNotLeading = errors.New("this process is no longer the leader")

// Controller holds the Applications of one API server. Its exported methods can be called from any goroutine; Run
// only once.
type Controller struct {
	// options are the options with their defaults.
	options Options
	client  *cluster.Client
	// target is the cluster with the held objects.
	target     *targetCluster
	reconciler *reconcile.Reconciler
	// registry queues Applications, and stores their state between reconciles.
	registry     *registry
	applications *applicationClient
	slices       *sliceClient
	templates    *templates.Templates
	// synced is closed when the first lists of Applications are complete.
	synced chan struct{}
	// sharers is the index of Applications that share objects.
	sharers *sharers
	// calls are the calls of workloads that are shutting down.
	calls *shutdownCaller
	// called caches the Applications of callbacks.
	called callbackCache
	// events are those about Applications, objectEvents those on held objects.
	events       *eventSender
	objectEvents *objectEvents
}

// withDefaults returns the options with a value for each field that must not be empty. Users, Notify, Dial, Hooks and
// Leading can remain nil.
func (o Options) withDefaults() Options {
	o.Concurrency = cmp.Or(o.Concurrency, 16)
	o.DefaultServiceAccount = cmp.Or(o.DefaultServiceAccount, "holdfast-applier")
	o.Rules = cmp.Or(o.Rules, plan.DefaultContestPolicy)
	o.Drain = cmp.Or(o.Drain, 10*time.Second)
	o.SourceInterval = cmp.Or(o.SourceInterval, 5*time.Minute)
	if o.Fetcher == nil {
		o.Fetcher, _ = fetch.New(fetch.Options{}) // no error is possible without prefixes
	}
	if o.Callback == nil {
		o.Callback = func() hooks.Callback { return hooks.Callback{} }
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics()
	}
	if o.Held == nil {
		o.Held = func() error { return nil }
	}
	if o.AtRest == nil {
		o.AtRest = func() {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Ready reports whether the first lists of Applications and their slices are complete.
func (c *Controller) Ready() bool {
	for _, synced := range []chan struct{}{c.synced, c.slices.synced} {
		select {
		case <-synced:
		default:
			return false
		}
	}
	return true
}

// manifests returns the manifests of an Application from its store, or nil if the store does not contain it. Stores
// call it to compress objects, from goroutines of watches, and without a lock.
func (c *Controller) manifests(uid types.UID) *store.Manifests {
	key, known := c.registry.key(uid)
	if !known {
		return nil
	}
	// Another Application may have the name by now.
	if object := c.applications.store.Get(key); object != nil && object.UID == uid {
		return object.Manifests()
	}
	return nil
}
