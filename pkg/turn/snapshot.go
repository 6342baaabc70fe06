package turn

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// Request is what a turn is about.
type Request struct {
	Application *v1alpha1.Application
	// Source is what spec.tosca or spec.csar was translated into; nil for spec.manifest.
	Source *plan.Source
	// Memory is what is known of the turns before.
	Memory   *State
	Hooks    *hooks.Hooks
	Callback hooks.Callback
	Rules    plan.ContestPolicy
	Now      time.Time
	// Kinds are looked at beside those that the Application names.
	Kinds []schema.GroupVersionKind
	// Users are who wrote these versions, as far as that is known now; nil: nobody says so.
	Users func([]v1alpha1.ObjectVersion) map[v1alpha1.ObjectVersion]plan.User
	// Older is that of Turns; nil: there are none.
	Older func(id manifest.ID, version string) []string
	// Holder returns another Application by its namespace/name, from the cache or read from the
	// API server; nil if there is none. If it is nil, no other Application can be asked.
	Holder func(ctx context.Context, name string, read bool) (*v1alpha1.Application, error)
	// ReadDesired reads whatever is desired and in no watch. Without it, a create finds
	// out.
	ReadDesired bool
	// Shared is a shared object as its watch shows it (see Target); nil where ReadDesired
	// reads it.
	Shared func(at cluster.Location) (map[string]any, error)
	// MayList is that of a Target; nil where what is read is read with the rights of who asks.
	MayList func(ctx context.Context, mapping cluster.Mapping, r cluster.ObjectRange) error
}

// Snapshot is all that is known before anything is decided.
type Snapshot struct {
	Input  plan.Input
	view   Reader
	memory *State
	kinds  *knownKinds
	// manifests are those of the Application, as far as they can be read.
	manifests []map[string]any
	// desired are their identities, and the version of each, unless the Application is
	// being deleted.
	desired map[manifest.ID]schema.GroupVersionKind
	// shared are those of them that are another owner's, unmarked those that do not carry our
	// marks, of an Application that observes.
	shared, unmarked map[manifest.ID]bool
	// selections are the entries of spec.select that can be read.
	selections []plan.Selection
	// reads are what is looked at, see Target.Processed.
	reads []read
	// users is Request.Users.
	users func([]v1alpha1.ObjectVersion) map[v1alpha1.ObjectVersion]plan.User
}

// read is an object that is looked at, and who wrote it, as far as that is known.
type read struct {
	at      cluster.Location
	written plan.ObservedWrites
}

// markProcessed tells what was looked at: what is to be known of it for longer is remembered.
func (s *Snapshot) markProcessed(target Target) {
	for _, l := range s.reads {
		target.Processed(l.at, l.written)
	}
}

// Decide gathers and decides, and once more if hooks have added objects of kinds that
// nobody has looked for yet. The error is ErrNotSeen as long as a watch has no first
// list.
func Decide(ctx context.Context, v Reader, r Request) (*Snapshot, *plan.Plan, error) {
	for {
		s, err := Gather(ctx, v, r)
		if err != nil {
			return nil, nil, err
		}
		p := s.decide()
		if !s.addHookKinds(p) {
			return s, p, nil
		}
	}
}

func (s *Snapshot) decide() *plan.Plan {
	if s.Input.Application.DeletionTimestamp != nil {
		return plan.DecideDeletion(s.Input)
	}
	input := s.inputWithPendingStatus()
	if s.users != nil {
		input.Users = s.users(plan.UnattributedWrites(input))
	}
	return plan.Decide(input)
}

// inputWithPendingStatus is the input with the status as it will be when the postponed report is
// written.
func (s *Snapshot) inputWithPendingStatus() plan.Input {
	status := s.memory.PendingStatus()
	if status == nil {
		return s.Input
	}
	input, app := s.Input, *s.Input.Application
	app.Status = *status
	input.Application = &app
	return input
}

// addHookKinds has the kinds of a plan's changes that were not looked up be looked up
// from now on, and reports whether there are any.
func (s *Snapshot) addHookKinds(p *plan.Plan) bool {
	learned := false
	for _, change := range p.Changes {
		gvk := change.GVK()
		if s.kinds.first[gvk.GroupKind()] == nil && !s.memory.knows(gvk) {
			s.memory.kinds = append(s.memory.kinds, gvk)
			learned = true
		}
	}
	return learned
}

