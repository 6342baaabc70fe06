package plan

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/record"
)

// recordedClaims are the claims of other Applications on one object according to their statuses, which other
// clients do not write. A status is decoded only when a leaf depends on it. The value is for one decision about one
// resource, and is not safe for concurrent use.
type recordedClaims struct {
	facts *facts
	res   *resource
	// uids lists the UIDs of the other Applications that the object names or the status waits for, by
	// namespace/name. The keys of the other maps are among these.
	uids map[string]types.UID
	// annotated and awaited are the names in the annotation, and those that the status waits for.
	annotated, awaited map[string]bool
	// leaves lists the held leaves of the decoded statuses; nil for a status without the record of the object.
	leaves map[string]map[string]bool
	// recheckAfter is the shortest delay before the next check of a claim that only a status has.
	recheckAfter time.Duration
}

// recordedClaims returns the claims of the Applications in the holders annotation, and of those that the
// status of the resource waits for.
func (f *facts) recordedClaims(res *resource, all claim.Holders, status *v1alpha1.ResourceStatus) *recordedClaims {
	c := &recordedClaims{facts: f, res: res, uids: map[string]types.UID{}, annotated: map[string]bool{}, awaited: map[string]bool{}, leaves: map[string]map[string]bool{}}
	for name, entry := range all {
		if name != claim.HolderName(f.in.Application) {
			c.uids[name], c.annotated[name] = types.UID(entry.UID), true
		}
	}
	if record.Describes(status, res.live) {
		for _, holder := range status.WaitsFor {
			c.uids[holder.Application], c.awaited[holder.Application] = holder.UID, true // the annotation may be wrong
		}
	}
	return c
}

// holdersOf returns the holders in the annotation of an object, without those that do not hold anything of it:
// another client has written their entries, or they were not removed. The status of a holder lists the object. An
// Application that could not be read remains.
func (f *facts) holdersOf(id manifest.ID, live map[string]any) claim.Holders {
	all := claim.ReadHolders(live)
	maps.DeleteFunc(all, func(name string, entry claim.Entry) bool {
		other, known := f.in.Holders[name]
		return known && HoldsNothing(other, types.UID(entry.UID), id)
	})
	return all
}

// HoldsNothing reports whether the status of an Application shows that it holds nothing of an object. other is
// nil if the Application does not exist. uid is its UID in the annotation of the object.
func HoldsNothing(other *v1alpha1.Application, uid types.UID, id manifest.ID) bool {
	if other == nil || other.UID != uid {
		return true
	}
	// A status of an earlier spec may not list the object yet, and slices may contain the rest of the inventory.
	isComplete := other.Status.ObservedGeneration == other.Generation && len(other.Status.RecordSlices) == 0
	return isComplete && record.ByID(other.Status.Resources)[id] == nil
}

// heldLeaves returns the leaves that an Application holds according to its status. known is false if the Application
// or the record of the object cannot be read.
func (c *recordedClaims) heldLeaves(name string) (leaves map[string]bool, known bool) {
	if leaves, known = c.leaves[name]; known {
		return leaves, leaves != nil
	}
	other, read := c.facts.in.Holders[name]
	switch {
	case !read:
		return nil, false
	case other == nil, other.UID != c.uids[name]:
		leaves = map[string]bool{} // it does not exist any more
	default:
		leaves = c.leavesOf(other)
	}
	c.leaves[name] = leaves
	return leaves, leaves != nil
}

// leavesOf returns the leaves of the shared object that the status of an existing Application holds; nil if
// the status does not contain the record, because it is in slices.
func (c *recordedClaims) leavesOf(other *v1alpha1.Application) map[string]bool {
	if len(other.Status.RecordSlices) > 0 {
		return nil
	}
	status := record.ByID(other.Status.Resources)[c.res.object.ID]
	if status == nil || !claim.RecordedPolicy(other, status).Claims || !record.Describes(status, c.res.live) {
		// Known, and empty: it does not share the object, or its record is about an earlier object of the name.
		return map[string]bool{}
	}
	records := record.Read(other, c.facts.in.Kinds, nil)
	previous := records[c.res.object.ID]
	if previous == nil || previous.Entry == nil {
		return nil
	}
	return (&objectState{resourceInput: resourceInput{kind: c.res.kind, previous: previous}, liveState: liveState{live: c.res.live}}).leavesInStatus(status)
}

