package plan

import (
	"cmp"
	"time"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
)

// target is how an Application and an object are related.
type target int

const (
	// created: the Application creates the object, or has created it.
	created target = iota
	// adopted: the object existed before the Application took it over.
	adopted
	// shared: another client creates and deletes the object; the Application holds fields of it.
	shared
	// foreign: another client owns the object, and spec.adoption does not allow to adopt it.
	foreign
)

// policy is what an Application may do with an object. No other code asks how the two are related.
type policy struct {
	target target
	// creates is true if the manifest describes the whole object, so that it can be created.
	creates bool
	// writes is true if fields may be corrected.
	writes bool
	// removes is true if the Application may remove what it does not want: dropped fields,
	// elements beyond a length, siblings of a held field.
	removes bool
	// existed is true if the object was there before the Application, with values of others.
	existed bool
	// claims is true if the object names the fields that the Application holds, and false if
	// tracking metadata marks all of it.
	claims bool
	// begins is true if the next write is the first: it adopts the object, or begins to hold
	// fields of it.
	begins bool
	// reclaimed is true if the object belonged to this Application in a cluster that was restored.
	reclaimed bool
	// restores is true if released fields get back their original values, unless their
	// schema says otherwise.
	restores bool
}

// policies is the table of what may be done with each target. Two columns are decided with the
// object: begins and reclaimed. Another one, restores, is spec.onRelease.
var policies = [...]policy{
	created: {creates: true, writes: true, removes: true},
	adopted: {creates: true, writes: true, removes: true, existed: true},
	shared:  {writes: true, existed: true, claims: true},
	foreign: {creates: true, existed: true},
}

// policyFor returns the policy for a target of an Application.
func policyFor(app *v1alpha1.Application, t target) policy {
	p := policies[t]
	p.target = t
	p.restores = app.Spec.OnRelease == v1alpha1.ReleaseRestore || p.claims && app.Spec.OnRelease != v1alpha1.ReleaseLeave
	return p
}

// policyOf returns the policy for an object of the manifest, before anything is known of the live one.
func policyOf(app *v1alpha1.Application, o manifest.Object) policy {
	if IsShared(app, o.Ownership) {
		return policyFor(app, shared)
	}
	return policyFor(app, created)
}

// withLive returns the policy for an object that is in the cluster, and why it may not be written; the
// Problem is nil if it may.
func (p *Plan) withLive(before policy, id manifest.ID, live map[string]any) (now policy, problem *Problem) {
	app, status := p.in.Application, p.statuses[id]
	if before.claims || live == nil {
		return before, nil
	}
	if isOwned(app, id, status, live) {
		if wasAdopted(app, status, live) {
			return policyFor(app, adopted), nil
		}
		return policyFor(app, created), nil
	}
	reclaimed := isFromRestoredCluster(app, id, live)
	switch problem = adoptionProblem(app, id, live); {
	case problem == nil && reclaimed && !isMarkedAdopted(live):
		now = policyFor(app, created)
	case problem == nil:
		now = policyFor(app, adopted)
	default:
		return policyFor(app, foreign), problem
	}
	now.begins, now.reclaimed = true, reclaimed
	return now, nil
}

// adopts reports whether the next write takes over an object that another client owns, or owned.
func (p policy) adopts() bool { return p.begins && !p.claims }

// mayRemove reports whether the next write may remove anything. Adopting an object removes nothing.
func (p policy) mayRemove() bool { return p.removes && !p.begins }

// policyOnRecord returns the policy for an object that is no longer desired. If it was shared, or is
// shared by the spec as it is now, it is never deleted.
func (p *Plan) policyOnRecord(id manifest.ID, status v1alpha1.ResourceStatus) policy {
	app := p.in.Application
	switch {
	case status.Ownership == v1alpha1.OwnershipShare, Shared(p.in)[id],
		status.Ownership == "" && app.Spec.Ownership == v1alpha1.OwnershipShare:
		return policyFor(app, shared)
	}
	return policyFor(app, created)
}

// Shared has the objects of which an Application holds fields and that are another owner's,
// as far as its manifests can be read.
func Shared(in Input) map[manifest.ID]bool {
	shared := map[manifest.ID]bool{}
	var manifests []map[string]any
	if in.Source != nil {
		manifests = in.Source.Objects
	}
	for _, item := range in.Application.Spec.Manifest {
		if content, err := manifest.DecodeJSON(item.Raw); err == nil {
			manifests = append(manifests, content)
		}
	}
	for _, content := range manifests {
		if id, ok := Identify(content, in.Application.Namespace, in.Kinds); ok && IsShared(in.Application, manifest.OwnershipIn(content)) {
			shared[id] = true
		}
	}
	return shared
}

// IsShared reports whether an object is shared, of which the manifest says that.
func IsShared(app *v1alpha1.Application, says v1alpha1.Ownership) bool {
	return cmp.Or(says, app.Spec.Ownership) == v1alpha1.OwnershipShare
}

// isOwned reports whether a live object is the Application's: it carries the marks,
// or it is on record with its UID and has lost them. An Application without a
// UID exists only in a file, and the live objects given with it are its own.
func isOwned(app *v1alpha1.Application, id manifest.ID, status *v1alpha1.ResourceStatus, live map[string]any) bool {
	if app.UID == "" || IsTrackedBy(app, id, live) {
		return true
	}
	if status == nil || status.Ownership == v1alpha1.OwnershipShare || status.UID == "" || string(status.UID) != text(live, "metadata", "uid") {
		return false
	}
	other := text(live, "metadata", "labels", v1alpha1.LabelApplicationUID)
	return other == "" || other == string(app.UID) // or else another client has adopted it
}

// isFromRestoredCluster reports whether an object that is not ours was that of an Application with
// this namespace and name: in a restored cluster everything has another UID. It is taken
// back, which needs nobody's leave.
func isFromRestoredCluster(app *v1alpha1.Application, id manifest.ID, live map[string]any) bool {
	return text(live, "metadata", "annotations", v1alpha1.AnnotationTrackingID) == TrackingID(app, id)
}

// isMarkedAdopted reports whether an object says of itself that it was adopted.
func isMarkedAdopted(live map[string]any) bool {
	return text(live, "metadata", "annotations", v1alpha1.AnnotationAdopted) != ""
}

// wasAdopted reports whether an object of ours was there before us: it says so itself, or
// the inventory does. An inventory that says nothing is of a version that did not know
// the difference; what is older than the Application was adopted then.
func wasAdopted(app *v1alpha1.Application, status *v1alpha1.ResourceStatus, live map[string]any) bool {
	if isMarkedAdopted(live) {
		return true
	}
	if status != nil && status.Origin != "" && string(status.UID) == text(live, "metadata", "uid") {
		return status.Origin == v1alpha1.OriginAdopted
	}
	created, err := time.Parse(time.RFC3339, text(live, "metadata", "creationTimestamp"))
	return err == nil && created.Before(app.CreationTimestamp.Time)
}
