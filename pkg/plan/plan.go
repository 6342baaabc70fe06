package plan

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// Kinds is what is known of kinds, from a table or from an API server.
type Kinds interface {
	manifest.Scopes
	// Type returns the typed schema of a kind, or nil.
	Type(gvk schema.GroupVersionKind) *kinds.Node
}

// Input is everything a plan is decided from.
type Input struct {
	// Application as stored. Without a UID (a file that was never submitted)
	// live objects are taken to be its own and no marks are written.
	Application *v1alpha1.Application
	// Live has the objects that exist under the identities of the Application,
	// whoever's they are, and all that carry its marks.
	Live map[manifest.ID]map[string]any
	// Blocked has the resources that cannot be acted on now, and why: the kind
	// is unknown, cannot be watched, may not be read.
	Blocked map[manifest.ID]*Problem
	// UnresolvedSelections says, by its position, why it is not known what an entry of spec.select
	// means: what is on record of it stays as it is.
	UnresolvedSelections map[int]*Problem
	// Precedence has, of shared objects, the older Applications that name them and may not have
	// looked at them yet: what nobody holds is theirs to take first.
	Precedence map[manifest.ID][]string
	// Holders has the other Applications that objects name as holders of their fields, by
	// namespace/name; nil for one that does not exist. A shared object whose holders are not
	// all known has to wait. If the map is nil, no other Application can be asked.
	Holders map[string]*v1alpha1.Application
	// StaleKinds is why nothing was heard of some objects for too long: they may not be as
	// Live has them.
	StaleKinds []*Problem
	// FinishedJobs has objects that are gone, in their last state, as far as a watch has shown
	// it. Only Jobs are of interest.
	FinishedJobs map[manifest.ID]map[string]any
	// ObservedWrites has who wrote objects of Live, as far as Live does not say so itself.
	ObservedWrites map[manifest.ID]ObservedWrites
	// Users are who wrote the versions of objects that PendingUser wants to know of, as far as
	// audit events have told; nil if there are none.
	Users map[v1alpha1.ObjectVersion]User
	Kinds Kinds
	// Source has the manifests that spec.tosca or spec.csar was translated into.
	Source *Source
	// Profiles are what the cluster's owner wishes of default schemas.
	Profiles Profiles
	// Hooks are called beside the engine's own steps; nil for none.
	Hooks *hooks.Hooks
	// Callback is how workloads reach the controller, if that is known.
	Callback      hooks.Callback
	Memory        *State
	ContestPolicy ContestPolicy
	// Normalize returns an object in the normal form of the API server, or nil if the kind is
	// not built in. If it is nil, no kind is.
	Normalize func(gvk schema.GroupVersionKind, object map[string]any) map[string]any
	// Now is the time to decide at. It matters for contested fields only.
	Now time.Time
}

// Action says what is done to a resource.
type Action string

// The four actions.
const (
	Create    Action = "create"
	Update    Action = "update"
	Delete    Action = "delete"
	Unchanged Action = "unchanged"
)

// Change is what is to be done to one resource.
type Change struct {
	Action     Action
	ID         manifest.ID
	APIVersion string
	// Prune is true for a resource that is no longer desired.
	Prune bool
	// Shared is true for an object that is another owner's: it is patched or left alone.
	Shared bool
	// UID and ResourceVersion of the live object; empty for a create.
	UID, ResourceVersion string
	// Manifest is the body of a create. Fallback is the same without learned
	// values, for an API server that refuses one of them; nil if none is known.
	Manifest, Fallback map[string]any
	// Fields has one entry per drifted leaf, those that are held back included.
	Fields []delta.Difference
	// Guards are the tests that stand before the operations of Patch.
	Guards, Patch []delta.Op
	// Done is true for a Job that has finished and is gone: it is not created again.
	Done bool
	// ReadFirst asks to read the whole object, managedFields included, and to
	// decide again with it (see Plan.Replan) before anything is sent: who wrote what
	// matters here. It may turn an unchanged resource into an update.
	ReadFirst bool
	// Problem says why the resource cannot be brought to its desired state.
	Problem *Problem

	// One of the two is what was decided: Conclude is told with the Outcome.
	resource *resource
	pruned   *pruneCandidate
}

// GVK is the kind in the version that the manifest uses.
func (c Change) GVK() schema.GroupVersionKind {
	gv, err := schema.ParseGroupVersion(c.APIVersion)
	if err != nil {
		gv = schema.GroupVersion{Group: c.ID.Group}
	}
	return gv.WithKind(c.ID.Kind)
}

// Unrestored are the fields that are let go and not restored.
func (c Change) Unrestored() []Unrestored {
	switch {
	case c.resource != nil:
		return c.resource.letting.kept
	case c.pruned != nil:
		return c.pruned.letting.kept
	}
	return nil
}

// Watched is the drift of the fields that are watched: it is not corrected.
func (c Change) Watched() []delta.Difference {
	if c.resource == nil {
		return nil
	}
	return c.resource.compared.Watched
}

