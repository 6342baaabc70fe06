package plan

import (
	"slices"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/record"
)

// Inspection contains the parts of a decision that explain the state of each field of an object. It shares them with
// the plan, so they must not be changed.
type Inspection struct {
	// Comparison is the input of the comparison in the decision, with the fields that other Applications hold.
	Comparison delta.Input
	// Removals are the differences that the comparison does not find: removed fields, and restored ones.
	Removals []delta.Difference
	// Claimed are the desired leaves that other Applications hold.
	Claimed []claim.Claim
	// Leaves are the held leaves, if the status records original values of the object. Baseline has those that it
	// records, and Unrecorded the paths of those that were too large. Restores is true if a release restores them.
	Leaves     []string
	Baseline   []v1alpha1.BaselineField
	Unrecorded []string
	Restores   bool
}

// Input returns the input of the plan. It must not be changed.
func (p *Plan) Input() Input { return p.in }

// Schema returns the effective schema of the resource of a change, or nil if the resource is no longer desired.
func (c Change) Schema() *observer.Schema {
	if c.resource == nil {
		return nil
	}
	return c.resource.entry
}

// Inspect returns the parts of the decision about one of the plan's own changes. The resource must be desired.
func (p *Plan) Inspect(c Change) Inspection {
	res, live := c.resource, p.in.Live[c.ID]
	found := Inspection{
		Comparison: comparer{&p.facts}.comparison(res, live), Removals: decider{&p.facts}.withdrawn(res), Claimed: res.claimed,
		Baseline: record.Baseline(p.statuses[c.ID], live), Unrecorded: record.Unrecorded(p.statuses[c.ID], live), Restores: res.policy.Restores,
	}
	found.Comparison.CompareOnly = p.IsObserveOnly()
	if p.recordsBaselines(res) {
		found.Leaves = res.leaves
	}
	if res.policy.Claims && res.holdsNothing() { // removed together with the last held field
		found.Removals = append(found.Removals, slices.DeleteFunc(slices.Clone(c.Fields), func(d delta.Difference) bool { return d.Desired.Set })...)
	}
	found.Removals = append(found.Removals, res.letting.restored...) // original values of released fields
	return found
}
