package plan

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/record"
	"holdfast.dev/holdfast/pkg/writer"
)

// Input is the complete input of the decisions of a plan.
type Input struct {
	// Application is the stored Application. Without a UID (a file that was never submitted) all live
	// objects belong to it, and no tracking metadata is written.
	Application *v1alpha1.Application
	// Live contains the existing objects with the identities of the Application's resources, including those of
	// other owners, and all objects with its tracking metadata.
	Live map[manifest.ID]map[string]any
	// Blocked contains the resources that cannot be processed now, with the Problem: the kind is unknown, cannot
	// be watched, or may not be read.
	Blocked map[manifest.ID]*Problem
	// UnresolvedSelections contains the Problem of each spec.select item whose matches are not known, by its
	// position. Resources in the inventory that the item may match are kept.
	UnresolvedSelections map[int]*Problem
	Others
	Observations
	// Kinds contains the types and scopes of kinds: those of the API server, or the built-in ones.
	Kinds intent.Kinds
	// Source contains the manifests that spec.tosca or spec.csar was translated into.
	Source *intent.Source
	// Profiles contains the HoldProfiles, with which the cluster's owner changes default schemas.
	Profiles intent.Profiles
	// Hooks are called in addition to the engine's own steps; nil for none.
	Hooks *hooks.Hooks
	// Callback describes how workloads reach the controller, if that is known.
	Callback hooks.Callback
	// Memory is the State after the last plan; nil for none. newPlan copies it, but not its maps.
	Memory *State
	// ContestPolicy decides when fields are contested. The zero value means DefaultContestPolicy.
	ContestPolicy ContestPolicy
	// Normalize returns an object in the normal form of the API server, or nil if the kind is
	// not built in. If it is nil, no kind is.
	Normalize func(gvk schema.GroupVersionKind, object map[string]any) map[string]any
	// Now is the time of the decision.
	Now time.Time
}

// Intent returns the part of the input that the manifests and schemas depend on.
func (in *Input) Intent() intent.Input {
	return intent.Input{Application: in.Application, Live: in.Live, Kinds: in.Kinds, Source: in.Source, Profiles: in.Profiles, Hooks: in.Hooks}
}

// Observations has what watches and audit events have shown, in addition to the live objects.
type Observations struct {
	// StaleKinds contains the Problems of watches that have delivered nothing for too long, so that Live may be
	// stale for their objects.
	StaleKinds []*Problem
	// FinishedJobs contains the last states of deleted objects that a watch has delivered. Only Jobs are used.
	FinishedJobs map[manifest.ID]map[string]any
	// ObservedWrites contains the writes to objects of Live that a watch has delivered. They show the writers if
	// the objects in Live have no managedFields.
	ObservedWrites map[manifest.ID]writer.Activity
	// RestlessSelections reports the objects that repeatedly start and stop matching spec.select, in a fixed order.
	// Objects in Blocked for this reason are omitted.
	RestlessSelections []*Problem
	// Users contains the users who wrote the object versions in PendingUser of history entries, if audit events
	// have identified them; nil if there are none.
	Users map[v1alpha1.ObjectVersion]User
}

// Others contains the other Applications that hold fields of shared objects, or may do so.
type Others struct {
	// Precedence has, by shared object, the older Applications that name the object and may not have
	// processed it yet. They have the first claim on fields that no Application holds.
	Precedence map[manifest.ID][]string
	// Holders contains the other Applications that objects name as holders of their fields, by namespace/name;
	// nil for an Application that does not exist. A shared object waits until all its holders are known.
	// If the map is nil, no other Application can be read.
	Holders map[string]*v1alpha1.Application
}

// Action is the kind of request for a resource.
type Action string

// The four actions.
const (
	Create    Action = "create"
	Update    Action = "update"
	Delete    Action = "delete"
	Unchanged Action = "unchanged"
)

// Problem is the reason why a resource is not in sync, or why the input is invalid. The alias saves the callers of
// a plan the import of package intent.
type Problem = intent.Problem

