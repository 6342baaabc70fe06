package controller

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/audit"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/controller/profiles"
	"holdfast.dev/holdfast/pkg/controller/templates"
	"holdfast.dev/holdfast/pkg/fetch"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/source"
	"holdfast.dev/holdfast/pkg/template"
	"holdfast.dev/holdfast/pkg/turn"
)

// Options of the controller.
type Options struct {
	// Concurrency is how many Applications are reconciled at the same time.
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
	// Slots is the number of slots that the Applications are divided into. The controller handles the
	// Applications of the slots that have begun and not ended (Begin, End). If Slots is at most 1, it
	// handles all Applications.
	Slots int
	// Held returns an error while another process may do the work of this one. Nothing is written then. If
	// nil, this never happens.
	Held func() error
	// Leading is closed when this process may work. Before that, it watches only Applications, not their
	// objects, and writes nothing. If nil, it works immediately.
	Leading <-chan struct{}
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

// recorder is the part of an event recorder that the controller uses.
type recorder interface {
	Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any)
}

// Controller holds the Applications of one API server.
type Controller struct {
	options Options
	client  *cluster.Client
	target  targetCluster
	turns   *turn.Reconciler
	queue   workqueue.TypedRateLimitingInterface[types.NamespacedName]
	slots   *slots
	sharers *sharers
	calls   *shutdownCaller
	called  callbackCache
	reports reports
	stores
	eventWriters
	registry
}

// stores has the objects of Holdfast's own kinds.
type stores struct {
	applications *cluster.ApplicationStore
	slices       *cluster.ApplicationStore
	templates    *templates.Templates
	profiles     *profiles.Profiles
	synced       chan struct{}
	slicesSynced chan struct{}
}

// eventWriters writes events.
type eventWriters struct {
	events recorder
	// notes are the texts of recent events.
	notes        *eventLimiter
	objectEvents *objectEvents
}

// registry has what the controller knows of the Applications between reconciles. It may be lost.
type registry struct {
	mu sync.Mutex
	// slicesOf are the slices of each Application. sliceOwners maps each slice to its Application.
	slicesOf    map[types.NamespacedName]map[types.NamespacedName]turn.Slice
	sliceOwners map[types.NamespacedName]types.NamespacedName
	// selection is the current selection.
	selection cluster.Selection
	// names has the Applications by UID, which is the value of the tracking label of their objects.
	names map[types.UID]types.NamespacedName
	// memories has the state of each Application between reconciles.
	memories map[types.UID]*memory
	// waiting has the Applications that wait for kinds of an API group.
	waiting map[string]map[types.NamespacedName]struct{}
	// changed has the Applications that have changed, or whose objects have changed, since the last
	// reconcile. The next one retries operations that were given up.
	changed map[types.UID]struct{}
	// arrived has the Applications that waited for a namespace which exists now.
	arrived map[types.UID]struct{}
	// orphans has the Applications of which a version showed that their deletion must orphan their objects.
	orphans map[types.UID]struct{}
}

func (o Options) withDefaults() Options {
	if o.Concurrency <= 0 {
		o.Concurrency = 16
	}
	if o.DefaultServiceAccount == "" {
		o.DefaultServiceAccount = "holdfast-applier"
	}
	if o.Rules == (plan.ContestPolicy{}) {
		o.Rules = plan.DefaultContestPolicy
	}
	if o.Drain <= 0 {
		o.Drain = 10 * time.Second
	}
	if o.SourceInterval <= 0 {
		o.SourceInterval = 5 * time.Minute
	}
	if o.Fetcher == nil {
		o.Fetcher, _ = fetch.New(fetch.Options{}) // no error is possible without prefixes
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
	for _, synced := range []chan struct{}{c.synced, c.slicesSynced} {
		select {
		case <-synced:
		default:
			return false
		}
	}
	return true
}

func (c *Controller) selected() cluster.Selection {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.selection
}

// application returns an Application from the store, or nil if it does not exist.
func (c *Controller) application(key types.NamespacedName) (*v1alpha1.Application, error) {
	object := c.applications.Get(key)
	if object == nil {
		return nil, nil
	}
	return cluster.DecodeApplication(object.JSON())
}

// manifests returns the manifests of an Application from its store, or nil if the store does not contain
// it.
func (c *Controller) manifests(uid types.UID) *cluster.Manifests {
	c.mu.Lock()
	key, known := c.names[uid]
	c.mu.Unlock()
	if !known {
		return nil
	}
	if object := c.applications.Get(key); object != nil && object.UID == uid {
		return object.Manifests()
	}
	return nil
}

func keyOf(app *v1alpha1.Application) types.NamespacedName {
	return types.NamespacedName{Namespace: app.Namespace, Name: app.Name}
}

// mayReport permits a reconcile to write a report that can wait. The caller must call done after the write.
// A nil done means that the report must wait; mayReport queues the Application later.
func (c *Controller) mayReport(key types.NamespacedName) (done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &c.reports
	_, waits := r.waiting[key]
	if len(c.changed) > 0 && r.writing > 0 {
		if !waits {
			if r.waiting == nil {
				r.waiting = map[types.NamespacedName]struct{}{}
			}
			r.waiting[key] = struct{}{}
			r.order = append(r.order, key)
		}
		return nil
	}
	delete(r.waiting, key)
	r.writing++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		r.writing--
		if next, ok := r.next(); ok {
			c.queue.Add(next)
		}
	}
}

// taken records that the change of an Application is being handled, or no longer needs to be. After the
// last such change, it queues all Applications whose reports wait. The caller holds the lock.
func (c *Controller) taken(uid types.UID) {
	delete(c.changed, uid)
	for len(c.changed) == 0 {
		next, ok := c.reports.next()
		if !ok {
			return
		}
		c.queue.Add(next)
	}
}

// Notifier sends notifications to another system. It must not block. data is a JSON value without secrets.
type Notifier interface {
	Send(kind, source, subject string, data any)
}
