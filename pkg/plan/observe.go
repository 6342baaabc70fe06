package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"holdfast.dev/holdfast/internal/truncate"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
)

// previewText returns what would be done to a resource of an observe-only Application. It returns "" if only
// the tracking metadata would be written.
func (c *summarizer) previewText(res *resource) string {
	differs := res.differences()
	switch {
	case res.change.Action == Create:
		return "does not exist, and would be created"
	case differs == "":
		return ""
	// Not even mode Hold would write it.
	case res.problem != nil && res.change.Action == Unchanged:
		return "differs: " + differs
	case res.policy.Reclaimed:
		return "exists, and would be adopted again and corrected: " + differs
	case res.policy.Adopts():
		return "exists, and would be adopted and corrected: " + differs
	case res.policy.Begins:
		return "has drifted, and would be held: " + differs
	}
	return "has drifted, and would be corrected: " + differs
}

// otherDifferences returns the text about the drift of a resource that has a Problem. The text follows the
// message of the Problem in the status of an observe-only Application. It is "" in other modes, in which observed and
// doubtful are empty.
func (res *comparisons) otherDifferences() string {
	also := ""
	if len(res.observed) > 0 {
		also = "; it differs: " + res.differences()
	}
	if doubt := res.doubt(); doubt != "" {
		also += "; " + doubt
	}
	return also
}

// doubt returns a text with the paths that may have drifted or may be in accepted form, or "" if there are
// none.
func (res *comparisons) doubt() string {
	if len(res.doubtful) == 0 {
		return ""
	}
	return MaybeRespelled + ": " + list(pathsOf(res.doubtful))
}

// differences returns the paths of the fields that have drifted.
func (res *comparisons) differences() string { return list(pathsOf(res.observed)) }

// pathsOf returns the paths of differences, in their order.
func pathsOf(differences []delta.Difference) []string {
	paths := make([]string, 0, len(differences))
	for _, d := range differences {
		paths = append(paths, d.Path)
	}
	return paths
}

// previewText returns what would be done to an object that is no longer desired, as the message of a Problem.
func (old *pruneCandidate) previewText() string {
	return old.id.String() + " is no longer desired, and would be " + cmp.Or(old.verb(), "kept")
}

// suspendedText returns the message of the Problem of an object that is no longer desired while the Application is
// suspended.
func (old *pruneCandidate) suspendedText() string {
	return old.id.String() + " is no longer desired, and is not " + old.verb() + " while suspended"
}

// verb returns the past participle of the change; "" if nothing is written.
func (old *pruneCandidate) verb() string {
	return map[Action]string{Delete: "deleted", Update: "released"}[old.change.Action]
}

// enablePreview returns a summary of the changes that the Application would make in mode Hold, for example
// "which would create 1, correct 2 (3 fields)".
func enablePreview(changes []Change) string {
	n, fields := map[string]int{}, 0
	for _, change := range changes {
		n[change.previewVerb()]++
		if change.Writes() && change.resource != nil {
			fields += len(change.resource.observed)
		}
	}
	var parts []string
	// In the order in which the changes would be made.
	for _, verb := range []string{"create", "adopt", "correct", "hold", "restore", "release", "delete"} {
		if n[verb] > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", verb, n[verb]))
		}
	}
	would := "which would " + cmp.Or(strings.Join(parts, ", "), "change nothing")
	if fields > 0 {
		would += " (" + count(fields, "field") + ")"
	}
	if n["leave"] > 0 {
		would += "; " + count(n["leave"], "resource") + " would not be written, for the reasons in the status"
	}
	return would
}

// previewVerb returns a verb for what would be done to a resource: "leave" if a Problem prevents it, and ""
// for nothing. Unlike Verb, it distinguishes adoptions from corrections.
func (c Change) previewVerb() string {
	verb, res := c.Verb(), c.resource
	switch {
	case !c.Writes() && c.Problem != nil && res != nil:
		return "leave"
	case !c.Writes():
		return ""
	case res != nil && res.policy.Adopts():
		return "adopt"
	// An owned object that is orphaned. For a shared object, Verb returns release or restore.
	case c.Prune && c.Action == Update && verb == string(Update):
		return "release"
	case verb == string(Update):
		return "correct"
	}
	return verb
}