// Change is the planned action for one resource:
//
//	Action      request                                 body
//	Create      create                                  Manifest, or Fallback if that is rejected
//	Update      patch (JSON Patch)                      Guards, then Patch
//	Delete      delete, with UID and ResourceVersion
//	Unchanged   none, or a read if ReadFirst is set
type Change struct {
	// Action is the request that executes the change. Update is always one patch, also to release an object.
	Action Action
	ID     manifest.ID
	// APIVersion is the version in the manifest, or in the inventory if the object is no longer desired.
	APIVersion string
	// Prune is true for a resource that is no longer desired.
	Prune bool
	// Shared is true for a shared object. It is never created or deleted, only patched.
	Shared bool
	// UID and ResourceVersion identify the version of the live object; empty for a create.
	UID, ResourceVersion string
	Body
	// Fields has one Difference per drifted leaf, including deferred ones.
	Fields []delta.Difference
	// Done is true for a Job that has finished and was deleted: it is not created again.
	Done bool
	// ReadFirst is true if the object must be read with its managedFields, and decided again (see
	// Plan.Replan), before any request is sent, because the decision depends on the writers of its fields.
	// An unchanged resource may become an update.
	ReadFirst bool
	// Problem is the reason why the resource cannot reach its desired state; nil if there is none.
	Problem *Problem

	// One of the two is the decided resource. Conclude receives it with the Outcome.
	resource *resource
	pruned   *pruneCandidate
}

// Body is the body of a create or of a patch.
type Body struct {
	// Manifest is the body of a create. Fallback is the body without learned values, for an API server that
	// rejects one of them; nil if there are no learned values.
	Manifest, Fallback map[string]any
	// Guards are the test operations before the operations of Patch.
	Guards, Patch []delta.Op
}

// GVK returns the kind in the version that the manifest uses.
func (c Change) GVK() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(c.APIVersion, c.ID.Kind)
}

// Unrestored returns the released fields whose original values are not restored, and the dropped ones that are not
// removed.
func (c Change) Unrestored() []UnrestoredField {
	switch {
	case c.resource != nil:
		return c.resource.letting.kept
	case c.pruned != nil:
		return c.pruned.letting.kept
	}
	return nil
}

// Reported returns the drift of report-only fields, which is not corrected.
func (c Change) Reported() []delta.Difference {
	if c.resource == nil {
		return nil
	}
	return c.resource.compared.Reported
}

// Plan is the list of planned changes, with all data that Conclude needs to report their outcomes. It is never
// modified: Replan and Conclude return new values.
type Plan struct {
	// Changes has a Change for each resource of the Application, in the order of execution: creates and
	// updates by stage, then deletes in reverse order.
	Changes []Change
	// Warnings are about the input. They do not prevent any change.
	Warnings []string
	// Invalid is the reason why the input cannot be used; nil if it is valid. If it is set, Changes is empty
	// and nothing may be deleted.
	Invalid *Problem

	// facts and pruneSet are embedded, so that a Plan has the methods of its input.
	facts
	pruneSet
	given []string // warnings about the input only
	// resources contains the desired resources in the order of the manifests; Changes has them by stage.
	resources []*resource
}

// HasWork reports whether any change writes.
func (p *Plan) HasWork() bool { return slices.ContainsFunc(p.Changes, Change.Writes) }

// Writes reports whether executing the change sends a request.
func (c Change) Writes() bool { return c.Action != Unchanged }

// resource is a desired resource, decided with one live object. It is not modified after it is part of a plan:
// see fresh. For an existing object, decider.correct sets sharing, letting, comparisons and originals, in this order.
type resource struct {
	objectState
	comparisons
	sharing
	originals
	// letting is the decision about the fields that this resource no longer holds.
	letting fieldRelease
	// rejected is the rejected change of this resource; nil if there is none. While it is deferred, this
	// resource has the last-applied state as its desired state, and aside contains the new one.
	rejected *RejectedChange
	aside    *resource
	// problem is the reason why the resource is not in sync; nil if there is none. decide copies it to change.
	problem *Problem
	// warnings belong in the condition Rendered.
	warnings []string
	// change is the decision. Its field resource points back to this resource.
	change Change
}

