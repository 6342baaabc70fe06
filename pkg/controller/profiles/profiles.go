// Package profiles watches the HoldProfiles of a cluster. While a profile has rules that depend on autoscalers, it
// also watches the targets of HorizontalPodAutoscalers. It queues the affected Applications, and reports in the
// status of each profile whether it is in effect. It reads profiles with the controller's own permissions, because
// they are the policy of the cluster administrator, independent of the ServiceAccount of an Application.
//
// It does not decide about any field; plan.Decide does. As long as the profiles are not known, no Application is
// decided: without a profile, a field that it frees would be corrected.
//
// Profiles.mu guards nearly all state. Goroutines of watches change it, workers of Applications read it with For, and
// one worker of this package checks and reports.
package profiles

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/reconcile"
	"holdfast.dev/holdfast/pkg/store"
	"holdfast.dev/holdfast/pkg/worker"
)

// Profiles are the HoldProfiles of a cluster. All exported methods except Count and Run can be called at any time,
// from any goroutine.
type Profiles struct {
	client *cluster.Client
	mapper *cluster.Mapper
	now    func() time.Time
	// wake queues Applications. It is called with the lock.
	wake func(applications []types.UID)
	// queue contains names of profiles, and the keys below. It has one worker.
	queue workqueue.TypedRateLimitingInterface[string]

	// mu guards the fields below, except counts.of. No request is sent with it.
	mu sync.Mutex
	// selection lists the selected namespaces, in which autoscalers are watched.
	selection cluster.Selection
	// lookups is how often to check again whether the kind is served, because that can take a moment after
	// its definition has changed.
	lookups int
	// store contains the profiles, and stop ends its watch. Both are nil while there is no watch.
	store *cluster.ApplicationStore
	stop  context.CancelFunc
	// settled is true once the profiles are known, or it is certain that none can be known: the kind is not served,
	// or the controller may not list it. It is never reset.
	settled bool
	// refused counts the forbidden lists of profiles.
	refused refusals
	registry
	// autoscalers is nil while no profile depends on them.
	autoscalers *autoscalers
	ctx         context.Context //nolint:containedctx // the life of the watches, not of a call
}

// registry contains the profiles, and the Applications that they concern.
type registry struct {
	// known contains the profiles by name, also the invalid ones.
	known map[string]parsedProfile
	// wanted lists the kinds and objects of each Application, as of its last reconcile.
	wanted map[types.UID]interest
	names  nameCheck
	// counts are the objects with fields that profiles decide about, names the checks of names.
	counts objectCounts
}

// interest lists the kinds of an Application's objects. If autoscalers were watched during its last
// reconcile, interest also lists the objects, so that a change of an autoscaler queues the affected
// Applications.
type interest struct {
	kinds   []schema.GroupKind
	objects []manifest.ID
}

// parsedProfile is a profile, or the validation errors in it. One of profile and err is nil.
type parsedProfile struct {
	profile *intent.Profile // nil if it is invalid
	err     error
	// checked is true after the first check of the names, unknown has those that the API server does not know.
	checked bool
	unknown error
}

// Queue keys that are no name of a profile.
const (
	theKind     = ""        // whether the kind is served
	theNames    = "/names"  // whether the API server knows the kinds and paths of all profiles
	objectCount = "/counts" // how many objects have fields that profiles decide about
)

// New returns the loop; Run starts it. wake must not block, and must not call the Profiles.
func New(client *cluster.Client, mapper *cluster.Mapper, now func() time.Time, wake func([]types.UID)) *Profiles {
	return &Profiles{
		client: client, mapper: mapper, now: now, wake: wake, queue: worker.NewQueue[string]("profiles", nil),
		registry: registry{known: map[string]parsedProfile{}, wanted: map[types.UID]interest{}, counts: objectCounts{of: map[types.UID]versionCount{}}},
	}
}

// Run watches profiles and reports until the context ends. Until Run, For returns ErrNotSeen.
func (p *Profiles) Run(ctx context.Context) {
	p.mu.Lock()
	p.ctx = ctx
	p.mu.Unlock()
	p.queue.Add(theKind)
	loop := worker.Loop[string]{
		Queue: p.queue, Workers: 1, Handle: p.handle,
		Logger: func(ctx context.Context, name string) klog.Logger {
			return klog.FromContext(ctx).WithValues("profile", name)
		},
	}
	loop.Run(ctx)
}

