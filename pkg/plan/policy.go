package plan

import (
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

// adopts reports whether the next write adopts an object.
func (p policy) adopts() bool { return p.begins && !p.claims }

// mayRemove reports whether the next write may remove anything. Adopting an object removes nothing.
func (p policy) mayRemove() bool { return p.removes && !p.begins }

// policyOf returns the policy for an object of the manifest, independent of its live object.
func policyOf(app *v1alpha1.Application, o manifest.Object) policy {
	if IsShared(app, o.Ownership) {
		return policyFor(app, shared)
	}
	return policyFor(app, created)
}