// objectState is an object as it is desired and as it is in the cluster.
type objectState struct {
	resourceInput
	desiredState
	liveState
}

// resourceInput is a desired object with the facts that are known before the comparison.
type resourceInput struct {
	object   manifest.Object  // the manifest after hooks
	written  map[string]any   // the manifest before hooks; nil if a hook has added the object
	rendered *observer.Schema // the schema of the spec
	// kind is the typed schema; nil if it is unknown. previous is the record of the status; nil if there is none.
	// policy follows from the spec at first, and also from the live object after withLive.
	kind     *kinds.Node
	previous *record.Record
	policy   claim.Policy
}

// desiredState is the state that the object is compared with.
type desiredState struct {
	// entry is the schema of the spec, with the server-added elements of lists. It is a copy, because the decision
	// raises the maximums of its lists.
	entry *observer.Schema
	// desired is the manifest's own map for a default schema, which must not be changed.
	desired map[string]any
	// accepted contains the accepted forms by path: those of the status, and of the memory for Secrets.
	accepted delta.Accepted
}

// liveState is the known state of the object in the cluster.
type liveState struct {
	live map[string]any // nil if no object of the Application exists
	// seen is the result of the hooks for the live object.
	seen *hooks.ObjectEvent
	// unanswered is true if no controller processed the response to the create of the object.
	unanswered bool
	done       bool // a Job that has finished, was deleted, and must not run again
}

// comparisons contains the results of comparing the desired state with the live object.
type comparisons struct {
	// compared contains the differences that the next patch corrects, including releases and tracking metadata.
	compared delta.Comparison
	// drift has all differences of the live object, and judged is true once it has been compared.
	judged bool
	drift  []delta.Difference
	// restoresFirst is true if the next patch only restores and removes fields, and a later one corrects drift.
	restoresFirst bool
	// observed contains the drift in observe-only mode, without the tracking metadata. doubtful contains the fields
	// that may be in accepted form.
	observed, doubtful []delta.Difference
}

// sharing contains the claims of Applications on the leaves of a shared object.
type sharing struct {
	holders       claim.Holders              // the Applications in the annotation of the object, without those that hold nothing
	own           claim.Entry                // the entry of this Application; its UID is empty if there is none
	claimed       []claim.Claim              // the leaves that other Applications hold
	pendingClaims []string                   // the leaves with a pending claim of this Application
	waitsFor      []v1alpha1.HolderReference // the Applications in claimed
	recheckAfter  time.Duration              // the delay before the next check of the statuses of waitsFor; 0 if a change of the object is enough
	awaitedOwner  string                     // the Application that owns the object, if it has not claimed its fields yet
	deferredTo    string                     // an older Application that may claim leaves without a holder, and has not processed the object yet
}

// originals contains the held fields of an object with baselines, and their original values.
type originals struct {
	// leaves are the paths that the Application holds, without those in sharing.claimed.
	leaves []string
	// baseline contains the original values of these leaves, sorted by path.
	baseline     []v1alpha1.BaselineField
	copies       []v1alpha1.BaselineField // baselines of other Applications, of leaves that this one waits for
	unrecorded   []string                 // leaves whose baseline exceeded the size limit
	empty        []string                 // maps and lists of which only the existence is held
	releasesNext []v1alpha1.BaselineField // baselines of the fields that the next patch releases
	split        []v1alpha1.BaselineField // baselines that those of fields below replace after the next write
}

// fresh returns a copy of the resource from before any decision. If the last-applied state replaces the rejected
// one, the copy is of the rejected one: decide may replace it again.
func (res *resource) fresh() *resource {
	if res.aside != nil {
		// aside contains the manifest and schema of the spec, and the resource only those of the status.
		res = res.aside
	}
	return &resource{objectState: objectState{resourceInput: res.resourceInput, desiredState: desiredState{accepted: res.accepted}}}
}

