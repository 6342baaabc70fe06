package plan

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/health"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/record"
)

// record writes the schema and the last-applied state of a resource to the status. It keeps the recorded ones
// while the changes they require are not complete. The records are in the order of the manifests:
//
//	resource                                            recorded schema and state
//	its change was written, or there is none            the new ones
//	a rejected change is deferred                       the previous ones
//	dropped values still exist, or it is not known      the previous ones, extended after an attempt
func (c statusWriter) record(res *resource, o resourceResult) {
	s := &c.result.Status
	entry, desired := res.entry, res.stored()
	if !c.preview && (!res.entry.Default || res.entry.HasRules()) {
		_, attempted := c.outcomes[res.object.ID]
		// Dropping a value that was not written must remove nothing.
		desired = o.compared.Unmade(desired, attempted)
	}
	// The last-applied state is held, and remains on record with its own schema.
	if res.rejected != nil {
		entry, desired = res.aside.previous.Entry, res.aside.previous.Desired
	} else if c.isStillOnRecord(res, o) {
		entry, desired = res.previous.Entry, res.previous.Desired
		if _, attempted := c.outcomes[res.object.ID]; attempted {
			// A failed request may have been processed, so the status also needs the fields that it would have added.
			if r := res.writeAheadRecord(); r != nil {
				c.extra = append(c.extra, extra{len(s.LastAppliedManifest), r})
			}
		}
	}
	record.Append(s, entry, desired)
}

// remember writes the additional records that fit into the status: fields that a failed request may have
// added, and objects that are not deleted yet.
func (c statusWriter) remember() {
	if len(c.extra) == 0 {
		return
	}
	// The size is known only now, after all records that must be in the status.
	more := record.NewSpare(&c.result.Status)
	for _, e := range c.extra {
		more.Put(e.index, e.record)
	}
}

// isStillOnRecord reports whether the status keeps the previous record, because the manifest is not fully
// applied yet.
func (c statusWriter) isStillOnRecord(res *resource, o resourceResult) bool {
	outcome, attempted := c.outcomes[res.object.ID]
	// Fields that the next patch writes for the first time get their baselines then, unless they are on record.
	isNext := res.writesLater() && slices.ContainsFunc(o.compared.Differences, func(d delta.Difference) bool { return !claim.IsSharedTracking(d.Path) })
	if res.policy.Claims {
		// Its baseline contains the fields to release, but an object that is not known was not compared with the record.
		return !c.preview && (isNext || !attempted && res.previous != nil && (o.live == nil || res.live != nil && !res.judged))
	}
	return !c.preview && !outcome.WithoutLearned && (isNext || res.isPending(o) || !o.wrote && res.isUnwritten())
}

// isUnwritten reports whether a pending change would record a default schema that is not applied to the
// object. If the change is rejected, the previous schema still applies. A user's schema is recorded at once, because
// it removes nothing.
func (res *resource) isUnwritten() bool {
	return res.change.Writes() && res.entry.FollowsManifest() && res.hasRecord()
}

// isPending reports whether the previous record is still needed. It is needed if the live object still has
// written values that must be removed, or if the live object is unknown.
func (res *objectState) isPending(o resourceResult) bool {
	if !res.hasRecord() || res.previous.Entry.FollowsManifest() != res.entry.FollowsManifest() {
		return false
	}
	// AcceptedUsed is nil if there was no comparison: see delta.Walk.
	if o.problem != nil && o.compared.AcceptedUsed == nil || o.compared.NeedsManagedFields {
		return true
	}
	return o.compared.Kept(res.stored()) != nil || slices.ContainsFunc(o.compared.Differences, func(d delta.Difference) bool {
		return d.Reason == delta.Removed || d.Reason == delta.Extra && !d.HeldBack
	})
}

// inventory appends the inventory entry of a resource. before is its previous entry, or nil.
func (c statusWriter) inventory(res *resource, before *v1alpha1.ResourceStatus, o resourceResult) {
	status := v1alpha1.ResourceStatus{
		ResourceReference: reference(res.object.ID, res.object.APIVersion),
		Schema:            schemaOrigin(res.entry),
		Profiles:          res.entry.Profiles(),
	}
	c.ownership(res, before, o, &status)
	c.baselineStatus(res, before, o, &status)
	if res.isCorrected(o) {
		now := c.now // a copy, because a postponed report must not keep c in memory
		status.LastCorrection = &now
	}
	// The entry describes the schema on record, which is the previous one.
	if before != nil && before.Schema != "" && (res.rejected != nil || c.isStillOnRecord(res, o)) {
		status.Schema, status.Profiles = before.Schema, before.Profiles
	}
	c.report(res, before, o, &status)
	c.result.Status.Resources = append(c.result.Status.Resources, status)
}

