package plan

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/record"
	"holdfast.dev/holdfast/pkg/writer"
)

// recordInSync records the baselines of fields that this change does not write, and that the next plan could not find
// any more:
//
//	a held field whose desired value changes        the value that was held: it was in sync when it was first held,
//	                                                and a value that has drifted since then is not an original value
//	a new field that is in sync, because the API    absent, because it may be written later with its parent map
//	server omits its value, such as an empty map
func (p baselinePass) recordInSync(res *resource, held func() sets.Set[string], writers func() *writer.Index) {
	isAdopted := res.policy.Existed && res.policy.Restores
	if !res.policy.Claims && !isAdopted || res.previous != nil && observer.Equal(res.previous.Desired, res.desired) {
		return
	}
	for _, leaf := range res.leaves {
		if res.hasBaseline(leaf) || !res.isInManifest(leaf) || secretPath(res.object.ID, leaf) {
			continue
		}
		b := v1alpha1.BaselineField{Path: leaf, Time: metav1.NewTime(p.in.Now.UTC()).Rfc3339Copy()}
		if isHeld := held().Has(leaf); isHeld && res.replaces(&b, writers) || !isHeld && p.isOmitted(res, b) {
			res.baseline = append(res.baseline, res.withHeldDigests(b))
		}
	}
}

// replaces reports whether the desired value of a held field changes, and sets the value that was held.
func (res *resource) replaces(b *v1alpha1.BaselineField, writers func() *writer.Index) bool {
	before, _ := delta.Locate(res.kind, res.previous.Desired, b.Path)
	desired, _ := delta.Locate(res.kind, res.desired, b.Path)
	live, _ := delta.Locate(res.kind, res.live, b.Path)
	if live.Value.Set || !observer.Empty(before.Value.Any) { // the API server omits such values
		b.Value = record.EncodeValue(before.Value)
	}
	if before.Value.Equal(live.Value) {
		// The writer is for users only. Nothing is decided by it.
		author, _ := writers().OfValue(live.Path)
		b.Manager = author.Manager
	}
	return !before.Value.Equal(desired.Value)
}

// isOmitted reports whether a new field is in sync, because the API server omits its value.
func (p baselinePass) isOmitted(res *resource, b v1alpha1.BaselineField) bool {
	desired, _ := delta.Locate(res.kind, res.desired, b.Path)
	live, _ := delta.Locate(res.kind, res.live, b.Path)
	return !live.Value.Set && observer.Empty(desired.Value.Any) && p.needsBaseline(res, b) && !p.wasHeld(res, b.Path)
}

// heldValues returns the fields that were held with a value, according to the status.
func (f *facts) heldValues(res *resource) sets.Set[string] {
	status := f.statuses[res.object.ID]
	if res.previous == nil || res.isFirstAdoption() || !record.Describes(status, res.live) || res.policy.Claims && !f.recordedPolicy(res).Claims {
		return nil
	}
	leaves, _, _ := res.previousLeaves()
	return sets.New(slices.DeleteFunc(slices.Clone(leaves), func(leaf string) bool {
		before, _ := delta.Locate(res.kind, res.previous.Desired, leaf)
		isAwaited := func(other string) bool { return claim.Overlap(other, leaf) }
		return !before.Value.Set || slices.ContainsFunc(status.Waits, isAwaited)
	})...)
}
