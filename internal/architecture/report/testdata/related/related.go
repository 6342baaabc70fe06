// Package related asks for the relation of an Application and an object in each way that the report counts.
package related

import (
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
)

type inner struct {
	a, b int
	row  claim.Policy
}

func (inner) one() {}

type outer struct {
	*inner
	claim.Policy
	c string
}

func (outer) two() {}

func (o outer) asks(app *v1alpha1.Application) int {
	row := o.row // passes the policy on
	n := 0
	if row.Claims || row.Restores { // counted once
		n++
	}
	if row.MayRemove() { // counted
		n++
	}
	if app.Spec.Ownership == "Share" { // counted
		n++
	}
	to := v1alpha1.Ownership(o.c)    // counted
	if to != v1alpha1.OwnershipOwn { // counted
		n++
	}
	row = claim.PolicyFor(app, claim.Shared) // counted
	return n + o.a
}
