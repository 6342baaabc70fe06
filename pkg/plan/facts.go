package plan

import (
	"slices"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
)

// facts are what all decisions about an Application depend on. They do not change while a plan is made. The
// passes over a resource have nothing else, so that no pass depends on what the plan has decided about other
// resources.
type facts struct {
	in Input // ContestPolicy and Memory are set
	// hooks contains the engine's own steps around those of the input.
	hooks *hooks.Hooks
	// statuses contains the inventory entries before the plan. It is nil until the manifests are rendered.
	statuses map[manifest.ID]*v1alpha1.ResourceStatus
	unknown  []manifest.ID // Secrets whose values only the template source has
	retiring bool          // the Application is being deleted
	awaited  *manifest.ID  // the object that later stages wait for; nil if there is none
}

// intent returns the input of the manifests and schemas, with the engine's own steps among the hooks.
func (f *facts) intent() intent.Input {
	in := f.in.Intent()
	in.Hooks = f.hooks
	return in
}

// Suspended reports whether the Application is suspended, so that nothing is written. Its deletion is not suspended.
func (f *facts) Suspended() bool { return f.in.Application.Spec.Suspend && !f.retiring }

// IsObserveOnly reports whether the Application is observe-only: nothing is written, and all drift is
// reported. The deletion of such an Application works as for any other.
func (f *facts) IsObserveOnly() bool {
	return f.in.Application.Spec.Mode == v1alpha1.ModeObserve && !f.retiring
}

// IsNoOp reports whether no change of the plan is executed.
func (f *facts) IsNoOp() bool { return f.Suspended() || f.IsObserveOnly() }

// restored reports whether the manifests are from the status, because their source is not available.
func (f *facts) restored() bool { return f.in.Source != nil && f.in.Source.Restored }

// isSameSpec reports whether the status describes the current spec. A new translation of the same template counts
// as another spec.
func (f *facts) isSameSpec() bool {
	app, source := f.in.Application, f.in.Source
	return app.Generation == app.Status.ObservedGeneration && (source == nil || source.ManifestDigest() == app.Status.ManifestDigest)
}

// unrecorded reports whether the inventory does not contain the UID of an object. If the object has the tracking
// metadata, the controller stopped, or did not receive the response, between the create and the status update.
// Then the controller uses the live object as the response to the create, to find server-added elements.
func (f *facts) unrecorded(status *v1alpha1.ResourceStatus) bool {
	return f.in.Application.UID != "" && (status == nil || status.UID == "")
}

// mayHaveCreated reports whether an object exists, or may exist, that the status does not record. It needs
// statuses to be set.
func (f *facts) mayHaveCreated(objects []manifest.Object) bool {
	for id := range f.in.Live {
		if f.unrecorded(f.statuses[id]) {
			return true
		}
	}
	return slices.ContainsFunc(objects, func(o manifest.Object) bool { return f.unrecorded(f.statuses[o.ID]) })
}

// Most passes below have the facts as their only field. They do not use each other: decider runs them in their order,
// and facts contains what several of them depend on.

// decider decides about one desired resource.
type decider struct{ *facts }

// comparer compares a resource with its live object.
type comparer struct{ *facts }

// claimPass decides which fields of a shared object other Applications hold.
type claimPass struct{ *facts }

// baselinePass records the original values of held fields.
type baselinePass struct{ *facts }

// releasePass decides whether released fields are restored.
type releasePass struct{ *facts }

// pruner decides about the resources that are no longer desired.
type pruner struct {
	*facts
	// The decisions are collected here, and moved to the Plan when they are complete.
	pruneSet

	// warnings are about objects that are not changed, and about values that are not restored.
	warnings []string
}

// hasRecord reports whether the status has a record of the resource with a valid schema.
func (res *resourceInput) hasRecord() bool { return res.previous != nil && res.previous.Entry != nil }

// previousLeaves returns the paths that the record holds, and those of maps and lists that it holds as existing.
// There are none without a record.
func (res *resourceInput) previousLeaves() (leaves, empty []string) {
	if !res.hasRecord() {
		return nil, nil
	}
	r := res.previous
	return r.Entry.Leaves(res.kind, r.Desired), r.Entry.Empty(res.kind, r.Desired)
}