// schemaOrigin returns the origin of a schema for the inventory.
func schemaOrigin(entry *observer.Schema) v1alpha1.SchemaOrigin {
	switch {
	case entry.Default:
		return v1alpha1.SchemaDefault
	case entry.FromFields():
		return v1alpha1.SchemaFields
	}
	return v1alpha1.SchemaUser
}

// ownership sets the object of a resource, and its relation to the Application. The origin is known when the object
// exists. Without an object, the entry keeps the UID of the last one, so that its deletion counts as drift.
func (c statusWriter) ownership(res *resource, before *v1alpha1.ResourceStatus, o resourceResult, status *v1alpha1.ResourceStatus) {
	app := c.plan.in.Application
	if before != nil {
		status.UID, status.Origin, status.LastCorrection = before.UID, before.Origin, before.LastCorrection
	}
	switch {
	case o.live != nil:
		status.UID = types.UID(manifest.NestedString(o.live, "metadata", "uid"))
	case !res.policy.Claims && claim.RecordedPolicy(app, before).Claims:
		status.UID = "" // the Application does not own it before it is adopted
	}
	origin := status.Origin
	res.policy.Record(app, status)
	if willExist := o.live != nil || c.preview && res.change.Action == Create; !willExist && !res.policy.Claims {
		status.Origin = origin
	}
}

// report sets the health of a resource, and the reason why it is not in sync or not healthy. A Problem has precedence
// over pending work, and that over the health. report also collects what the conditions need.
func (c statusWriter) report(res *resource, before *v1alpha1.ResourceStatus, o resourceResult, status *v1alpha1.ResourceStatus) {
	state, unhealthy := healthOf(c.plan.in.Application, o.live)
	if c.plan.IsObserveOnly() {
		state, unhealthy = healthOf(c.plan.in.Application, res.live) // regardless of its owner
	}
	if res.done {
		state, unhealthy = healthOfDone(c.plan.in.Application, before, c.plan.in.FinishedJobs[res.object.ID])
	}
	status.Health, status.Job = state, res.run(before, o)
	switch {
	case unhealthy != nil:
		status.Reason, status.Message = unhealthy.Reason, unhealthy.Message
		c.unhealthy = append(c.unhealthy, resourceProblem{res.object.ID, unhealthy})
	case state == health.NotFound && (!c.preview || res.change.Action != Create): // the reason is pending work or a Problem
		missing := &Problem{Reason: v1alpha1.ReasonProgressing, Message: "not found"}
		if o.problem != nil && !res.policy.Claims { // the object may exist, with another owner
			missing.Message = "neither created nor adopted"
		}
		c.unhealthy = append(c.unhealthy, resourceProblem{res.object.ID, missing})
	}
	if drift := c.pendingWork(res); drift != "" {
		status.Reason, status.Message = conditionWriter(c).idleReason(), drift
		c.waits = append(c.waits, res.object.ID.String()+" "+drift)
	} else if doubt := res.doubt(); doubt != "" && !c.preview {
		status.Reason, status.Message = v1alpha1.ReasonObserving, doubt
	}
	if o.problem != nil {
		status.Reason, status.Message, status.Remedy = o.problem.Reason, o.problem.Message+res.otherDifferences(), o.problem.Remedy.OrNil()
		c.problems = append(c.problems, resourceProblem{res.object.ID, o.problem})
	}
}

// isCorrected reports whether the update corrected drift of fields that were already held.
func (res *resource) isCorrected(o resourceResult) bool {
	return o.wrote && o.action == Update && !res.policy.Begins && slices.ContainsFunc(res.change.Fields, res.isReportable)
}

