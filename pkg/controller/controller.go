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
	// Concurrency is how many Applications are handled at the same time.
	Concurrency int
	// DefaultServiceAccount acts for Applications that name none.
	DefaultServiceAccount string
	// Rules say when a field is contested.
	Rules plan.ContestPolicy
	// Hooks are called beside the controller's own; nil for none.
	Hooks *hooks.Hooks
	// Callback tells how workloads reach this controller; nil if they cannot.
	Callback func() hooks.Callback
	// Dial connects to the Services that are asked to shut down; nil for the
	// cluster's network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Fetcher fetches templates and archives; nil: none is.
	Fetcher source.Fetcher
	// SourceInterval is how often they are asked for changes; 0: 5 min. The
	// spec.interval of an Application comes first.
	SourceInterval time.Duration
	// Templates make Applications of custom resources.
	Templates []template.Template
	// Selection is which Applications are looked at; Select changes it.
	Selection cluster.Selection
	// ResyncInterval is how often an Application is looked at though nothing has
	// happened, at most; 0: never. Its spec.interval comes first.
	ResyncInterval time.Duration
	// Slots is how many the Applications are shared in: those are handled whose slot has
	// begun and not ended (Begin, End). At most one: all are.
	Slots int
	// Held is an error while another process may do this one's work: nothing is written
	// then. nil: never.
	Held func() error
	// Leading is closed when this process may work. Until then it watches
	// Applications, and neither their objects nor does it write. nil: at once.
	Leading <-chan struct{}
	// Drain is how long Applications that are being handled when the context ends
	// may take to be done; 0: 10 s.
	Drain time.Duration
	// Metrics count what happens; nil for nobody.
	Metrics *Metrics
	// Users knows who wrote versions of objects, from audit events; nil: nobody says so.
	Users *audit.Users
	// Notify tells another system what happens; nil for none.
	Notify Notifier
	// AtRest is called when nothing was handled for half a minute, after the last that was;
	// nil for nobody.
	AtRest func()
	// Patience is for how long watches of objects may say nothing.
	Patience cluster.StallTimeouts
	// Now is the clock; nil for the real one.
	Now func() time.Time
}

// ErrNotLeading is the cause of the end of the context that Run is given, if
// another process leads: what is being done is then abandoned at once.
var ErrNotLeading = errors.New("this process does not lead any more")

// recorder is what is used of an event recorder.
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
	events  recorder
	// notes are the texts of events that were sent lately.
	notes        *eventLimiter
	objectEvents *objectEvents

	slots        *slots
	sharers      *sharers
	applications *cluster.ApplicationStore
	slices       *cluster.ApplicationStore
	templates    *templates.Templates
	profiles     *profiles.Profiles
	calls        *shutdownCaller
	called       callbackCache
	synced       chan struct{}
	slicesSynced chan struct{}

	mu sync.Mutex
	// slicesOf are the slices of each Application, and sliceOwners the other way round.
	slicesOf    map[types.NamespacedName]map[types.NamespacedName]turn.Slice
	sliceOwners map[types.NamespacedName]types.NamespacedName
	// selection is what is selected now.
	selection cluster.Selection
	// names finds the Application of an object's label.
	names map[types.UID]types.NamespacedName
	// memories has what is remembered of each Application between reconciles.
	memories map[types.UID]*memory
	// waiting has the Applications that wait for kinds of a group to appear.
	waiting map[string]map[types.NamespacedName]struct{}
	// changed has the Applications about which something has changed since they
	// were last handled: what was given up is tried again.
	changed map[types.UID]struct{}
	// arrived are the Applications that waited for a namespace which has come.
	arrived map[types.UID]struct{}
	// orphans are the Applications of which a version has shown that their objects are to
	// stay when they go.
	orphans map[types.UID]struct{}
	reports reports
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
		o.Fetcher, _ = fetch.New(fetch.Options{}) // without prefixes, which is no error
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

// application reads an Application from the watch; nil if it is gone.
func (c *Controller) application(key types.NamespacedName) (*v1alpha1.Application, error) {
	object := c.applications.Get(key)
	if object == nil {
		return nil, nil
	}
	return cluster.DecodeApplication(object.JSON())
}

// manifests are those of an Application as its store has them; nil if that does not.
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

// mayReport lets a report that can wait be written, if this is the time; done is to be
// called when it is written. nil means later: its Application is queued then.
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

// taken takes in that what has changed about an Application is being handled, or is nobody's
// to handle any more. After the last such change all reports may be written. The lock is held.
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
