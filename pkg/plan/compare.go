package plan

import (
	"sync"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/writer"
)

// compare compares the desired state, with the tracking metadata, with an object. The result omits the differences in
// fields that other Applications hold.
func (p comparer) compare(res *resource, live map[string]any) delta.Comparison {
	if compared, is := p.isInSync(res, live); is {
		return compared
	}
	return res.withoutClaimed(delta.Compare(p.comparison(res, live)))
}

// isInSync returns the comparison if the object has the tracking metadata and is in sync, which is the
// usual case. It saves adding the tracking metadata to the schema and the desired state, which costs more
// than everything else. It returns false if the object may have drifted, or if the tracking metadata
// matters for anything else.
func (p comparer) isInSync(res *resource, live map[string]any) (compared delta.Comparison, is bool) {
	app := p.in.Application
	// The tracking metadata matters for adopted objects, accepted forms and claims, and for leaves over all labels.
	if app.UID == "" || res.policy.Existed || len(res.accepted)+len(res.claimed) > 0 || !res.entry.HasRoomForMarks() ||
		claim.ReadHolders(live) != nil || !claim.IsTrackedBy(app, res.object.ID, live) {
		return compared, false
	}
	compared = delta.Compare(p.comparisonOf(res, live, res.entry, res.desired))
	// As if the tracking metadata had been compared: Summarize subtracts it from the count again.
	compared.Held += 2 // claim.Tracking has a label and an annotation
	return compared, compared.IsInPlace()
}

// comparison returns the input to compare a resource with an object.
func (p comparer) comparison(res *resource, live map[string]any) delta.Input {
	entry, desired := observer.WithMarks(res.entry, res.desired, p.marks(res))
	return p.comparisonOf(res, live, entry, desired)
}

// comparisonOf is like comparison, for a given schema and desired state of the resource. The functions in the result
// read the resource and the memory when the comparison calls them.
func (p comparer) comparisonOf(res *resource, live map[string]any, entry *observer.Schema, desired map[string]any) delta.Input {
	in := delta.Input{
		Entry: entry, Type: res.kind, Desired: desired, Manifest: desired, Live: live,
		Accepted: res.accepted, Shared: !res.policy.Creates, Limits: delta.Limits{Existed: res.policy.Existed,
			HeldBack: func(d delta.Difference) bool {
				// Drift is not corrected after a rejection, for a new element that may be a mistake, and in a contest.
				if p.in.Memory.refusalOf(res.object.ID, d).holds(p.in.Now) {
					return true
				}
				// The removal of a dropped field does not back off.
				return res.isDeferred(live, d) || d.Reason != delta.Removed && p.in.Memory.HeldBack(Leaf{res.object.ID, d.Path}, p.in.Now)
			},
			Conflicting: p.in.Memory.conflicts[res.object.ID],
			Refused:     func(path string) bool { return p.in.Memory.Rejections[Leaf{res.object.ID, path}] != nil },
			// Neither the fields of other Applications nor those that the release decides are removed.
			Claimed: append(res.claimedPointers(p.in.Application, live), res.releasedPointers(live)...),
		},
	}
	if owners := writer.NewOwners(p.in.Application, live); owners != nil {
		in.Owners = owners
	}
	in.Normal = p.normal(res, desired)
	// A user's schema has the lists that the user wrote. The API server's additions to them are drift.
	if res.entry.FollowsManifest() {
		in.Begins = res.beginsAt
		if p.in.Application.UID == "" && res.previous == nil { // a file that was never submitted
			in.Begins = func(_ *observer.Path, live, want any) bool { return observer.Completes(live, want) }
		}
	}
	// A default schema learns nothing, so its whole desired state is from the manifest.
	if !res.entry.Default {
		in.Manifest = res.object.Content
		if p.restored() {
			in.Manifest = nil // the restored manifest also has learned values, which may change
		}
	}
	p.addPrevious(&in, res)
	return in
}

// addPrevious adds the last-applied state to the input of a comparison, and which of its elements may be removed.
func (p comparer) addPrevious(in *delta.Input, res *resource) {
	r := res.previous
	// The record of an earlier object does not show what another client has changed in this one.
	if r == nil || res.isFirstAdoption() {
		return
	}
	in.Previous = r.Desired
	if r.Status != nil {
		in.Additions = r.Status.Additions
	}
	// Fields are only removed if this Application wrote them. Restoring their original values has precedence.
	removes := res.policy.Removes && !p.restoresRemovedFields(res) && r.Entry != nil && p.wasApplied(res)
	switch {
	case !removes:
	case res.entry.FollowsManifest() && r.Entry.FollowsManifest():
		in.Prune, in.Previous = true, res.entry.Recorded(res.kind, r.Entry, r.Desired)
	case res.entry.FromFields():
		in.Dropped = func(path *observer.Path) bool {
			node, _ := r.Entry.At(res.kind, r.Desired, path)
			return node != nil && !node.IsPlaceholder()
		}
	}
}