// Gather finds the kinds of an Application, has them watched, and collects the live
// objects. It sends no request for kinds that are known and watched.
func Gather(ctx context.Context, v Reader, r Request) (*Snapshot, error) {
	app := r.Application
	s := &Snapshot{view: v, memory: r.Memory, manifests: manifestsOf(app, r.Source), users: r.Users}
	s.kinds = lookUp(ctx, v, app, s.manifests, slices.Concat(r.Memory.kinds, r.Kinds))
	s.selections, _ = plan.Selections(app) // what is wrong with them is the plan's
	if app.DeletionTimestamp == nil {
		s.desired = desiredIDs(s.manifests, app.Namespace, s.kinds)
		s.shared = plan.Shared(plan.Input{Application: app, Source: r.Source, Kinds: s.kinds})
	}
	if observes(app) {
		s.unmarked = r.Memory.unmarked
	}
	v.Need(s.kinds.resources(), namespacesOf(app, s.manifests), s.named(), s.ranges())
	s.Input = plan.Input{
		Application: app, Kinds: s.kinds, Memory: &r.Memory.plan, ContestPolicy: r.Rules, Now: r.Now,
		Live: map[manifest.ID]map[string]any{}, ObservedWrites: map[manifest.ID]plan.ObservedWrites{}, FinishedJobs: map[manifest.ID]map[string]any{}, Blocked: r.Memory.blocked(r.Now),
		Source: r.Source, Hooks: r.Hooks, Callback: r.Callback, Normalize: cluster.Normalize,
	}
	waiting := s.addMarked(ctx)
	if waiting == nil && s.findUnmarked(r) {
		v.Need(s.kinds.resources(), namespacesOf(app, s.manifests), s.named(), s.ranges())
	}
	if err := cmp.Or(waiting, s.addNamed(ctx, r), s.addSelected(ctx, r), s.addProfiles(ctx)); err != nil {
		return nil, err
	}
	s.addWritten()
	s.addOlder(r)
	s.addHolders(ctx, r)
	s.addUnwatchedCache()
	s.addKindProblems()
	if r.ReadDesired {
		s.addDesired(ctx)
	}
	err := s.addUnwatched(ctx)
	return s, err
}

// manifestsOf are the manifests of an Application, as far as they can be read.
func manifestsOf(app *v1alpha1.Application, source *plan.Source) []map[string]any {
	if source != nil {
		return source.Objects
	}
	var manifests []map[string]any
	for _, item := range app.Spec.Manifest {
		if content, err := manifest.DecodeJSON(item.Raw); err == nil {
			manifests = append(manifests, content)
		}
	}
	return manifests
}

// desiredIDs are the identities in the manifests, as far as they can be read, with the
// version of each.
func desiredIDs(manifests []map[string]any, namespace string, scopes manifest.Scopes) map[manifest.ID]schema.GroupVersionKind {
	ids := map[manifest.ID]schema.GroupVersionKind{}
	for _, content := range manifests {
		if id, ok := plan.Identify(content, namespace, scopes); ok {
			apiVersion, _ := content["apiVersion"].(string)
			ids[id] = schema.FromAPIVersionAndKind(apiVersion, id.Kind)
		}
	}
	return ids
}

// addMarked adds the objects that carry the Application's label. ErrNotSeen is returned
// after all have been asked for, so that all watches start together.
func (s *Snapshot) addMarked(ctx context.Context) error {
	var waiting error
	for _, kind := range s.kinds.all() {
		if kind.problem != nil {
			continue // it is not watched
		}
		marked, err := s.view.Marked(ctx, kind.GroupKind(), kind.Mapping)
		switch {
		case errors.Is(err, ErrNotSeen):
			waiting = err
		case err != nil:
			kind.problem = watchProblem(kind.GroupKind(), kind.Resource, err)
		default:
			if err := s.view.Silent(kind.Mapping); err != nil {
				s.Input.StaleKinds = append(s.Input.StaleKinds, watchProblem(kind.GroupKind(), kind.Resource, err))
			}
		}
		maps.Copy(s.Input.FinishedJobs, s.view.Ended(kind.GroupKind(), kind.Mapping))
		for id, object := range marked {
			if version := s.desired[id]; s.Input.Live[id] == nil || version == kind.gvk {
				s.Input.Live[id] = object
			}
		}
	}
	return waiting
}

// addWritten adds who wrote the objects that are watched.
func (s *Snapshot) addWritten() {
	for _, kind := range s.kinds.all() {
		if kind.problem != nil {
			continue
		}
		for id, written := range s.view.Written(kind.GroupKind(), kind.Mapping, s.Input.Live) {
			s.Input.ObservedWrites[id] = written
			s.reads = append(s.reads, read{cluster.Location{ID: id, Mapping: kind.Mapping}, written})
		}
	}
}

