package reconcile

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/writer"
)

// Request is the input of Decide and Gather. The functions in it may be nil: then the command line, which has no
// controller, does without their results.
type Request struct {
	Application *v1alpha1.Application
	// Source is the translation of spec.tosca or spec.csar; nil for spec.manifest.
	Source *intent.Source
	// Memory is the state of the Application from previous reconciliations.
	Memory *State
	// Hooks are the listeners that change manifests.
	Hooks *hooks.Hooks
	// Callback is the address of the callback server for workloads; empty if there is none.
	Callback hooks.Callback
	// Rules define when a field is contested.
	Rules plan.ContestPolicy
	// Now is the time of the decision. All parts of a plan use this time.
	Now time.Time
	// Kinds are resolved in addition to the kinds that the Application names.
	Kinds []schema.GroupVersionKind
	// Users returns the users who wrote these versions, if they are known. If it is nil, no user is known.
	Users func([]v1alpha1.ObjectVersion) map[v1alpha1.ObjectVersion]plan.User
	// Older is Reconciler.Older for this Application; nil: there are none.
	Older func(id manifest.ID, version string) []string
	// Holder returns another Application by its namespace/name, from the cache or read from the API server;
	// nil if there is none. If it is nil, other Applications cannot be read.
	Holder func(ctx context.Context, name string, read bool) (*v1alpha1.Application, error)
	// ReadDesired reads desired objects that are in no watch. Without it, a create finds out whether they
	// exist.
	ReadDesired bool
	// Shared returns a shared object from its watch (see Target); nil if ReadDesired reads it.
	Shared func(at cluster.Location) (map[string]any, error)
	// MayList is Target.MayList; nil if all reads use the rights of the caller.
	MayList func(ctx context.Context, mapping cluster.Mapping, r cluster.ObjectRange) error
}

// Snapshot is the gathered input of a decision. During act, only Input.Live is read concurrently; nothing in the
// Snapshot is changed, except through memory.
type Snapshot struct {
	// Input is the input of package plan. The gatherer fills it; afterwards, only leaveToNamespace and withoutUnreadable
	// change it.
	Input plan.Input
	// memory is the State of the Application. During act, outcomeRecorder.mu guards it.
	memory *State
	// kinds contains all kinds that were resolved.
	kinds *knownKinds
	// shared lists the desired objects that are shared.
	shared map[manifest.ID]bool
	// reads records the writes of other clients that this reconciliation takes into account: see Target.Processed.
	reads []read
	// proven lists the objects that the ServiceAccount has just read.
	proven map[manifest.ID]bool
	// decided is the input of the last decision.
	decided plan.Input
}

// read is an object whose observed writes are processed, and the writes that were known when it was gathered. Later
// writes remain unprocessed.
type read struct {
	at      cluster.Location
	written writer.Activity
}

// markProcessed marks the writes to all objects as processed. The State has recorded by then those that a later
// reconciliation needs. It is not called if a reconciliation fails earlier, so that the next one can still name the
// writers.
func (s *Snapshot) markProcessed(target Target) {
	for _, l := range s.reads {
		target.Processed(l.at, l.written)
	}
}

// Decide gathers and decides. It repeats both if hooks have added objects of kinds that are not resolved yet. Each
// repetition adds a kind to the State, so it ends. The error is ErrNotSeen while the first list of a watch is not
// complete. Decide writes nothing to a cluster, but it changes the State in the Request.
func Decide(ctx context.Context, v Reader, r Request) (*Snapshot, *plan.Plan, error) {
	for {
		s, err := Gather(ctx, v, r)
		if err != nil {
			return nil, nil, err
		}
		p := s.decide(r.Users)
		if !s.addHookKinds(p) {
			return s, p, nil
		}
	}
}

