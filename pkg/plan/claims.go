package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/record"
)

// excludeClaimed removes the leaves that other Applications hold from the leaves of a resource:
//
//	holder in the annotation    result
//	none                        the Application whose status holds the leaf. If there is none, this Application
//	                            holds the leaf with the patch that claims it
//	another Application         the other one holds it, unless only the status of this Application holds it
//	this Application            this Application holds it, unless only the status of another one holds it
//	both                        the older one holds it; of two nested leaves, the holder of the lower one
//
// The annotation is for other clients, and any of them may change it. Therefore a status has precedence. The
// statuses of the Applications in the annotation, and of those that this Application waits for, are known.
//
// An owner that is an Application claims its fields first: until then, other Applications wait and claim
// nothing. A leaf without a holder is left to an older Application that has not processed the object yet.
// The exception is a leaf that this Application held: another client removed the tracking metadata. An owner
// holds everything around the claims of other Applications. It claims no empty maps and lists, but waits for the
// Applications that hold them as values of another type.
//
// It sets holders, own, leaves, claimed, pendingClaims, awaitedOwner, deferredTo, waitsFor and recheckAfter of the resource.
// Source: docs/semantics.md, "Several Applications share an object".
func (p claimPass) excludeClaimed(res *resource, leaves, empty []string) {
	app, status := p.in.Application, p.statuses[res.object.ID]
	all := p.holdersOf(res.object.ID, res.live)
	res.holders, res.own = all, claim.Entry{}
	if own, isHolder := all.Get(app); isHolder {
		res.own = own
	}
	// named is true for leaves that the annotation lists for this Application. Without a list of leaves, it is false.
	named := func(leaf string) bool { return slices.Contains(res.own.Leaves, leaf) }
	held, baselines := res.leavesInStatus(status), record.BaselinePaths(status, res.live)
	claims, owner := claim.ListWithKeys(app, all), claim.OwnerWithoutClaims(app, res.object.ID, res.live, all)
	recorded := p.recordedClaims(res, all, status)
	res.leaves, res.claimed, res.pendingClaims, res.awaitedOwner, res.waitsFor = nil, nil, nil, owner, nil
	// deferredTo is empty afterwards unless a leaf was left to that Application.
	yields := ""
	for i, leaf := range slices.Concat(leaves, empty) {
		isEmpty := i >= len(leaves)
		conflicts := func(c claim.Claim) bool { return c.ConflictsWith(leaf, named(leaf), !res.surrounds(leaf, c.Path)) }
		holder := ""
		if i := slices.IndexFunc(claims, conflicts); i >= 0 {
			holder = claims[i].Holder
		}
		// The statuses correct the annotation, in both directions.
		if holder = recorded.decide(holder, leaf, held[leaf], slices.Contains(baselines, leaf)); holder != "" {
			res.claimed, res.waitsFor = append(res.claimed, claim.Claim{Path: leaf, Holder: holder}), recorded.addTo(res.waitsFor, holder)
			if !isEmpty {
				res.pendingClaims = append(res.pendingClaims, leaf)
			}
			continue
		}
		switch {
		case isEmpty:
		// No pending claim: the owner has not decided yet which fields it holds.
		case owner != "" && !named(leaf):
			res.claimed = append(res.claimed, claim.Claim{Path: leaf, Holder: owner})
		case res.deferredTo != "" && !named(leaf) && !slices.Contains(baselines, leaf):
			res.claimed, yields = append(res.claimed, claim.Claim{Path: leaf, Holder: res.deferredTo}), res.deferredTo
		default:
			res.leaves = append(res.leaves, leaf)
		}
	}
	res.deferredTo, res.recheckAfter = yields, recorded.recheckAfter
}

// surrounds reports whether this Application holds a leaf around a field below it that another one holds. Only an owner
// does, if the desired value can contain that field.
func (res *objectState) surrounds(leaf, field string) bool {
	if res.policy.Claims || !observer.IsUnder(field, leaf) {
		return !res.policy.Claims
	}
	at, _ := delta.Locate(res.kind, res.desired, leaf)
	_, isList := at.Value.Any.([]any)
	_, isMap := at.Value.Any.(map[string]any)
	isElement := strings.HasPrefix(field[len(leaf):], "[") && !strings.HasPrefix(field[len(leaf):], "['")
	return !at.Value.Set || isElement && isList || !isElement && isMap
}

// claimedPointers returns the JSON pointers of all fields of a live object that other Applications hold,
// and of the label that marks shared objects. A shared object has none, because the Application removes
// nothing from it.
func (res *resourceInput) claimedPointers(app *v1alpha1.Application, live map[string]any) []string {
	if res.policy.Claims || !claim.IsHeldByOthers(app, live) {
		return nil
	}
	// An owner that holds all labels with one leaf must not remove the label of the sharers. It holds the annotation,
	// which has its own claims, too: see marks.
	paths := []string{claim.TrackingKey{Field: "labels", Key: v1alpha1.LabelHeld}.Path()}
	for _, c := range claim.List(app, live) {
		paths = append(paths, c.Path)
	}
	return pointersTo(res.kind, live, paths)
}