// handle handles one key of the queue. There is one worker, so two checks never run at the same time.
func (p *Profiles) handle(ctx context.Context, name string) (time.Duration, error) {
	switch name {
	case theKind:
		return p.lookUp(ctx)
	case theNames:
		return p.checkNames(ctx)
	case objectCount:
		p.count()
		return 0, nil
	}
	return reconcile.Again(p.report(ctx, name))
}

// Select changes which Applications the controller handles. All profiles apply to all of them. Only the namespaces
// restrict the watch of autoscalers: labels select Applications.
func (p *Profiles) Select(selection cluster.Selection) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.selection = cluster.Selection{Namespaces: selection.Namespaces}
	p.counts.partial = len(selection.Namespaces) > 0 || selection.Labels != nil && !selection.Labels.Empty()
	if p.counts.partial {
		p.counts.sum = nil
	}
	p.recount()
	if p.autoscalers != nil {
		p.autoscalers.store.Select(p.selection)
	}
}

// DefinitionChanged checks again whether the kind is served, and the names in profiles, after a definition of
// the group has changed.
func (p *Profiles) DefinitionChanged(group string) {
	p.kindsChanged(group)
	if group != v1alpha1.GroupVersion.Group {
		return
	}
	p.mu.Lock()
	p.lookups = 5
	p.mu.Unlock()
	p.queue.AddAfter(theKind, 100*time.Millisecond)
}

// lookUp starts the watch if the kind is served, and stops it if not. An installation may be older than the kind. It
// returns when to check again; 0 means after the next change of the definition.
func (p *Profiles) lookUp(ctx context.Context) (time.Duration, error) {
	_, err := p.mapper.Mapping(ctx, v1alpha1.GroupVersion.WithKind(v1alpha1.ProfileKind))
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err == nil:
		p.start()
	case !errors.Is(err, cluster.ErrKindUnknown):
		return 0, err
	case p.lookups > 0:
		p.lookups--
		return time.Second, nil
	default:
		p.end()
	}
	return 0, nil
}

// start starts the watch, unless it runs already. The caller holds the lock. The callbacks run on the goroutine of
// the watch, without the lock.
func (p *Profiles) start() {
	if p.store != nil {
		return
	}
	watching, stop := context.WithCancel(p.ctx)
	p.stop = stop
	p.store = cluster.NewApplicationStore(p.client, v1alpha1.ProfileGroupVersionResource, cluster.Selection{}, p.changed, p.settle)
	p.store.Noted = func(err error) {
		if p.refused.last(err) {
			klog.FromContext(watching).Info("cannot list HoldProfiles, so none has an effect", "reason", err.Error())
			p.settle()
		}
	}
	p.store.Run(watching)
}

// end stops the watch and drops all profiles, because the API server does not serve the kind. The caller holds the
// lock. An event of the ended watch may still arrive: see changed.
func (p *Profiles) end() {
	if p.stop != nil {
		p.stop()
	}
	p.store, p.stop = nil, nil
	p.refused.last(nil)
	were := p.known
	p.known = map[string]parsedProfile{}
	if first := !p.settled; first {
		p.settled = true
		p.wake(slices.Collect(maps.Keys(p.wanted)))
		return
	}
	for _, was := range were {
		p.wake(p.concerned(was.profile))
	}
	p.watchAutoscalers()
}

// settle queues all Applications when the profiles are known for the first time.
func (p *Profiles) settle() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.settled {
		p.settled = true
		p.wake(slices.Collect(maps.Keys(p.wanted)))
	}
}