// decide returns the plan for the snapshot. users is Request.Users. A deletion is decided from the stored status: a
// status can be postponed only if everything that a deletion needs is unchanged (see delayOf).
func (s *Snapshot) decide(users func([]v1alpha1.ObjectVersion) map[v1alpha1.ObjectVersion]plan.User) *plan.Plan {
	if s.Input.Application.DeletionTimestamp != nil {
		return plan.DecideDeletion(s.Input)
	}
	input := s.Input
	// Values that were learned since would otherwise be decided again from the stored status.
	input.Application = s.memory.withPendingStatus(input.Application)
	if users != nil {
		input.Users = users(plan.UnattributedWrites(input))
	}
	s.decided = input
	return plan.Decide(input)
}

// addHookKinds adds the kinds of a plan's changes that are not resolved yet to the kinds to resolve. It
// reports whether it added any.
func (s *Snapshot) addHookKinds(p *plan.Plan) bool {
	learned := false
	for _, change := range p.Changes {
		gvk := change.GVK()
		if s.kinds.first[gvk.GroupKind()] == nil && !slices.Contains(s.memory.kinds, gvk) {
			s.memory.kinds = append(s.memory.kinds, gvk)
			learned = true
		}
	}
	return learned
}

// gatherer collects the input of a decision from a cluster.
type gatherer struct {
	*Snapshot

	request Request
	// view is the cluster. All reads of the gatherer use it, or functions of the request.
	view Reader
	// desired lists the desired objects, and the version of each. It is empty if the Application is being
	// deleted.
	desired map[manifest.ID]schema.GroupVersionKind
	// unmarked lists the desired objects without tracking metadata of an observe-only Application.
	unmarked map[manifest.ID]bool
	// selections lists the spec.select items that can be parsed.
	selections []intent.Selection
}

// Gather resolves the kinds of an Application, sets the watches, and collects the live objects. It sends no request
// for kinds that are known and watched. It returns ErrNotSeen while a first list is not complete, and another error
// if an object that may exist cannot be read.
func Gather(ctx context.Context, v Reader, r Request) (*Snapshot, error) {
	app := r.Application
	manifests := manifestsOf(app, r.Source)
	s := &Snapshot{memory: r.Memory}
	g := &gatherer{Snapshot: s, request: r, view: v}
	s.kinds = lookUp(ctx, v, app, manifests, slices.Concat(r.Memory.kinds, r.Kinds))
	g.selections, _ = intent.Selections(app) // the plan reports their errors
	if app.DeletionTimestamp == nil {
		g.desired = desiredIDs(manifests, app.Namespace, manifest.WithDefined(s.kinds, manifests))
		s.shared = intent.Shared((&plan.Input{Application: app, Source: r.Source, Kinds: s.kinds}).Intent())
	}
	if observes(app) {
		g.unmarked = r.Memory.unmarked
	}
	// Need starts watches and ends those that are no longer needed, before anything reads the stores.
	v.Need(s.kinds.resources(), namespacesOf(app, manifests), g.named(), s.kinds.ranges(g.selections))
	s.Input = plan.Input{
		Application: app, Kinds: s.kinds, Memory: &r.Memory.plan, ContestPolicy: r.Rules, Now: r.Now,
		Live: map[manifest.ID]map[string]any{}, Observations: plan.Observations{ObservedWrites: map[manifest.ID]writer.Activity{}, FinishedJobs: map[manifest.ID]map[string]any{}}, Blocked: r.Memory.blocked(r.Now),
		Source: r.Source, Hooks: r.Hooks, Callback: r.Callback, Normalize: cluster.Normalize,
	}
	// Later steps depend on the objects with the tracking label.
	waiting := g.addMarked(ctx)
	if waiting == nil && g.findUnmarked() {
		v.Need(s.kinds.resources(), namespacesOf(app, manifests), g.named(), s.kinds.ranges(g.selections))
	}
	// All of them are called even if one has to wait, so that all watches start together.
	waiting = g.addNamed(ctx, cmp.Or(waiting, g.addSelectable(ctx)))
	if waiting == nil {
		g.addSelected()
	}
	if err := cmp.Or(waiting, g.addProfiles(ctx)); err != nil {
		return nil, err
	}
	g.addWritten()
	g.addOlder()
	g.addUnwatchedCache()
	g.unblockDeleted()
	g.addKindProblems()
	// The order below matters. Cached objects do not replace those of a watch, and kinds with problems are not read.
	// Holders are read for all live objects that were found.
	if r.ReadDesired {
		g.addDesired(ctx)
	}
	err := g.addUnwatched(ctx)
	g.addHolders(ctx)
	return s, err
}