// baselineStatus sets the baseline of an object: the original values of held fields, and of fields that are
// not released yet. The baseline of a released field is kept until its restoration
// is written.
func (c statusWriter) baselineStatus(res *resource, before *v1alpha1.ResourceStatus, o resourceResult, status *v1alpha1.ResourceStatus) {
	_, attempted := c.outcomes[res.object.ID]
	if o.live == nil || res.live != nil && !res.judged {
		c.stillBefore(res, before, o.live == nil && attempted, status)
		return
	}
	status.Waits, status.WaitsFor = c.waitsOf(res, o), res.waitsFor
	if before != nil && c.isStillOnRecord(res, o) { // the fields on record that are not held
		status.Waits = slices.Compact(slices.Sorted(slices.Values(slices.Concat(status.Waits, before.Waits))))
	}
	status.Baseline, status.Unrecorded = res.baseline, res.unrecorded
	// The other planned baselines are of values that were not written.
	if !attempted && !c.preview {
		status.Baseline = c.onRecord(res, record.Baseline(before, o.live))
		known := record.Unrecorded(before, o.live)
		status.Unrecorded = slices.DeleteFunc(slices.Clone(res.unrecorded), func(path string) bool { return !slices.Contains(known, path) })
	}
	if !o.wrote {
		status.Baseline = slices.Concat(status.Baseline, res.split)
	}
	status.Baseline = slices.Concat(withoutHolders(slices.Concat(status.Baseline, res.copies), status.Waits), res.letting.awaited)
	if c.preview {
		c.unrestored = append(c.unrestored, res.letting.kept...)
		return
	}
	switch isOnRecord := c.isStillOnRecord(res, o); {
	// The release is still to be done, and needs the original values. A field on record needs its value, too: if it
	// enters the manifest again, its next write does not count as the first one.
	case isOnRecord, c.isUndone(res, o):
		if !isOnRecord { // the next plan does not find that the manifest drops a field
			c.unrestored = append(c.unrestored, dropped(res.letting.kept)...)
		}
		status.Baseline = slices.Concat(status.Baseline, res.letting.baseline)
		status.Unrecorded = slices.Concat(status.Unrecorded, res.letting.unrecorded)
		return
	case !o.wrote, res.restoresFirst:
		status.Baseline = slices.Concat(status.Baseline, c.leftBaselines(res, o.live))
	}
	c.unrestored = append(c.unrestored, res.letting.kept...)
}

// isUndone reports whether the release of fields is still to be done: a restore was not written, or nothing is.
func (c statusWriter) isUndone(res *resource, o resourceResult) bool {
	return (len(res.letting.restored) > 0 || c.plan.IsNoOp()) && !o.wrote
}

// dropped returns the fields that the manifest drops.
func dropped(fields []UnrestoredField) []UnrestoredField {
	return slices.DeleteFunc(slices.Clone(fields), func(u UnrestoredField) bool { return !u.IsDropped })
}

// leftBaselines returns the baselines of released fields whose values are left to Applications that wait for them.
// These copy the baselines until a patch removes the claims from the object.
func (c statusWriter) leftBaselines(res *resource, live map[string]any) (left []v1alpha1.BaselineField) {
	own, _ := claim.ReadHolders(live).Get(c.plan.in.Application)
	for _, b := range res.letting.baseline {
		at, _ := delta.Locate(res.kind, live, b.Path)
		if slices.Contains(own.Leaves, b.Path) && record.IsAsHeld(res.kind, live, b) && !at.Value.Equal(record.Original(b)) {
			left = append(left, b)
		}
	}
	return left
}

// withoutHolders returns baselines without the names of former holders: those are now the baselines of this
// Application, except for the fields that it waits for. It changes the slice.
func withoutHolders(baseline []v1alpha1.BaselineField, waits []string) []v1alpha1.BaselineField {
	for i, b := range baseline {
		if !slices.ContainsFunc(waits, func(path string) bool { return claim.Overlap(path, b.Path) }) {
			baseline[i].Holder = ""
		}
	}
	return baseline
}

// stillBefore keeps the previous baseline of an object that was not found, or that was not compared because a
// hook failed. attempted is true if a request was sent for an object that is not known afterwards.
func (c statusWriter) stillBefore(res *resource, before *v1alpha1.ResourceStatus, attempted bool, status *v1alpha1.ResourceStatus) {
	switch {
	case attempted && res.isFirstAdoption(): // the adoption may have succeeded, even if the request failed
		if status.Baseline, status.Unrecorded = res.baseline, res.unrecorded; len(res.baseline)+len(res.unrecorded) > 0 {
			status.BaselineUID = types.UID(res.change.UID)
		}
	case before != nil && (res.live != nil || c.plan.recordsBaselines(res)):
		status.Baseline, status.Unrecorded, status.BaselineUID, status.Waits = before.Baseline, before.Unrecorded, before.BaselineUID, before.Waits
		status.WaitsFor = before.WaitsFor
	}
}