// changed handles an event of the watch. It queues the Applications that the profile affects or has affected. Until
// the first list is complete, it queues none, because they all wait for settle.
func (p *Profiles) changed(before, after *store.Object) {
	if before != nil && after != nil && before.UID == after.UID && before.Generation == after.Generation {
		p.queue.Add(after.Key.Name) // its spec has not changed
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.store == nil {
		return // the kind is no longer served
	}
	if after == nil {
		was := p.known[before.Key.Name]
		delete(p.known, before.Key.Name)
		p.watchAutoscalers()
		p.wake(p.concerned(was.profile))
		return
	}
	name, now := after.Key.Name, parsedProfile{}
	if from, err := cluster.DecodeProfile(after.JSON()); err != nil {
		now.err = err
	} else if profile, mistakes := intent.ReadProfile(from); mistakes == nil {
		now.profile = profile
		// Its status waits for this check.
		p.queue.Add(theNames)
	} else {
		now.err = errors.Join(mistakes...)
	}
	was := p.known[name]
	p.known[name] = now
	p.watchAutoscalers()
	if p.settled {
		p.wake(p.concerned(was.profile, now.profile))
	}
	if now.profile == nil {
		p.queue.Add(name)
	}
	p.recount()
}

// concerned returns the Applications with objects of kinds that profiles may affect. The caller holds the
// lock.
func (r *registry) concerned(profiles ...*intent.Profile) (applications []types.UID) {
	for application, of := range r.wanted {
		if slices.ContainsFunc(of.kinds, func(kind schema.GroupKind) bool {
			return slices.ContainsFunc(profiles, func(one *intent.Profile) bool { return one != nil && one.Concerns(kind) })
		}) {
			applications = append(applications, application)
		}
	}
	return applications
}

// all returns the valid profiles, sorted by name. The caller holds the lock.
func (r *registry) all() (all []*intent.Profile) {
	for _, one := range r.known {
		if one.profile != nil {
			all = append(all, one.profile)
		}
	}
	slices.SortFunc(all, func(a, b *intent.Profile) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// For returns the profiles, and the autoscalers that target the objects of an Application. When they change later,
// the Application is queued. For returns reconcile.ErrNotSeen while they are not known yet. It retains objects, which
// the caller must not change.
//
// The interest is recorded before the result is computed, both with the lock. So a change is either in the result, or
// queues the Application.
func (p *Profiles) For(application types.UID, objects []manifest.ID) (of intent.Profiles, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wanted[application] = p.autoscalers.interestIn(objects)
	if !p.settled {
		return of, reconcile.ErrNotSeen
	}
	of.All = p.all()
	if p.autoscalers == nil {
		return of, nil
	}
	of.Autoscaled = map[manifest.ID]string{}
	for _, id := range objects {
		// Other objects do not depend on autoscalers, and need not wait for them.
		if !slices.ContainsFunc(of.All, func(one *intent.Profile) bool { return one.AsksForAutoscalersOf(id.GroupKind()) }) {
			continue
		}
		if !p.autoscalers.settled() {
			return of, reconcile.ErrNotSeen
		}
		// The first one by name counts.
		if names := slices.Sorted(maps.Keys(p.autoscalers.named[id])); len(names) > 0 {
			of.Autoscaled[id] = names[0]
		}
	}
	return of, nil
}

// interestIn returns the interest of an Application with these objects. It accepts nil. The caller holds the lock.
func (a *autoscalers) interestIn(objects []manifest.ID) (of interest) {
	for _, id := range objects {
		if kind := id.GroupKind(); !slices.Contains(of.kinds, kind) {
			of.kinds = append(of.kinds, kind)
		}
	}
	if a != nil {
		of.objects = objects
	}
	return of
}

// Forget drops the state of a deleted Application.
func (p *Profiles) Forget(application types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.wanted, application)
}

// refusals counts forbidden requests. An API server that has just started forbids permitted requests for a moment. A
// watch reports results on its goroutine.
type refusals struct {
	// n is the number of forbidden requests since the last success. Other errors do not count.
	n atomic.Int32
}

// mostRefusals is the number of forbidden requests after which the permission counts as missing.
const mostRefusals = 4

// last counts the result of a request. It returns true once, when the requests are certainly not permitted.
func (r *refusals) last(err error) bool {
	if err == nil {
		r.n.Store(0)
	}
	return apierrors.IsForbidden(err) && r.n.Add(1) == mostRefusals
}