// manifestsOf returns the manifests of an Application that can be decoded, without unused Helm hooks. The plan
// reports those that cannot be decoded. The caller must not change the manifests.
func manifestsOf(app *v1alpha1.Application, source *intent.Source) []map[string]any {
	if source != nil {
		return slices.DeleteFunc(slices.Clone(source.Objects), manifest.IsUnusedHook)
	}
	var manifests []map[string]any
	for _, item := range app.Spec.Manifest {
		if content, err := manifest.DecodeJSON(item.Raw); err == nil && !manifest.IsUnusedHook(content) {
			manifests = append(manifests, content)
		}
	}
	return manifests
}

// desiredIDs returns the objects that the manifests identify, with the version of each.
func desiredIDs(manifests []map[string]any, namespace string, scopes manifest.Scopes) map[manifest.ID]schema.GroupVersionKind {
	ids := map[manifest.ID]schema.GroupVersionKind{}
	for _, content := range manifests {
		if id, ok := manifest.Identify(content, namespace, scopes); ok {
			ids[id] = schema.FromAPIVersionAndKind(manifest.NestedString(content, "apiVersion"), id.Kind)
		}
	}
	return ids
}

// addMarked adds the objects that have the Application's tracking label. It requests all kinds before it
// returns ErrNotSeen, so that all watches start together.
func (g *gatherer) addMarked(ctx context.Context) error {
	var waiting error
	for _, kind := range g.kinds.all() {
		if kind.problem != nil {
			continue // it is not watched
		}
		marked, err := g.view.Marked(ctx, kind.GroupKind(), kind.Mapping)
		switch {
		case errors.Is(err, ErrNotSeen):
			waiting = err
		case err != nil:
			kind.problem = watchProblem(g.Input.Application, kind.GroupKind(), kind.Resource, err)
		default:
			if err := g.view.Silent(kind.Mapping); err != nil {
				g.Input.StaleKinds = append(g.Input.StaleKinds, watchProblem(g.Input.Application, kind.GroupKind(), kind.Resource, err))
			}
		}
		maps.Copy(g.Input.FinishedJobs, g.view.Ended(kind.GroupKind(), kind.Mapping))
		for id, object := range marked {
			// Two served versions of one kind list the same object. The version of the manifest is used.
			if version := g.desired[id]; g.Input.Live[id] == nil || version == kind.gvk {
				g.Input.Live[id] = object
			}
		}
	}
	return waiting
}

// addWritten adds the observed writes to the objects that are watched. If the watch has delivered a newer version than
// the one in Live since, it replaces the one in Live, because the writers of an older version are not known. An object
// with managedFields was read, and can be newer than the watch.
func (g *gatherer) addWritten() {
	for _, kind := range g.kinds.all() {
		if kind.problem != nil {
			continue
		}
		for id, written := range g.view.Written(kind.GroupKind(), kind.Mapping) {
			live := g.Input.Live[id]
			isOutdated := live != nil && written.Object != nil && versionOf(live) != written.ResourceVersion
			if isOutdated && writer.ForeignTo(g.Input.Application, live) == nil {
				live = written.Object.Content()
				g.Input.Live[id] = live
			}
			// The store records a deletion without managedFields.
			isGone := live == nil && written.ManagedFields == nil
			if versionOf(live) != written.ResourceVersion && !isGone {
				continue
			}
			g.Input.ObservedWrites[id] = written.Activity
			g.reads = append(g.reads, read{cluster.Location{ID: id, Mapping: kind.Mapping}, written.Activity})
		}
	}
}