// pointersTo returns the JSON pointers of some paths in a live object. It omits paths whose parent does not exist.
func pointersTo(kind *kinds.Node, live map[string]any, paths []string) (pointers []string) {
	for _, path := range paths {
		if at, ok := delta.Locate(kind, live, path); ok {
			pointers = append(pointers, at.Path.Pointer())
		}
	}
	return pointers
}

// claimProblem returns the Problem of leaves that the resource cannot hold or release yet, or nil if there are none.
// Waiting for an owner, and then for an older Application, has precedence over claimed fields.
func (res *resource) claimProblem() *Problem {
	if len(res.claimed) == 0 {
		return res.letting.awaitProblem(res.object.ID)
	}
	if res.awaitedOwner != "" {
		problem := intent.Problemf(v1alpha1.ReasonWaiting, "%s is owned by Application %s, which has not recorded its held fields yet", res.object.ID, res.awaitedOwner)
		problem.Remedy.Text = "Check whether that Application is suspended. If it no longer exists, remove its tracking metadata from the object"
		problem.FromComparison = true
		return problem
	}
	if res.deferredTo != "" {
		problem := intent.Problemf(v1alpha1.ReasonWaiting, "%s is also claimed by Application %s, which is older and has not reconciled it yet", res.object.ID, res.deferredTo)
		// The older Application may decide without changing the object. Then no watch event ends the wait.
		problem.RetryAfter, problem.FromComparison = precedenceRecheckInterval, true
		return problem
	}
	var told []string
	for _, c := range res.claimed {
		told = append(told, c.Path+" is held by Application "+c.Holder)
	}
	problem := intent.Problemf(v1alpha1.ReasonFieldClaimed, "%s: %s", res.object.ID, intent.FirstNames(told))
	problem.Remedy = v1alpha1.Remedy{
		Text:    "Release the field from one of the two Applications. If the other one no longer exists, run this command: existing Applications then record their claims again",
		Command: forgetHolders(res.object.ID),
	}
	problem.RetryAfter, problem.FromComparison = res.recheckAfter, true
	return problem
}

// forgetHolders returns the command that removes all claims from an object. Applications that still exist
// write their own claims again.
func forgetHolders(id manifest.ID) string {
	command := "kubectl annotate " + strings.ToLower(id.Kind)
	if id.Group != "" {
		command += "." + id.Group
	}
	if id.Namespace != "" {
		command = fmt.Sprintf("%s -n %s", command, id.Namespace)
	}
	return command + " " + id.Name + " " + v1alpha1.AnnotationHolders + "-"
}

// withoutClaimed removes from a comparison the differences in fields that other Applications hold. The argument
// does not change.
func (res *sharing) withoutClaimed(c delta.Comparison) delta.Comparison {
	if len(res.claimed) == 0 {
		return c
	}
	c.Held -= len(res.claimed)
	c.Differences = slices.DeleteFunc(slices.Clone(c.Differences), func(d delta.Difference) bool {
		return slices.ContainsFunc(res.claimed, func(c claim.Claim) bool { return c.Overlaps(d.Path) })
	})
	return c
}

// unknownHolder returns the name of a holder of the live object whose status was not read; empty if there is none.
// Another Application may have claimed fields after the input was gathered. Holders in other namespaces do not count,
// because the controller may be unable to read those.
func (p decider) unknownHolder(live map[string]any) string {
	if p.in.Holders == nil {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(claim.OtherHolders(p.in.Application, live))) {
		if _, known := p.in.Holders[name]; !known && claim.IsInNamespaceOf(p.in.Application, name) {
			return name
		}
	}
	return ""
}

// sharedMarks returns the tracking metadata of a shared object, as this Application needs it. It is nil if the object
// waits for an older Application, or if no field is held. The annotation keeps the entries of other holders, except
// those without effect.
func (p comparer) sharedMarks(res *resource) []observer.Mark {
	app := p.in.Application
	if app.UID == "" || res.holdsNothing() || len(res.leaves)+len(res.pendingClaims) == 0 && res.awaitedOwner == "" && res.own.UID == "" {
		return nil
	}
	return []observer.Mark{
		{Field: "labels", Key: v1alpha1.LabelHeld, Value: "true"},
		{Field: "annotations", Key: v1alpha1.AnnotationHolders, Value: res.holders.WithApplication(app, res.leaves, res.pendingClaims)},
	}
}

// isReportable reports whether a difference is worth an event. The claims on a shared object are not.
func (res *resourceInput) isReportable(d delta.Difference) bool {
	if res.policy.Claims {
		_, isShown := claim.WithoutTracking(d)
		return isShown
	}
	return !claim.IsSharedTracking(d.Path) || claim.IsMetadataMap(d.Path)
}

// holdsNothing reports whether the Application has no fields of a shared object to hold: all of them are free.
func (res *resource) holdsNothing() bool { return len(res.leaves)+len(res.claimed) == 0 }