// normal returns a function that computes the normal form of the desired state, once. normal returns nil if
// a response of the API server has already shown the accepted form.
func (p comparer) normal(res *resource, desired map[string]any) func() map[string]any {
	if !p.IsObserveOnly() && res.previous != nil {
		return nil
	}
	return sync.OnceValue(func() map[string]any {
		if p.in.Normalize == nil {
			return nil
		}
		return p.in.Normalize(res.object.GVK(), desired)
	})
}

// beginsAt reports whether a live list without keys is the API server's form of the desired list, and the record does
// not have that form. The record lacks it for an object that does not belong to the Application yet, or for a list that
// an earlier schema opened. It also lacks the form if no controller received the response to the create, which has all
// elements that admission added:
//
//	object                                        a live list is the accepted form if it
//	adopted now, or of another owner              completes the desired list, with equal length
//	created, and the response was lost            covers the desired list, which was sent as it is
//	recorded, with a schema that opened the list  covers it, and was not too long for that schema
//	recorded otherwise                            (never: the record has the form)
func (res *objectState) beginsAt(path *observer.Path, live, want any) bool {
	r := res.previous
	switch {
	case res.policy.Adopts(), !res.policy.Writes, r == nil && res.policy.Existed && res.policy.Removes:
		// With Completes, lists have the same length: elements of other clients are not accepted at an adoption.
		return observer.Completes(live, want)
	case r == nil && res.unanswered:
		// With Covers, lists can be longer: admission may have added elements to the create.
		return observer.Covers(live, want)
	case r == nil, r.Entry == nil:
		return false
	}
	node, wrote := r.Entry.At(res.kind, r.Desired, path)
	switch {
	case node == nil:
		return false
	case res.unanswered:
		// Only for the value that was sent. The live value is no response to a later manifest.
		return observer.Equal(wrote, want) && observer.Covers(live, want)
	case node.List == nil:
		return false
	}
	elements, _ := live.([]any)
	return len(elements) <= max(node.List.Max, len(want.([]any))) && observer.Covers(live, want)
}

// wasApplied reports whether the last-applied state was ever written to this object. A rejected create
// leaves a record, too, and so does an object that turned out to have another owner.
func (p comparer) wasApplied(res *resource) bool {
	if p.in.Application.UID == "" {
		return true
	}
	r := res.previous
	return r.Created || r.Status != nil && r.Status.UID != ""
}

// marks returns the tracking metadata that the object must have; nil if it has none.
func (p comparer) marks(res *resource) []observer.Mark {
	app := p.in.Application
	if res.policy.Claims {
		return p.sharedMarks(res)
	}
	marks := claim.Tracking(app, res.object.ID)
	if marks == nil {
		return nil
	}
	if res.policy.Existed {
		marks = append(marks, observer.Mark{Field: "annotations", Key: v1alpha1.AnnotationAdopted, Value: "true"})
	}
	if claim.IsHeldByOthers(app, res.live) {
		// An owned object gets the holders annotation only while others hold fields of it.
		holders := p.holdersOf(res.object.ID, res.live).WithApplication(app, res.leaves, res.pendingClaims)
		marks = append(marks, observer.Mark{Field: "annotations", Key: v1alpha1.AnnotationHolders, Value: holders})
	}
	return marks
}

// compareOnly compares an object with its desired state, without the tracking metadata, in observe-only mode. A leaf
// over all labels or annotations includes the live tracking metadata, as desired. It also compares an object with
// another owner, because the Application's ServiceAccount has read it. It sets observed and doubtful of the resource,
// and for an object with another owner also its fields and version.
// Source: docs/semantics.md, "Observing".
func (p comparer) compareOnly(res *resource, live map[string]any) {
	if !p.IsObserveOnly() || res.live == nil && res.policy.Writes || manifest.NestedString(live, "metadata", "deletionTimestamp") != "" {
		return
	}
	if !res.policy.Writes {
		res.live = live
		// Elements that the other owner added to lists are no drift.
		res.entry.FindSurplus(res.kind, res.desired, live)
	}
	in := p.comparison(res, live)
	in.Entry, in.Desired = res.entry, res.desired
	if !res.entry.HasRoomForMarks() {
		in.Desired = observer.MarkedObject(res.desired, claim.LiveTracking(live, res.desired))
	}
	if res.entry.Default {
		in.Manifest = res.desired
	}
	in.CompareOnly = true
	compared := res.withoutClaimed(delta.Compare(in))
	for _, d := range compared.Differences {
		if d.Spelling == observer.MaybeRespelled {
			res.doubtful = append(res.doubtful, d)
			continue
		}
		res.observed = append(res.observed, d)
	}
	if !res.policy.Writes {
		res.compared, res.change.Fields = compared, compared.Differences
		res.change.UID, res.change.ResourceVersion = manifest.NestedString(live, "metadata", "uid"), manifest.NestedString(live, "metadata", "resourceVersion")
	}
}