// waitsOf returns the fields of a shared object that are not held yet. Another Application holds them, or
// they were not held before and were neither written nor claimed now. Other Applications read them in the status:
// see objectState.leavesInStatus.
func (c statusWriter) waitsOf(res *resource, o resourceResult) (paths []string) {
	for _, claimed := range res.claimed {
		paths = append(paths, claimed.Path)
	}
	if !res.policy.Claims {
		slices.Sort(paths)
		return paths
	}
	// The claim was not written, so none of the new fields is held, not even those in sync.
	if !o.wrote && !c.preview && !c.plan.IsNoOp() && slices.ContainsFunc(res.drift, func(d delta.Difference) bool { return claim.IsSharedTracking(d.Path) }) {
		for _, leaf := range res.leaves {
			if !c.plan.wasHeld(res, leaf) {
				paths = append(paths, leaf)
			}
		}
	}
	for _, d := range res.drift {
		isWritten := o.wrote && slices.ContainsFunc(res.change.Fields, func(written delta.Difference) bool { return written.Path == d.Path && !written.HeldBack })
		if _, isShown := claim.WithoutTracking(d); isShown && !isWritten && !c.plan.wasHeld(res, d.Path) {
			paths = append(paths, d.Path)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// onRecord returns the baselines of a resource that are already recorded, and those that do not depend on a write. The
// others belong to fields that are not written yet.
func (c statusWriter) onRecord(res *resource, before []v1alpha1.BaselineField) []v1alpha1.BaselineField {
	held := sync.OnceValue(func() sets.Set[string] { return c.plan.heldValues(res) })
	return slices.DeleteFunc(slices.Clone(res.baseline), func(b v1alpha1.BaselineField) bool {
		isKnown := slices.ContainsFunc(before, func(was v1alpha1.BaselineField) bool { return was.Path == b.Path })
		dependsOnWrite := res.policy.Claims || res.writes(b.Path)
		return !isKnown && dependsOnWrite && !held().Has(b.Path)
	})
}

// pendingWork describes the change that is not made because the Application is suspended or observe-only. It
// returns "" if there is none.
func (c statusWriter) pendingWork(res *resource) string {
	switch {
	case !c.plan.IsNoOp() || c.preview:
		return ""
	case c.plan.IsObserveOnly():
		return c.previewText(res)
	case res.change.Action == Create:
		return "does not exist, and is not created while suspended"
	case res.policy.Adopts():
		return "is not adopted while suspended"
	case len(res.change.Fields) == 0:
		return ""
	}
	return "has drifted, and is not corrected while suspended: " + list(pathsOf(res.change.Fields))
}

// accepted writes the accepted forms that still apply: those that the last comparison used, or all if there
// was no comparison. Forms of Secret values are kept in the memory instead of the status.
func (c statusWriter) accepted(res *resource, compared delta.Comparison) {
	id := res.object.ID
	delete(c.plan.in.Memory.Secrets, id)
	res.accepted = withForms(res.accepted, compared.Found)
	for _, path := range sortedPaths(res.accepted) {
		form := res.accepted[path]
		if _, found := compared.Found[path]; !found && compared.AcceptedUsed != nil && !compared.AcceptedUsed[path] {
			continue
		}
		if secretPath(id, path) {
			secrets := c.plan.in.Memory.Secrets[id] // of a clone
			put(&secrets, path, form)
			put(&c.plan.in.Memory.Secrets, id, secrets)
			continue
		}
		c.result.Status.Accepted = append(c.result.Status.Accepted, record.AcceptedField(reference(id, res.object.APIVersion), path, form))
	}
}

// reported writes the drift of report-only fields, without values of Secrets.
func (c statusWriter) reported(res *resource, compared delta.Comparison) {
	for _, d := range compared.Reported {
		field := v1alpha1.ReportedField{Resource: reference(res.object.ID, res.object.APIVersion), Path: d.Path}
		if !secretPath(res.object.ID, d.Path) {
			field.Desired, field.Live = record.EncodeValue(d.Desired), record.EncodeValue(d.Live)
		}
		c.result.Status.Reported = append(c.result.Status.Reported, field)
	}
}

func sortedPaths(forms delta.Accepted) []string { return slices.Sorted(maps.Keys(forms)) }

// contested writes the contested leaves of a resource. It omits values of Secrets, and those of the annotation with
// all holders, which can be long.
func (c statusWriter) contested(res *resource) {
	id := res.object.ID
	for _, leaf := range c.plan.in.Memory.leaves(id) {
		f := c.plan.in.Memory.Contests[leaf]
		if !f.Contested() {
			continue
		}
		field := v1alpha1.ContestedField{
			ReportedField: v1alpha1.ReportedField{Resource: reference(id, res.object.APIVersion), Path: leaf.Path},
			Manager:       f.Manager, Corrections: int32(f.Corrections), NextCorrection: metav1.NewTime(f.Next.UTC().Truncate(time.Second)),
		}
		if isLong := res.policy.Claims && claim.IsSharedTracking(leaf.Path); !secretPath(id, leaf.Path) && !isLong {
			field.Desired, field.Live = record.EncodeValue(f.Desired), record.EncodeValue(f.Observed)
		}
		c.result.Status.Contested = append(c.result.Status.Contested, field)
	}
}

// leaves returns the leaves of a resource that have a contest record, sorted by path.
func (m *State) leaves(id manifest.ID) []Leaf {
	var leaves []Leaf
	for leaf := range m.Contests {
		if leaf.ID == id {
			leaves = append(leaves, leaf)
		}
	}
	slices.SortFunc(leaves, func(a, b Leaf) int { return strings.Compare(a.Path, b.Path) })
	return leaves
}