// addProfiles adds the HoldProfiles that apply to the Application. It skips Applications that are being
// deleted.
func (g *gatherer) addProfiles(ctx context.Context) (err error) {
	if g.Input.Application.DeletionTimestamp != nil {
		return nil
	}
	g.Input.Profiles, err = g.view.Profiles(ctx, manifest.SortedIDs(g.desired))
	return err
}

// addKindProblems blocks the objects of kinds with problems. A desired object is blocked also if only its version is
// not served. A recorded object can be processed in another version.
func (g *gatherer) addKindProblems() {
	for id, gvk := range g.desired {
		if kind := g.kinds.find(gvk); kind != nil && kind.cause() != nil {
			g.Input.Blocked[id] = kind.cause()
		}
	}
	for _, status := range g.Input.Application.Status.Resources {
		id := manifest.IDFromReference(status.ResourceReference)
		if kind := g.kinds.first[id.GroupKind()]; kind != nil && kind.problem != nil {
			g.Input.Blocked[id] = kind.problem
		}
	}
}

// ReadsAtOnce is the maximum number of objects that are read in parallel.
const ReadsAtOnce = 16

// addDesired reads the desired objects that are in no watch, up to ReadsAtOnce in parallel. Errors are recorded as
// problems of the objects. mu guards the maps of g.Input until all reads have ended.
func (g *gatherer) addDesired(ctx context.Context) {
	var mu sync.Mutex
	var reads errgroup.Group
	reads.SetLimit(ReadsAtOnce)
	for id, gvk := range g.desired {
		kind := g.kinds.find(gvk)
		if g.Input.Live[id] != nil || g.Input.Blocked[id] != nil || kind == nil || kind.cause() != nil {
			continue
		}
		reads.Go(func() error {
			at := cluster.Location{ID: id, Mapping: kind.Mapping}
			object, err := g.view.Get(ctx, at)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				g.Input.Live[id] = object
			case !apierrors.IsNotFound(err):
				g.Input.Blocked[id] = g.view.Problem(err, at, "get")
			}
			return nil
		})
	}
	_ = reads.Wait() // the errors are in g.Input.Blocked
}

// request returns the Request of one reconciliation. ReadDesired remains false: the controller creates first, and
// reads only what already exists (docs/design.md, "Requests").
func (r *Reconciler) request(app *v1alpha1.Application, m *State, target Target, source *intent.Source) Request {
	request := Request{Application: app, Source: source, Memory: m, Hooks: r.Hooks, Rules: r.Rules, Now: r.Now(), Shared: target.Shared, MayList: target.MayList}
	if r.Callback != nil {
		request.Callback = r.Callback()
	}
	if r.Older != nil {
		request.Older = func(id manifest.ID, version string) []string { return r.Older(app, id, version) }
	}
	request.Holder = r.holder
	if r.Users != nil {
		request.Users = func(wanted []v1alpha1.ObjectVersion) map[v1alpha1.ObjectVersion]plan.User {
			return r.Users(app, wanted)
		}
	}
	return request
}

// holder returns another Application by its namespace/name; nil if there is none. Its slices are not joined, so its
// inventory can be incomplete. Package plan treats an Application with record slices as one whose fields are not
// known.
func (r *Reconciler) holder(ctx context.Context, name string, read bool) (*v1alpha1.Application, error) {
	key := &v1alpha1.Application{}
	key.Namespace, key.Name, _ = strings.Cut(name, "/")
	if !read {
		if latest := r.Applications.Latest(key); latest.UID != "" {
			return latest, nil
		}
		return nil, nil
	}
	holder, err := r.Applications.Read(ctx, key)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return holder, err
}
