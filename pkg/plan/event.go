package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/truncate"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/intent"
)

// event builds one event that reports what was done. If the Application has newly stalled, the event has
// the reason.
func (c eventWriter) event() {
	stuck := c.newlyStalled()
	if len(c.done)+len(c.unrestored)+len(c.lost) == 0 && len(c.warnings) == 0 && len(c.notes) == 0 && stuck == nil {
		return
	}
	// Later reasons override earlier ones. A new stall is the most important one.
	parts, plain := c.described(true), c.described(false)
	reasons := map[Action]string{Create: "Created", Update: "Corrected", Delete: "Deleted", release: "Released", adopt: "Adopted", hold: "Held", onlyObserve: "Observed"}
	reason := "Changed"
	// One kind of change has a reason of its own. Several kinds are "Changed".
	if len(parts) == 1 {
		reason = reasons[c.done[0].action]
	}
	// Only the workload has reported something: see completed.
	if len(parts) == 0 && len(c.notes) > 0 {
		reason = v1alpha1.ReasonCompleted
	}
	if c.newlyContested {
		reason = v1alpha1.ReasonContested
	}
	more := slices.Concat(c.notRestoredEvent(), c.lostEvent(), c.notes, c.warnings)
	if len(c.lost) > 0 {
		reason = OriginalsLost
	}
	if len(c.unrestored) > 0 {
		reason = NotRemoved
		if slices.ContainsFunc(c.unrestored, func(u UnrestoredField) bool { return !u.IsDropped }) {
			reason = NotRestored
		}
	}
	if stuck != nil {
		reason, more = stuck.Reason, append(more, stuck.Message)
	}
	// An Event's note has at most 1 KiB (events.k8s.io/v1).
	note := func(parts []string) string {
		return truncate.String(strings.Join(slices.Concat(parts, more), "; "), 1024)
	}
	c.result.Event = &Event{
		Warning: len(c.warnings)+len(c.unrestored)+len(c.lost) > 0 || stuck != nil, Reason: reason, Note: note(parts), Redacted: note(plain),
	}
}