// mostObserved limits the number of drifted fields in the status of an observe-only Application.
const mostObserved = 200

// observed adds the drift of a resource in observe-only mode to the status. It adds drift that the status
// did not have before to the history as well.
func (c *summarizer) observed(res *resource, before *v1alpha1.ResourceStatus) {
	if !c.plan.IsObserveOnly() || c.preview {
		return
	}
	differs := res.observed
	if res.change.Action == Create {
		differs = []delta.Difference{{}} // the object itself
	}
	done := doneChange{action: onlyObserve, id: res.object.ID}
	by := c.plan.in.writersOf(res.object.ID, res.live)
	for _, d := range differs {
		field := v1alpha1.ReportedField{
			Resource: reference(res.object.ID, res.object.APIVersion), Path: d.Path,
			Desired: recordedValue(res.object.ID, d.Path, d.Desired), Live: recordedValue(res.object.ID, d.Path, d.Live),
		}
		if secretPath(res.object.ID, d.Path) {
			// No values of Secrets, not even masked ones.
			field.Desired, field.Live = nil, nil
		}
		// The limit applies to the Application, not to one resource.
		if c.observes++; c.observes > mostObserved {
			break
		}
		c.result.Status.Reported = append(c.result.Status.Reported, field)
		if c.isKnown(field) {
			continue
		}
		// A missing object has no difference, and its deleter in place of a writer.
		of := drift{}
		if d.Path == "" {
			of.WriteOrigin = historyWriter{c}.deleter(res, before)
		} else {
			of = historyWriter{c}.drift(res, d, by)
		}
		entry := historyWriter{c}.addHistory(res, v1alpha1.OutcomeObserved, of)
		done.paths, done.told = append(done.paths, cmp.Or(d.Path, "not there")), append(done.told, cmp.Or(describe(entry), "not there"))
	}
	if len(done.paths) > 0 {
		c.done = append(c.done, done)
	}
}

// isKnown reports whether the previous status reported a field with the same live value. Values of Secrets
// are not compared, because no status has them.
func (c *summarizer) isKnown(field v1alpha1.ReportedField) bool {
	// observedGeneration is -1 until the first status, which reports all drift as new.
	app := c.plan.in.Application
	return app.Status.ObservedGeneration >= 0 && slices.ContainsFunc(app.Status.Reported, func(was v1alpha1.ReportedField) bool {
		return was.Resource == field.Resource && was.Path == field.Path && spelled(was.Live) == spelled(field.Live)
	})
}

// observedText returns the text for the live and the desired value of a field.
func observedText(e v1alpha1.HistoryEntry) string {
	is, desired := "absent", "absent"
	if e.To != nil {
		is = truncate.String(string(e.To.Raw), 80)
	}
	if e.From != nil {
		desired = truncate.String(string(e.From.Raw), 80)
	}
	return " is " + is + bySuffix(e.Manager) + ", and " + desired + " is desired"
}

// idleReason returns the reason why nothing is written: the mode, or the suspension.
func (c conditionWriter) idleReason() string {
	if c.plan.IsObserveOnly() {
		return v1alpha1.ReasonObserving
	}
	return v1alpha1.ReasonSuspended
}

// observing returns the Ready verdict of an observe-only Application, which is never ready. The message describes what
// mode Hold would change.
func (c conditionWriter) observing() verdict {
	message := "observe-only: nothing is written until spec.mode is Hold, " + enablePreview(c.plan.Changes)
	if c.plan.Suspended() {
		message += "; spec.suspend is also set"
	}
	return falseVerdict(v1alpha1.ReasonObserving, message, false)
}

// differing returns the verdict on whether all objects of an observe-only Application are in sync.
func (c conditionWriter) differing() verdict {
	if len(c.waits) > 0 {
		return falseVerdict(v1alpha1.ReasonObserving, truncate.String(list(c.waits), 4096), false)
	}
	return trueVerdict(v1alpha1.ReasonObserving, "all fields are in sync, and none is held")
}
