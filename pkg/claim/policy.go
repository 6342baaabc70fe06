package claim

import (
	"cmp"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
)

// Target is the relation of an Application to an object.
type Target int

// The four relations.
const (
	// Created: the Application creates the object, or has created it.
	Created Target = iota
	// Adopted: the object existed before the Application adopted it.
	Adopted
	// Shared: another client creates and deletes the object; the Application holds fields of it.
	Shared
	// Foreign: another client owns the object, and spec.adoption does not allow the Application to adopt it.
	Foreign
)

// Policy is a set of permissions: what an Application may do with an object. Other code does not depend on
// the relation of the two.
type Policy struct {
	// Creates is true if the manifest describes the whole object, so that it can be created.
	Creates bool
	// Writes is true if fields may be corrected.
	Writes bool
	// Removes is true if the Application may remove values that are not desired: dropped fields, elements
	// beyond a length, siblings of a held field.
	Removes bool
	// Existed is true if the object existed before the Application, with values of other clients.
	Existed bool
	// Claims is true if the object's metadata names the fields that the Application holds, and false if
	// the tracking metadata is for the whole object.
	Claims bool
	// Begins is true if the next write adopts the object, or is the first to hold fields of a shared object.
	Begins bool
	// Reclaimed is true if the object belonged to this Application before the cluster was restored.
	Reclaimed bool
	// Restores is true if the original values of released fields are restored, unless their schema
	// specifies otherwise.
	Restores bool
}

// policies is the table of the policies by target. The fields Begins and Reclaimed depend on the live object,
// and Restores depends on spec.onRelease.
var policies = [...]Policy{
	Created: {Creates: true, Writes: true, Removes: true},
	Adopted: {Creates: true, Writes: true, Removes: true, Existed: true},
	Shared:  {Writes: true, Existed: true, Claims: true},
	Foreign: {Creates: true, Existed: true},
}

// PolicyFor returns the policy for a target of an Application. Begins and Reclaimed are false: see WithLive.
func PolicyFor(app *v1alpha1.Application, t Target) Policy {
	p := policies[t]
	// Restore is the default for shared objects, and Leave for all others.
	p.Restores = app.Spec.OnRelease == v1alpha1.ReleaseRestore || p.Claims && app.Spec.OnRelease != v1alpha1.ReleaseLeave
	return p
}

// Adopts reports whether the next write adopts an object.
func (p Policy) Adopts() bool { return p.Begins && !p.Claims }

// MayRemove reports whether the next write may remove anything. Adopting an object removes nothing.
func (p Policy) MayRemove() bool { return p.Removes && !p.Begins }

// DesiredPolicy returns the policy for an object of the manifest, independent of its live object. The ownership in
// the manifest has precedence over spec.ownership.
func DesiredPolicy(app *v1alpha1.Application, ownership v1alpha1.Ownership) Policy {
	if cmp.Or(ownership, app.Spec.Ownership) == v1alpha1.OwnershipShare {
		return PolicyFor(app, Shared)
	}
	return PolicyFor(app, Created)
}

// RecordedPolicy returns the policy for an object in the inventory; that of a created object if status is nil. It
// reflects the last reconcile, not the current spec.
func RecordedPolicy(app *v1alpha1.Application, status *v1alpha1.ResourceStatus) Policy {
	switch {
	case status != nil && status.Ownership == v1alpha1.OwnershipShare:
		return PolicyFor(app, Shared)
	case status != nil && status.Origin == v1alpha1.OriginAdopted:
		return PolicyFor(app, Adopted)
	}
	return PolicyFor(app, Created)
}

// Record writes the relation of an Application to a live object into its inventory entry. A shared object
// has ownership Share and no origin. For another object, it sets ownership Own only if spec.ownership is Share.
func (p Policy) Record(app *v1alpha1.Application, status *v1alpha1.ResourceStatus) {
	switch {
	case p.Claims:
		status.Ownership, status.Origin = v1alpha1.OwnershipShare, ""
		return
	case p.Existed:
		status.Origin = v1alpha1.OriginAdopted
	default:
		status.Origin = v1alpha1.OriginCreated
	}
	if app.Spec.Ownership == v1alpha1.OwnershipShare {
		status.Ownership = v1alpha1.OwnershipOwn
	}
}

// WithLive returns the policy for an object of the manifest, given its live object. The target is Foreign if
// the Application does not own the live object and may not adopt it. status is the inventory entry; nil if there
// is none. The policy of a shared object, or of one that does not exist, does not change.
// Source: docs/semantics.md, "Object ownership".
func (p Policy) WithLive(app *v1alpha1.Application, id manifest.ID, status *v1alpha1.ResourceStatus, live map[string]any) Policy {
	switch {
	case p.Claims || live == nil:
		return p
	// An owned object needs no adoption, whatever spec.adoption is now.
	case IsOwned(app, id, status, live) && WasAdopted(app, status, live):
		return PolicyFor(app, Adopted)
	case IsOwned(app, id, status, live):
		return PolicyFor(app, Created)
	}
	reclaimed := hasTrackingID(app, id, live)
	switch {
	// The adopted annotation shows which of the two relations the object had before the cluster was restored.
	case reclaimed && !isMarkedAdopted(live):
		p = PolicyFor(app, Created)
	case reclaimed, app.Spec.Adoption == v1alpha1.AdoptAlways, app.Spec.Adoption == v1alpha1.AdoptIfUnowned && Owner(app, live) == "":
		p = PolicyFor(app, Adopted)
	default:
		return PolicyFor(app, Foreign)
	}
	p.Begins, p.Reclaimed = true, reclaimed
	return p
}