// leavesInStatus returns the leaves that the Application holds according to its status: those on the record
// that it does not wait for.
func (res *objectState) leavesInStatus(status *v1alpha1.ResourceStatus) map[string]bool {
	held := map[string]bool{}
	if !record.Describes(status, res.live) {
		return held
	}
	leaves, empty := res.previousLeaves()
	for _, leaf := range slices.Concat(leaves, empty) {
		held[leaf] = true
	}
	for _, waits := range status.Waits {
		delete(held, waits)
	}
	return held
}

// decide returns the other Application that holds a leaf; empty if there is none. annotated is the holder in the
// annotation, and held is true if the status of this Application holds the leaf. isAttempted is true if the status has
// the original value of the leaf, because this Application was about to write it. See the table of excludeClaimed.
func (c *recordedClaims) decide(annotated, leaf string, held, isAttempted bool) string {
	switch {
	case annotated != "" && held && c.denies(annotated, leaf):
		return ""
	// If the status of this Application holds the leaf, and the annotation names no other holder, no status is read.
	case annotated == "" && !held:
		return c.holderOf(leaf, isAttempted)
	}
	return annotated
}

// denies reports whether the status of an Application shows that it does not hold a leaf, nor one above or
// below it. It is false if the status is not known, so that a claim in the annotation then has effect.
func (c *recordedClaims) denies(name, leaf string) bool {
	leaves, known := c.heldLeaves(name)
	return known && !c.conflicts(leaves, name, leaf)
}

// holderOf returns the Application whose status holds a leaf, or one above or below it; empty if there is
// none. For a leaf that this Application was about to write, it waits for no Application that is not known: the write
// may have been made without an answer.
func (c *recordedClaims) holderOf(leaf string, isAttempted bool) string {
	for _, name := range slices.Sorted(maps.Keys(c.uids)) {
		leaves, known := c.heldLeaves(name)
		if known && !c.conflicts(leaves, name, leaf) || !known && (isAttempted || !c.mayHold(name)) {
			continue
		}
		// An Application with a new spec, or in deletion, will soon write its status.
		c.recheckAfter = precedenceRecheckInterval
		if other := c.facts.in.Holders[name]; other == nil || other.DeletionTimestamp == nil && other.Status.ObservedGeneration == other.Generation {
			c.recheckAfter = holderRecheckInterval
		}
		return name
	}
	return ""
}

// mayHold reports whether an awaited Application whose leaves are not known may still hold them: it could not be
// read, or only its annotation could show that it released them, and is removed. In other namespaces, the annotation
// decides.
func (c *recordedClaims) mayHold(name string) bool {
	_, read := c.facts.in.Holders[name]
	return c.awaited[name] && claim.IsInNamespaceOf(c.facts.in.Application, name) && c.facts.in.Holders != nil && (!read || !c.annotated[name])
}

// holderRecheckInterval is the delay before the next check whether an Application that is not about to change
// still holds a field that the object does not name any more.
const holderRecheckInterval = time.Second

// conflicts reports whether one of some leaves of another Application prevents this one from holding a leaf.
func (c *recordedClaims) conflicts(leaves map[string]bool, name, leaf string) bool {
	// The usual case, without a search.
	if leaves[leaf] && !observer.IsKey(leaf) {
		return true
	}
	for other := range leaves {
		if (claim.Claim{Path: other, Holder: name}).ConflictsWith(leaf, false, !c.res.surrounds(leaf, other)) {
			return true
		}
	}
	return false
}

// addTo adds an Application with its UID to the Applications that the resource waits for. It adds none without a UID,
// such as an owner without an entry in the annotation.
func (c *recordedClaims) addTo(waitsFor []v1alpha1.HolderReference, name string) []v1alpha1.HolderReference {
	holder := v1alpha1.HolderReference{Application: name, UID: c.uids[name]}
	if holder.UID == "" || slices.Contains(waitsFor, holder) {
		return waitsFor
	}
	return append(waitsFor, holder)
}

// holderStatus returns the inventory entry of an object in the status of another Application; nil if there is none, or
// if this Application does not trust the other one, which then has another namespace or UID.
func (f *facts) holderStatus(name string, uid types.UID, id manifest.ID) *v1alpha1.ResourceStatus {
	other := f.in.Holders[name]
	if other == nil || other.UID != uid || !claim.IsInNamespaceOf(f.in.Application, name) {
		return nil
	}
	return record.ByID(other.Status.Resources)[id]
}

// precedenceRecheckInterval is the delay before the next check whether an older Application has processed
// an object.
const precedenceRecheckInterval = 100 * time.Millisecond