// addProfiles adds the wishes of the cluster's owner. Nobody wishes anything of what goes.
func (s *Snapshot) addProfiles(ctx context.Context) (err error) {
	if s.Input.Application.DeletionTimestamp != nil {
		return nil
	}
	s.Input.Profiles, err = s.view.Profiles(ctx, sortedIDs(s.desired))
	return err
}

// addUnwatchedCache adds the objects that were read, and are in no watch.
func (s *Snapshot) addUnwatchedCache() {
	for id, f := range s.memory.unwatched {
		if _, watched := s.Input.Live[id]; watched || !s.Input.Now.Before(f.until) {
			delete(s.memory.unwatched, id)
			continue
		}
		s.Input.Live[id] = f.object
	}
}

// addKindProblems adds the problems of kinds to all their resources.
func (s *Snapshot) addKindProblems() {
	for id, gvk := range s.desired {
		if kind := s.kinds.of(gvk); kind != nil && kind.cause() != nil {
			s.Input.Blocked[id] = kind.cause()
		}
	}
	for _, status := range s.Input.Application.Status.Resources {
		id := plan.IDOf(status.ResourceReference)
		if kind := s.kinds.first[id.GroupKind()]; kind != nil && kind.problem != nil {
			s.Input.Blocked[id] = kind.problem
		}
	}
}

// ReadsAtOnce is how many objects are read at the same time.
const ReadsAtOnce = 16

// addDesired reads what is desired and was not seen.
func (s *Snapshot) addDesired(ctx context.Context) {
	var mu sync.Mutex
	var reads errgroup.Group
	reads.SetLimit(ReadsAtOnce)
	for id, gvk := range s.desired {
		kind := s.kinds.of(gvk)
		if s.Input.Live[id] != nil || s.Input.Blocked[id] != nil || kind == nil || kind.cause() != nil {
			continue
		}
		reads.Go(func() error {
			at := cluster.Location{ID: id, Mapping: kind.Mapping}
			object, err := s.view.Get(ctx, at)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				s.Input.Live[id] = object
			case !apierrors.IsNotFound(err):
				s.Input.Blocked[id] = s.view.Problem(err, at, "get")
			}
			return nil
		})
	}
	_ = reads.Wait() // the problems have their errors
}

// addUnwatched reads what may exist, is no longer desired and is in no store. An object
// that has lost our label is not gone until a read says so; one whose create had no
// answer may be on its way to the watch.
func (s *Snapshot) addUnwatched(ctx context.Context) error {
	recorded := map[manifest.ID]bool{}
	for _, status := range s.Input.Application.Status.Resources {
		id := plan.IDOf(status.ResourceReference)
		recorded[id] = true
		if plan.MayExist(status) && !s.memory.gone[status.UID] && !s.memory.unanswered[id] {
			if problem := s.addLeft(ctx, id); problem != nil {
				s.Input.Blocked[id] = problem
			}
		}
	}
	for _, id := range sortedIDs(s.memory.unanswered) {
		problem := s.addLeft(ctx, id)
		switch {
		case problem == nil:
		case recorded[id]:
			s.Input.Blocked[id] = problem
		default:
			return problem
		}
	}
	return nil
}

// addLeft reads an object unless it is desired, or there is nothing to find out. It
// returns why that is not possible now.
func (s *Snapshot) addLeft(ctx context.Context, id manifest.ID) *plan.Problem {
	if s.Input.Live[id] != nil {
		delete(s.memory.unanswered, id)
		return nil
	}
	kind := s.kinds.first[id.GroupKind()]
	_, desired := s.desired[id]
	if readable := kind != nil && kind.problem == nil; !readable || desired {
		return nil
	}
	if blocked := s.Input.Blocked[id]; blocked != nil {
		return blocked
	}
	at := cluster.Location{ID: id, Mapping: kind.Mapping}
	object, err := s.view.Get(ctx, at)
	switch {
	case err == nil:
		s.Input.Live[id] = object
	case apierrors.IsNotFound(err):
		delete(s.memory.unanswered, id)
	default:
		return s.memory.failed(id, s.view.Problem(err, at, "get"), s.Input.Now)
	}
	return nil
}

// unannounced is why objects of a kind that was announced, and of which nothing is on
// record, cannot be looked for now; nil if there is no such kind. A process before
// this one may have created them.
func (s *Snapshot) unannounced() *plan.Problem {
	for _, gvk := range announced(s.Input.Application) {
		kind := s.kinds.first[gvk.GroupKind()]
		if kind != nil && kind.problem != nil && kind.problem.Disposition() == v1alpha1.DispositionRetry {
			return kind.problem
		}
	}
	return nil
}
