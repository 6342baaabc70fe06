package plan

import (
	"cmp"
	"time"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
)

// target is the relation of an Application to an object.
type target int

const (
	// created: the Application creates the object, or has created it.
	created target = iota
	// adopted: the object existed before the Application adopted it.
	adopted
	// shared: another client creates and deletes the object; the Application holds fields of it.
	shared
	// foreign: another client owns the object, and spec.adoption does not allow the Application to adopt it.
	foreign
)

// policy is a set of permissions: what an Application may do with an object. Other code does not depend on
// the relation of the two.
type policy struct {
	target target
	// creates is true if the manifest describes the whole object, so that it can be created.
	creates bool
	// writes is true if fields may be corrected.
	writes bool
	// removes is true if the Application may remove values that are not desired: dropped fields, elements
	// beyond a length, siblings of a held field.
	removes bool
	// existed is true if the object existed before the Application, with values of other clients.
	existed bool
	// claims is true if the object's metadata names the fields that the Application holds, and false if
	// the tracking metadata is for the whole object.
	claims bool
	// begins is true if the next write adopts the object, or is the first to hold fields of a shared object.
	begins bool
	// reclaimed is true if the object belonged to this Application before the cluster was restored.
	reclaimed bool
	// restores is true if the original values of released fields are restored, unless their schema
	// specifies otherwise.
	restores bool
}

// policies is the table of the policies by target. The fields begins and reclaimed depend on the live object,
// and restores depends on spec.onRelease.
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

// policyOf returns the policy for an object of the manifest, independent of its live object.
func policyOf(app *v1alpha1.Application, o manifest.Object) policy {
	if IsShared(app, o.Ownership) {
		return policyFor(app, shared)
	}
	return policyFor(app, created)
}

// withLive returns the policy for an object with a live object, and the Problem if it may not be written. The
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

// adopts reports whether the next write adopts an object.
func (p policy) adopts() bool { return p.begins && !p.claims }

// mayRemove reports whether the next write may remove anything. Adopting an object removes nothing.
func (p policy) mayRemove() bool { return p.removes && !p.begins }

// policyOnRecord returns the policy for an object that is no longer desired. An object that was shared, or that
// the current spec shares, is never deleted.
func (p *Plan) policyOnRecord(id manifest.ID, status v1alpha1.ResourceStatus) policy {
	app := p.in.Application
	switch {
	case status.Ownership == v1alpha1.OwnershipShare, Shared(p.in)[id],
		status.Ownership == "" && app.Spec.Ownership == v1alpha1.OwnershipShare:
		return policyFor(app, shared)
	}
	return policyFor(app, created)
}

// Shared returns the shared objects of an Application. It skips manifests that cannot be decoded.
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

// IsShared reports whether an object is shared. The ownership in its manifest has precedence over
// spec.ownership.
func IsShared(app *v1alpha1.Application, says v1alpha1.Ownership) bool {
	return cmp.Or(says, app.Spec.Ownership) == v1alpha1.OwnershipShare
}

// isOwned reports whether a live object belongs to the Application: it has the tracking metadata, or it has
// lost them and the inventory has its UID. An Application without a UID exists only in a file, and all live
// objects that are given with it belong to it.
func isOwned(app *v1alpha1.Application, id manifest.ID, status *v1alpha1.ResourceStatus, live map[string]any) bool {
	if app.UID == "" || IsTrackedBy(app, id, live) {
		return true
	}
	if status == nil || status.Ownership == v1alpha1.OwnershipShare || status.UID == "" || string(status.UID) != text(live, "metadata", "uid") {
		return false
	}
	other := text(live, "metadata", "labels", v1alpha1.LabelApplicationUID)
	return other == "" || other == string(app.UID) // otherwise another Application has adopted it
}

// isFromRestoredCluster reports whether an object that the Application does not own belonged to an Application
// with this namespace and name. In a restored cluster all objects have new UIDs. The Application adopts the
// object, whatever spec.adoption is.
func isFromRestoredCluster(app *v1alpha1.Application, id manifest.ID, live map[string]any) bool {
	return text(live, "metadata", "annotations", v1alpha1.AnnotationTrackingID) == TrackingID(app, id)
}

// isMarkedAdopted reports whether an object has the annotation of adopted objects.
func isMarkedAdopted(live map[string]any) bool {
	return text(live, "metadata", "annotations", v1alpha1.AnnotationAdopted) != ""
}

// wasAdopted reports whether an object of the Application existed before the Application: its annotation or
// the inventory shows it. An inventory without the origin was written by a version that did not record it. Then
// an object that is older than the Application counts as adopted.
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