// Plan is what to do, and all that Conclude needs to say afterwards how it
// went. It is never changed: Replan and Conclude return new values.
type Plan struct {
	// Changes has every resource of the Application, in the order of execution:
	// creates and updates by stage, then deletes in reverse.
	Changes []Change
	// Warnings are about the input; none of them stops anything.
	Warnings []string
	// Invalid says why the input cannot be used at all; Changes is then empty
	// and nothing may be deleted.
	Invalid *Problem

	in        Input // Rules and Memory are set
	hooks     *hooks.Hooks
	given     []string // warnings about the input alone
	resources []*resource
	pruned    []*pruneCandidate
	gone      []*pruneCandidate
	statuses  map[manifest.ID]*v1alpha1.ResourceStatus
	unknown   []manifest.ID // Secrets whose values only the source has
	retiring  bool          // the Application is being deleted
	// unrestored is what of shared objects that are forgotten stays as it is.
	unrestored []Unrestored
}

// Suspended reports whether the Application asks that nothing be written.
func (p *Plan) Suspended() bool { return p.in.Application.Spec.Suspend }

// HasWork reports whether any change writes.
func (p *Plan) HasWork() bool {
	for _, c := range p.Changes {
		if c.Writes() {
			return true
		}
	}
	return false
}

// Writes reports whether executing the change sends a request.
func (c Change) Writes() bool { return c.Action != Unchanged }

// resource is one desired resource, decided with one live object. It is not changed any
// more once it is part of a plan: see fresh and own.
type resource struct {
	object   manifest.Object  // the manifest, mangled
	written  map[string]any   // the manifest before hooks; nil if a hook has added the object
	rendered *observer.Schema // as its spec has it
	entry    *observer.Schema // with what is known of lists that the API server lengthens
	kind     *kinds.Node
	desired  map[string]any
	live     map[string]any // nil if there is none of ours
	previous *record
	accepted delta.Accepted
	compared delta.Comparison
	problem  *Problem
	// seen is what the hooks made of the live object.
	seen   *hooks.ObjectEvent
	policy policy
	// unanswered is true if no controller saw the answer to the write that made the object.
	unanswered bool
	done       bool // a Job that has finished, is gone and is not to run again
	// drift is all that differs. Of an object whose fields get back what they had: leaves are the paths that we hold, baseline
	// is what they were before us, and letting what becomes of those that we hold no longer.
	// judged is true once the live object has been compared.
	judged        bool
	drift         []delta.Difference
	leaves        []string
	claimed       []claim  // and what of it other Applications hold
	pendingClaims []string // that is, the leaves that we wait for
	awaitedOwner  string   // the Application that owns it, if it has not said yet what it holds
	deferredTo    string   // an older Application that may want what nobody holds, and has not looked yet
	baseline      []v1alpha1.BaselineField
	unrecorded    []string                 // leaves of which there was no room for a baseline
	empty         []string                 // maps and lists of which nothing is held but that they are there
	releasesNext  []v1alpha1.BaselineField // and those that are let go with the next patch
	letting       fieldRelease
	// Of an Application that observes: observed is all that differs, but for our marks,
	// doubtful is what may have only another spelling.
	observed, doubtful []delta.Difference
	// rejected is the refusal of the change that this resource waits with: what is decided here
	// is the desired state on record. It is nil if there is none.
	rejected *RejectedChange
	aside    *resource // the same resource as it was before that
	warnings []string
	change   Change
}

// fresh is the resource before anything was decided.
func (res *resource) fresh() *resource {
	if res.aside != nil {
		res = res.aside
	}
	return &resource{
		object: res.object, policy: res.policy, written: res.written, rendered: res.rendered, kind: res.kind, previous: res.previous, accepted: res.accepted,
	}
}

// pruneCandidate is a resource on record that is no longer desired.
type pruneCandidate struct {
	id     manifest.ID
	status v1alpha1.ResourceStatus
	// previous is what is on record; nil if nothing is.
	previous *record
	live     map[string]any
	change   Change
	policy   policy
	letting  fieldRelease // what becomes of its fields
}

// record is what the status remembers of one resource.
type record struct {
	id      manifest.ID
	desired map[string]any
	entry   *observer.Schema
	status  *v1alpha1.ResourceStatus // nil if it was never created
	// created tells that this is no record of the status, but what was written down
	// before the object was created.
	created bool
}

// stored is the desired state as the status shows it.
func (res *resource) stored() map[string]any { return manifest.RedactNested(res.desired) }

// fieldRelease is what becomes of fields that are held no longer.
type fieldRelease struct {
	// restored are those that are restored.
	restored []delta.Difference
	// kept are the others.
	kept []Unrestored
	// metadata are the changes of our marks that say that nothing is held any more.
	metadata []delta.Difference
	// baseline is what is on record of all of them.
	baseline []v1alpha1.BaselineField
	// unrecorded are those of which nothing is on record, for want of room.
	unrecorded []string
	// needsManagedFields is true if it matters who wrote what, and the object does not say it.
	needsManagedFields bool
}

// warn adds a warning while the plan is made.
func (p *Plan) warn(text string) {
	p.given = append(slices.Clone(p.given), text)
	p.Warnings = append(p.Warnings, text)
}

// claim is a leaf of a shared object that another Application holds, as the object says.
type claim struct {
	path   string // empty for the whole object
	holder string // namespace/name
}

// overlaps reports whether a claim is about something at, above or below a path.
func (c claim) overlaps(path string) bool { return c.path == "" || pathsOverlap(c.path, path) }

// pathsOverlap reports whether two leaves are the same, or one lies above the other.
func pathsOverlap(a, b string) bool { return observer.IsUnder(a, b) || observer.IsUnder(b, a) }