// described returns the changes that were made, with or without values and writers. For example:
//
//	created Service prod/web
//	corrected ConfigMap prod/web (data.mode was changed from "a" to "b" by mallory)
//
// Unless whole is true, the second line is: corrected ConfigMap prod/web (data.mode).
func (c eventWriter) described(whole bool) (parts []string) {
	for _, kind := range []struct {
		action Action
		word   string
	}{{Create, "created"}, {adopt, "adopted"}, {hold, "held"}, {Update, "corrected"}, {Delete, "deleted"}, {release, "released"}, {onlyObserve, "observed"}} {
		if part := describeDone(c.done, kind.action, kind.word, whole); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// NotRestored is the reason of the event that lists released fields of a shared object that were not
// restored, and why.
const NotRestored = "NotRestored"

// NotRemoved is the reason of the event that lists fields that the manifest drops and that stay, because another client
// wrote them.
const NotRemoved = "NotRemoved"

// notRestoredEvent returns the texts about released fields that were not restored, and dropped ones that were not
// removed.
func (c eventWriter) notRestoredEvent() (texts []string) {
	for _, kind := range []struct {
		isDropped bool
		prefix    string
	}{{false, "not restored: "}, {true, "not removed: "}} {
		var stays []string
		for _, u := range c.unrestored {
			if u.IsDropped == kind.isDropped {
				stays = append(stays, u.about())
			}
		}
		if len(stays) > 0 {
			texts = append(texts, kind.prefix+list(stays))
		}
		if len(stays) > 0 && kind.isDropped {
			texts = append(texts, removalRemedy)
		}
	}
	return texts
}

// OriginalsLost is the reason of the event after a status was lost, for example restored from a backup without it. The
// original values of adopted and shared objects were recorded there, and cannot be restored.
const OriginalsLost = "OriginalsLost"

// lostEvent returns the text about objects whose original values are lost; nil if there are none. The next status
// lists the objects, so it is emitted once.
func (c eventWriter) lostEvent() []string {
	if len(c.lost) == 0 {
		return nil
	}
	return []string{"the status does not list objects that this Application held before, so their original values are lost and are not restored: " + intent.FirstNames(c.lost)}
}

// wasHeldBefore reports whether the Application held fields of an existing object before this plan, according to the
// tracking metadata of the object.
func wasHeldBefore(res *resource) bool {
	switch {
	case res.live == nil || !res.policy.Existed || !res.policy.Writes:
		return false
	case res.policy.Claims:
		return res.own.UID != ""
	}
	return !res.isFirstAdoption()
}

// newlyStalled returns the condition Stalled if it is new or has changed, and nil otherwise.
func (c eventWriter) newlyStalled() *metav1.Condition {
	now := apimeta.FindStatusCondition(c.result.Status.Conditions, v1alpha1.ConditionStalled)
	before := apimeta.FindStatusCondition(c.plan.in.Application.Status.Conditions, v1alpha1.ConditionStalled)
	if now == nil || before != nil && before.Reason == now.Reason && before.Message == now.Message {
		return nil
	}
	return now
}

// describeDone returns the changes with one action in words, or "" if there are none. It names at most three objects,
// and three fields of each. whole adds values and writers.
func describeDone(done []doneChange, action Action, word string, whole bool) string {
	const shown = 3
	var names []string
	n := 0
	for _, d := range done {
		if d.action != action {
			continue
		}
		// Counted, and not named.
		if n++; n > shown {
			continue
		}
		name, fields := d.id.String(), d.paths
		if whole {
			fields = d.told
		}
		if (action == Update || action == adopt || action == hold || action == onlyObserve) && len(fields) > 0 {
			name += " (" + strings.Join(fields[:min(len(fields), shown)], ", ")
			if len(fields) > shown {
				name += fmt.Sprintf(" and %d more", len(fields)-shown)
			}
			name += ")"
		}
		names = append(names, name)
	}
	if n == 0 {
		return ""
	}
	if n > shown {
		names = append(names, fmt.Sprintf("%d more", n-shown))
	}
	return word + " " + strings.Join(names, ", ")
}

// warnContested adds the warning that a leaf is newly contested.
func (c eventWriter) warnContested(leaf Leaf) {
	c.newlyContested = true
	f := c.plan.in.Memory.Contests[leaf]
	if leaf.Path == "" {
		c.warnings = append(c.warnings, leaf.ID.String()+" is contested: it is deleted repeatedly")
		return
	}
	if claim.IsSharedTracking(leaf.Path) {
		c.warnings = append(c.warnings, leaf.ID.String()+": another client repeatedly removes the tracking metadata"+bySuffix(f.Manager))
		return
	}
	desired, observed := MaskedPair(leaf.ID, leaf.Path, f.Desired, f.Observed)
	text := fmt.Sprintf("%s of %s is contested: desired %s, observed %s", leaf.Path, leaf.ID, inline(desired), inline(observed))
	if f.Manager != "" {
		text += ", written by " + f.Manager
	}
	c.warnings = append(c.warnings, text)
}

// inline returns a value as short text for a message: JSON of at most 80 bytes. The caller masks values of Secrets.
func inline(v delta.Value) string {
	if !v.Set {
		return "absent"
	}
	raw, _ := json.Marshal(v.Any) // a value that was decoded can be encoded
	return truncate.String(string(raw), 80)
}

// Merge combines two events that would be emitted one right after the other, e first. Either may be nil. A warning
// decides the reason, and otherwise different reasons become Changed. Neither event changes.
func (e *Event) Merge(other *Event) *Event {
	switch {
	case e == nil:
		return other
	case other == nil:
		return e
	}
	both := Event{
		Warning: e.Warning || other.Warning, Reason: e.Reason,
		Note: joinNotes(e.Note, other.Note), Redacted: joinNotes(e.Redacted, other.Redacted),
	}
	switch {
	// The reason of a warning is never replaced by that of a change.
	case e.Reason == other.Reason, e.Warning:
	case other.Warning:
		both.Reason = other.Reason
	default:
		both.Reason = "Changed"
	}
	return &both
}

// joinNotes returns the notes of two events, or only one if it contains the other: both may report the same corrections.
func joinNotes(first, second string) string {
	switch {
	case strings.Contains(first, second):
		return first
	case strings.Contains(second, first):
		return second
	}
	return truncate.String(first+"; "+second, 1024)
}
