package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/health"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
)

// deletionWindow is the time in which the deletions of several changes count as those of one change.
const deletionWindow = 10 * time.Minute

// leastMaxDeletions is the number of objects that the default of spec.maxDeletions always allows to delete. Half of a
// small number of objects would need a confirmation for almost every change.
const leastMaxDeletions = 5

// limitDeletions decides whether the objects that are no longer desired can be deleted. Unless spec.maxDeletions
// or a user allows all of these deletions, it removes all of them from the plan. It never deletes some of them: a
// change that deletes too much may be a mistake as a whole.
// Source: docs/semantics.md, "How much a change can delete".
func (p *pruner) limitDeletions() {
	d := &p.deletions
	for _, old := range p.pruned {
		if p.isDue(old) {
			d.due = append(d.due, old)
		}
	}
	d.count = p.deletionCount()
	if len(d.due) == 0 {
		return
	}
	app, digest := p.in.Application, deletionDigest(d.due)
	for _, known := range []string{digest, deletionDigest(d.due, d.begun)} { // the process may have ended before it wrote the status
		was := app.Status.Deletions
		// A user confirms with the annotation. The status contains the digest while confirmed deletions are in
		// progress.
		d.confirmed = d.confirmed || app.Annotations[v1alpha1.AnnotationConfirm] == known || was != nil && was.Confirmed == known
	}
	allowed := maxDeletions(app, int(d.count.Objects))
	if d.stopped = !d.confirmed && (p.isEmptied() || int(d.count.Deleted)+len(d.due) > allowed); !d.stopped {
		return
	}
	remedy := v1alpha1.Remedy{
		Text:    p.deletionRefusal(allowed) + ". If this is intended, run",
		Command: fmt.Sprintf("holdfast reconcile %s -n %s --confirm %s", app.Name, app.Namespace, digest),
	}
	for _, old := range d.due {
		// keep shares the remedy, so that a condition has it once.
		old.keep(remedy)
	}
}

// keep removes the deletion of an object from the plan.
func (old *pruneCandidate) keep(remedy v1alpha1.Remedy) {
	c := &old.change
	message := old.id.String() + " is no longer desired, but its deletion is not confirmed"
	if c.Shared {
		message = old.id.String() + " is no longer held, but its restoration is not confirmed"
	}
	c.Action, c.ReadFirst, c.Fields, c.Guards, c.Patch = Unchanged, false, nil, nil, nil
	c.Problem = &Problem{Reason: v1alpha1.ReasonDeletionUnconfirmed, Message: message, Remedy: remedy}
}

// isDue reports whether to delete an object, or to restore it if it is shared, now or when it is no longer
// blocked. Drift does not change the result, so that the digest that a user confirms does not change either.
func (p *pruner) isDue(old *pruneCandidate) bool {
	blocked := p.in.Blocked[old.id]
	// A blocked object is counted before it can be deleted, so that the confirmation covers it.
	isBlocked := blocked != nil && old.change.Problem == blocked && old.status.UID != "" &&
		old.status.Health != health.Terminating && !p.in.isUnselected(blocked)
	switch {
	case !old.change.Writes() && !isBlocked:
		return false
	case old.policy.Claims:
		return old.policy.Restores && len(old.status.Baseline) > 0
	}
	return old.change.Action == Delete || isBlocked && !p.orphaned(old)
}

// hasBegun reports whether the deletion of an object has begun, although the status does not have that. The process
// may have ended between the request and the status.
func (p *pruner) hasBegun(old *pruneCandidate) bool {
	isReleased := old.change.Action == Unchanged && old.change.Problem == nil
	switch {
	// It did not exist, or the previous status records its deletion.
	case old.status.UID == "" || old.status.Health == health.Terminating || old.status.Health == health.NotFound:
		return false
	case old.policy.Claims:
		// An object that another client has created again was not restored.
		return isReleased && old.policy.Restores && len(old.status.Baseline) > 0 &&
			manifest.NestedString(old.live, "metadata", "uid") == string(old.status.UID)
	case old.live == nil:
		return isReleased && p.in.Blocked[old.id] == nil
	}
	return manifest.NestedString(old.live, "metadata", "deletionTimestamp") != "" && old.change.Problem != nil
}

// isEmptied reports whether spec.manifest has become empty. Objects that spec.select matched are released
// without it.
func (p *pruner) isEmptied() bool {
	spec := p.in.Application.Spec
	if len(spec.Manifest) > 0 || intent.IsTranslated(p.in.Application) {
		return false
	}
	return len(spec.Select) == 0 || slices.ContainsFunc(p.deletions.due, func(old *pruneCandidate) bool { return !old.policy.Claims })
}

// deletionCount returns the count in the status, if it is recent or objects wait for a confirmation, or else a
// new one.
func (p *pruner) deletionCount() (count v1alpha1.DeletionCount) {
	app := p.in.Application
	waits := slices.ContainsFunc(p.pruned, func(old *pruneCandidate) bool { return v1alpha1.InfoForReason(old.status.Reason).Unconfirmed })
	if was := app.Status.Deletions; was != nil && was.Objects > 0 && (waits || was.Since != nil && p.in.Now.Sub(was.Since.Time) < deletionWindow) {
		count = *was
		// A confirmation is for one set of objects. limitDeletions compares its digest.
		count.Confirmed = ""
	} else {
		for _, r := range app.Status.Resources {
			// Only objects that exist: a percentage must not grow with objects that could not be created.
			if r.UID != "" && r.Health != health.Terminating {
				count.Objects++
			}
		}
	}
	count.Deleted += int32(len(p.deletions.begun))
	return count
}

// maxDeletions returns how many of a number of objects can be deleted without a confirmation. A percentage is
// rounded down.
func maxDeletions(app *v1alpha1.Application, objects int) int {
	limit := app.Spec.MaxDeletions
	switch {
	case limit == nil:
		return max(leastMaxDeletions, objects/2)
	case limit.Type == intstr.String && limit.StrVal == "100%":
		return math.MaxInt // objects may have been added since they were counted
	}
	allowed, err := intstr.GetScaledValueFromIntOrPercent(limit, objects, false)
	if err != nil {
		return 0 // the API server rejects it
	}
	return allowed
}

// deletionRefusal returns why the objects are not deleted, for example "The change would delete 8 objects, and
// spec.maxDeletions allows 5 of 12".
func (p *pruner) deletionRefusal(allowed int) string {
	d := &p.deletions
	verb, done := "delete", "deleted"
	if slices.ContainsFunc(d.due, func(old *pruneCandidate) bool { return old.policy.Claims }) {
		verb, done = "delete or restore", "deleted or restored"
	}
	would := "would " + verb + " " + count(len(d.due), "object")
	if p.isEmptied() {
		return "spec.manifest is empty, which " + would
	}
	text := fmt.Sprintf("The change %s, and spec.maxDeletions allows %d of %d", would, allowed, d.count.Objects)
	if d.count.Deleted > 0 {
		text += fmt.Sprintf(" in ten minutes (already %s: %d)", done, d.count.Deleted)
	}
	return text
}

// deletionDigest returns the digest of the identities and UIDs of objects, with which a user confirms to delete
// them. It does not depend on their order. An object that was created again has another UID, and thus another digest.
func deletionDigest(parts ...[]*pruneCandidate) string {
	var lines []string
	for _, old := range slices.Concat(parts...) {
		uid := cmp.Or(manifest.NestedString(old.live, "metadata", "uid"), string(old.status.UID))
		lines = append(lines, strings.Join([]string{old.id.Group, old.id.Kind, old.id.Namespace, old.id.Name, uid}, "/"))
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:8])
}