// pruneCandidate is a resource in the inventory, or with the tracking metadata, that is no longer desired.
type pruneCandidate struct {
	id manifest.ID
	// status is the inventory entry. If only the tracking metadata shows the object, it has only the reference.
	status v1alpha1.ResourceStatus
	// previous is the record of the resource; nil if there is none.
	previous *record.Record
	live     map[string]any
	change   Change
	// policy is the policy of a shared object or of a created one: see policyOnRecord.
	policy  claim.Policy
	letting fieldRelease // the decision about its fields
}

// pruneSet is the decision about the resources that are no longer desired.
type pruneSet struct {
	// pruned has those with a change or a Problem, gone those whose objects do not exist any more.
	pruned, gone []*pruneCandidate
	deletions    deletions
	// unrestored contains the unrestored fields of shared objects that are removed from the inventory.
	unrestored []UnrestoredField
}

// deletions is the decision whether the objects that are no longer desired can be deleted.
type deletions struct {
	// due contains the objects to delete, and the shared ones to restore. begun has those whose deletion has begun,
	// although no status records it.
	due, begun []*pruneCandidate
	// count contains the deletions in the current window, including begun.
	count v1alpha1.DeletionCount
	// confirmed is true if a user has confirmed to delete due, and stopped if a user has to.
	confirmed, stopped bool
}

// stored returns the desired state as the status has it, with redacted values.
func (res *desiredState) stored() map[string]any { return manifest.RedactNested(res.desired) }

// fieldRelease is a decision about the fields that are no longer held.
type fieldRelease struct {
	// restored contains the differences that restore original values.
	restored []delta.Difference
	// kept contains the fields that should be restored, but are not.
	kept []UnrestoredField
	// cuts describes the dropped maps that are removed only in part.
	cuts []string
	// metadata contains the changes of the tracking metadata, if no field is held any more.
	metadata []delta.Difference
	// baseline contains the recorded baselines of all released fields.
	baseline []v1alpha1.BaselineField
	// awaited contains the copies of fields that another Application has just released, and whose release waits for
	// the status of that Application. waitsFor also has these Applications, whose statuses are checked again after
	// recheckAfter.
	awaited      []v1alpha1.BaselineField
	waitsFor     []v1alpha1.HolderReference
	recheckAfter time.Duration
	// unrecorded contains the released fields whose baseline exceeded the size limit.
	unrecorded []string
	// needsManagedFields is true if the decision depends on managedFields, which the object lacks.
	needsManagedFields bool
}

// warn adds a warning while the plan is made.
func (p *Plan) warn(text string) {
	// A clone, because p.given can share its array with the warnings of the rendering.
	p.given = append(slices.Clone(p.given), text)
	p.Warnings = append(p.Warnings, text)
}

// Verb returns the action in the form that users read. For a shared object, it can be hold, restore, release or
// wait.
func (c Change) Verb() string {
	restores := slices.ContainsFunc(c.Fields, func(d delta.Difference) bool {
		return d.Reason == delta.Restored && !d.HeldBack && !claim.IsSharedTracking(d.Path)
	})
	switch {
	case !c.Shared:
	case c.Writes() && restores:
		return "restore"
	case c.Writes() && c.Prune:
		return "release"
	case c.Writes():
		return "hold"
	case c.UID == "" && c.Problem != nil && c.Problem.Disposition() == v1alpha1.DispositionWait:
		return "wait"
	}
	return string(c.Action)
}

// leaf returns the leaf that represents the object itself in a contest: another client deletes it again and
// again.
func (res *resourceInput) leaf() Leaf { return Leaf{ID: res.object.ID} }

// UnrestoredField is a released field that keeps its live value although its original value should be restored, or a
// field that the manifest drops and that is not removed.
type UnrestoredField struct {
	ID manifest.ID
	// Why completes the text "not restored: PATH of ID: WHY".
	Path, Why string
	// IsDropped is true for a field that the manifest drops: "not removed: PATH of ID: WHY".
	IsDropped bool
}

func (u UnrestoredField) String() string {
	if u.IsDropped {
		return "not removed: " + u.about() + "; " + removalRemedy
	}
	return "not restored: " + u.about()
}

func (u UnrestoredField) about() string { return fmt.Sprintf("%s of %s: %s", u.Path, u.ID, u.Why) }
