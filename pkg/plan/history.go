package plan

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/internal/truncate"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/record"
	"holdfast.dev/holdfast/pkg/writer"
)

// HistoryRecord is a new history entry.
type HistoryRecord struct {
	v1alpha1.HistoryEntry
	ID manifest.ID
	// UID of the object, if there is one.
	UID types.UID
	// Text describes the change of a field and its writer.
	Text string
}

// drift is a difference with its writer.
type drift struct {
	// An outcome of the whole object contains a zero Difference.
	delta.Difference
	writer writer.Writer
	// since is the time at which it was first found; zero if that is not known.
	since time.Time
	WriteOrigin
}

// drift finds the writer of a difference of a resource. by returns the index of writers, and is called only if
// needed. If the same live value is already pending drift, its writer and time are kept: later writes of other
// fields would hide them.
func (c historyWriter) drift(res *resource, d delta.Difference, by func() *writer.Index) drift {
	standing, stood := c.plan.in.Memory.PendingDrift[Leaf{res.object.ID, d.Path}]
	if stood && standing.Observed.Equal(d.Live) {
		of := drift{d, standing.Writer, standing.Since, standing.WriteOrigin}
		if of.User == (User{}) {
			// The audit event of the write may have arrived since.
			of.WriteOrigin = c.author(of.Version)
		}
		return of
	}
	from, written := by(), c.plan.in.ObservedWrites[res.object.ID]
	of := drift{d, from.OfDifference(d), written.FirstSeen, c.author(c.plan.in.versionOf(res.object.ID, from.Live))}
	if written.Events > written.Writes && (observer.IsUnder(d.Path, "metadata") || observer.IsUnder(d.Path, "status")) {
		of.WriteOrigin = WriteOrigin{} // a write of the status may have changed it
	}
	if of.since.IsZero() {
		// The watch did not deliver the change, for example after a restart. managedFields has it to the second.
		of.since = of.writer.At
	}
	return of
}

// recordPendingDrift keeps drift that is not corrected yet, with its writer. When it is corrected, the
// watch may have delivered the writes of other clients.
func (c historyWriter) recordPendingDrift(res *resource, before *v1alpha1.ResourceStatus, o resourceResult) {
	by := c.plan.in.writersOf(res.object.ID, o.live)
	// The missing object is pending drift, too, with its deleter.
	if o.live == nil && !res.done {
		c.pendingDrift[res.leaf()] = PendingDrift{Since: c.missingSince(res), WriteOrigin: c.deleter(res, before)}
	}
	for _, d := range o.compared.Differences {
		of := c.drift(res, d, by)
		c.pendingDrift[Leaf{res.object.ID, d.Path}] = PendingDrift{of.since, of.writer, d.Live, of.WriteOrigin}
	}
}

// missingSince returns the time at which the object of a resource was first found to be missing; zero if that is not
// known.
func (c historyWriter) missingSince(res *resource) time.Time {
	if standing, stood := c.plan.in.Memory.PendingDrift[res.leaf()]; stood {
		return standing.Since
	}
	return c.plan.in.ObservedWrites[res.object.ID].FirstSeen
}

// drifted returns the paths of a resource that another client changed, as opposed to those that differ
// because the desired value is new: the live value is not the one that was desired before. Fields with mode push are
// not included, because other clients may write them, and only a new manifest overwrites them. It returns nil for an
// object that the status does not describe yet.
func (f *facts) drifted(res *resource) map[string]bool {
	if res.policy.Adopts() || res.previous == nil || res.previous.Created {
		return nil
	}
	drifted := map[string]bool{}
	for _, d := range res.change.Fields {
		if d.Rule != nil && d.Rule.Mode == observer.ModePush {
			continue
		}
		// A value that is neither the previous desired value nor its accepted form is drift. If it is one of them, the
		// desired value is new, also with the same spec: an earlier request for it has failed.
		was, form := d.Was(), res.accepted[d.Path]
		accepted := form.Desired.Set && form.Desired.Equal(was) && form.Accepted.Equal(d.Live)
		switch {
		case was.Set:
			drifted[d.Path] = !was.Equal(d.Live) && !accepted
		case d.Live.Set || d.Rule != nil || claim.IsTrackingPath(d.Path): // the record has no values of these two
			drifted[d.Path] = f.isSameSpec()
		}
	}
	return drifted
}

// learned adds to the history the values that were learned from an object that the status already had.
// Values that are learned from a new object are defaults of the API server. known is the record before the reconcile.
func (c historyWriter) learned(res *resource, known *record.Record, o resourceResult) {
	if known == nil || known.Created || known.Status == nil || known.Status.UID == "" || known.Entry == nil ||
		o.live == nil || o.action == Create || !c.plan.isSameSpec() || observer.Equal(known.Desired, res.stored()) {
		return
	}
	before := map[string]bool{}
	in := comparer{&c.plan.facts}.comparison(res, o.live)
	visit := func(tell func(delta.Field)) func(delta.Field) {
		return func(f delta.Field) {
			if f.State == delta.StateLearned && f.Desired.Set {
				tell(f)
			}
		}
	}
	// The first walk finds the fields that were known before, and the second one those that are known now.
	in.Desired = known.Desired
	delta.Walk(in, visit(func(f delta.Field) { before[f.Path.String()] = true }))
	by, author := c.plan.in.writersOf(res.object.ID, o.live), c.author(c.plan.in.versionOf(res.object.ID, o.live))
	delta.Walk(comparer{&c.plan.facts}.comparison(res, o.live), visit(func(f delta.Field) {
		if path := f.Path.String(); !before[path] && !claim.IsTrackingPath(path) {
			d := delta.Difference{Path: path, Live: f.Desired}
			writer, _ := by().OfValue(f.Path)
			c.addHistory(res, v1alpha1.OutcomeLearned, drift{Difference: d, writer: writer, WriteOrigin: author})
		}
	}))
}

// mostAdditions limits the number of reported additions of a resource.
const mostAdditions = 100

// added adds the elements that other clients added to open lists to the status. It adds those that the previous
// status did not have to the history as well, unless the object is new to the status: then the response to its
// create, or the state before its adoption, has them.
func (c historyWriter) added(res *resource, before *v1alpha1.ResourceStatus, o resourceResult) {
	status := &c.result.Status.Resources[len(c.result.Status.Resources)-1]
	isSame := before != nil && before.UID == status.UID
	if o.compared.AcceptedUsed == nil && isSame { // not compared
		status.Additions = before.Additions
	}
	isKnown := isSame && before.UID != "" && o.live != nil && !c.preview
	by := c.plan.in.writersOf(res.object.ID, o.live)
	for _, d := range o.compared.Additions[:min(len(o.compared.Additions), mostAdditions)] {
		status.Additions = append(status.Additions, d.Path)
		if isKnown && !slices.Contains(before.Additions, d.Path) {
			c.addHistory(res, v1alpha1.OutcomeAdded, c.drift(res, d, by))
		}
	}
}

// correctionResult returns the outcome of a correction. If the API server stored a value that is accepted from now
// on, correctionResult sets it as the live value of the drift.
func (c historyWriter) correctionResult(leaf Leaf, of *drift) v1alpha1.HistoryOutcome {
	if form, accepted := c.newForms[leaf]; accepted {
		of.Live = form
		return v1alpha1.OutcomeAccepted
	}
	if c.plan.in.Memory.Contests[leaf].Contested() {
		return v1alpha1.OutcomeContested
	}
	return v1alpha1.OutcomeCorrected
}

// addHistory adds an outcome of a resource, or of one of its leaves, to the history, and returns the entry. An outcome
// of the whole resource has a zero Difference. Values of Secrets are masked.
func (c historyWriter) addHistory(res *resource, outcome v1alpha1.HistoryOutcome, of drift) v1alpha1.HistoryEntry {
	entry := v1alpha1.HistoryEntry{
		Time: c.now, Outcome: outcome, Resource: reference(res.object.ID, res.object.APIVersion), Path: of.Path,
		Manager: of.writer.Manager, Operation: of.writer.Operation, Subresource: of.writer.Subresource,
		From: recordedValue(res.object.ID, of.Path, of.Desired), To: recordedValue(res.object.ID, of.Path, of.Live),
	}
	// A rule allows several values. The written one is no value that the field had before.
	if of.Rule != nil && outcome != v1alpha1.OutcomeObserved && of.Rule.Mode != observer.ModeAbsent {
		entry.From, entry.CorrectedTo = nil, entry.From
	}
	if !of.since.IsZero() && !c.at.Before(of.since) && outcome != v1alpha1.OutcomeObserved && outcome != v1alpha1.OutcomeAdded {
		entry.Duration = &metav1.Duration{Duration: c.at.Sub(of.since).Round(time.Millisecond)}
	}
	c.attribute(&entry, of.WriteOrigin)
	// The response, because an object that was created again has another UID.
	live := c.outcomes[res.object.ID].Object
	if live == nil {
		live = res.live
	}
	c.result.NewHistory = append(c.result.NewHistory, HistoryRecord{entry, res.object.ID, types.UID(manifest.NestedString(live, "metadata", "uid")), describe(entry)})
	return entry
}

// recordRelease adds to the history that an object no longer belongs to the Application.
func (c historyWriter) recordRelease(old *pruneCandidate, outcome v1alpha1.HistoryOutcome) {
	entry := v1alpha1.HistoryEntry{Time: c.now, Outcome: outcome, Resource: old.status.ResourceReference}
	c.result.NewHistory = append(c.result.NewHistory, HistoryRecord{entry, old.id, old.status.UID, ""})
}

// history writes the history to the status. An Application that is being deleted has none. Entries that no longer fit
// into the status are moved to State.Older, from which the controller writes them to slices.
func (c historyWriter) history() {
	if c.preview || c.plan.retiring {
		c.result.NewHistory = nil
	}
	status, memory := &c.result.Status, c.plan.in.Memory
	var more []v1alpha1.HistoryEntry
	for _, h := range c.result.NewHistory {
		more = append(more, h.HistoryEntry)
	}
	status.History, memory.Older = c.attributeHistory(status.History, len(more) > 0), c.attributeHistory(memory.Older, len(more) > 0)
	kept, left := withEntries(status.History, more)
	status.History = kept
	if len(left) > 0 {
		// Concat allocates: the slice in the caller's State must not change.
		older := slices.Concat(left, memory.Older)
		memory.Older = older[:min(len(older), v1alpha1.MaxOlderEntries)]
	}
}

// author returns the origin of an object version. Its user is empty if no audit event has identified it yet.
func (c historyWriter) author(v v1alpha1.ObjectVersion) WriteOrigin {
	return WriteOrigin{v, c.plan.in.Users[v]}
}

// deleter returns the origin of the deletion of a resource's object. before is its inventory entry, whose UID
// identifies the deletion. It returns the zero origin for Secrets and for objects that never existed.
func (c historyWriter) deleter(res *resource, before *v1alpha1.ResourceStatus) WriteOrigin {
	if standing, stood := c.plan.in.Memory.PendingDrift[res.leaf()]; stood && standing.User != (User{}) {
		return standing.WriteOrigin
	}
	if before == nil || before.UID == "" || manifest.IsSecret(res.object.ID.GroupKind()) {
		return WriteOrigin{}
	}
	return c.author(v1alpha1.ObjectVersion{UID: before.UID})
}

// attribute adds the user to a history entry. If the user is not known yet, it sets PendingUser, unless
// no audit events are received.
func (c historyWriter) attribute(entry *v1alpha1.HistoryEntry, by WriteOrigin) {
	switch {
	case by.User != (User{}):
		entry.User, entry.Impersonator, entry.SourceIP, entry.PendingUser = by.User.Name, by.User.Impersonator, by.User.Address, nil
	case c.plan.in.Users != nil && by.Version != (v1alpha1.ObjectVersion{}):
		entry.PendingUser = &by.Version
	}
}

// attributeHistory returns a history with the user names that became known since it was written. If there
// are any, or if the history is written in any case, entries that are older than nameWait stop waiting for
// a name.
func (c historyWriter) attributeHistory(history []v1alpha1.HistoryEntry, written bool) []v1alpha1.HistoryEntry {
	waits := func(e v1alpha1.HistoryEntry) bool { return e.PendingUser != nil }
	// An entry waits while its user is not known. An audit event may have identified the user since.
	comes := func(e v1alpha1.HistoryEntry) bool { return waits(e) && c.plan.in.Users[*e.PendingUser] != User{} }
	if !slices.ContainsFunc(history, comes) && (!written || !slices.ContainsFunc(history, waits)) {
		return history
	}
	// A clone, because the history is part of the Application.
	signed := slices.Clone(history)
	for i := range signed {
		e := &signed[i]
		switch {
		case comes(*e):
			c.attribute(e, c.author(*e.PendingUser))
		case waits(*e) && c.plan.in.Now.Sub(e.Time.Time) >= nameWait:
			e.PendingUser = nil
		}
	}
	return counted(signed) // entries that are equal now are merged
}

// withEntries adds entries, which are given oldest first, to the beginning of a history. left contains the
// oldest entries, for which there is no room, newest first. Equal entries are merged and counted. It does not change
// its arguments.
func withEntries(history, more []v1alpha1.HistoryEntry) (kept, left []v1alpha1.HistoryEntry) {
	if len(more) == 0 {
		return history, nil
	}
	all := slices.Clone(more)
	slices.Reverse(all)
	all = counted(append(all, history...))
	room := fitting(all, v1alpha1.MaxHistoryEntries, v1alpha1.MaxHistoryBytes)
	for _, e := range all[room:] {
		if e.Outcome != v1alpha1.OutcomeCreated { // an object has its own creationTimestamp
			left = append(left, e)
		}
	}
	return all[:room], left
}

// WithOlder adds entries to the beginning of the part of a history that does not fit into the status. Both
// are given newest first. It drops the oldest entries that exceed the limits.
func WithOlder(older, more []v1alpha1.HistoryEntry) []v1alpha1.HistoryEntry {
	all := counted(slices.Concat(more, older))
	return all[:fitting(all, v1alpha1.MaxOlderEntries, v1alpha1.MaxOlderBytes)]
}

// fitting returns the number of entries that fit into the limits, from the first one. bytes limits their JSON.
func fitting(all []v1alpha1.HistoryEntry, entries, bytes int) int {
	for i := range all {
		if bytes -= len(manifest.EncodeRaw(all[i]).Raw) + len(","); i >= entries || bytes < 0 {
			return i
		}
	}
	return len(all)
}

// counted merges entries, which are given newest first: entries that differ only in their time and count
// are counted in the newest one. For example, corrections of one field at 9:00, 9:05 and 9:10 become one entry of
// 9:10 with count 3, since 9:00.
func counted(entries []v1alpha1.HistoryEntry) []v1alpha1.HistoryEntry {
	all, at := make([]v1alpha1.HistoryEntry, 0, len(entries)), make(map[string]int, len(entries))
	for _, e := range entries {
		what := occurrence(e)
		first, known := at[what]
		if !known {
			at[what] = len(all)
			all = append(all, e)
			continue
		}
		newest := &all[first]
		newest.Count = max(newest.Count, 1) + max(e.Count, 1)
		// Since is the time of the oldest of the merged entries.
		for _, since := range []*metav1.Time{e.Time.DeepCopy(), e.Since} {
			if since != nil && (newest.Since == nil || since.Before(newest.Since)) {
				newest.Since = since
			}
		}
	}
	return all
}

// occurrence returns an entry without its time and count, as text that can be compared.
func occurrence(e v1alpha1.HistoryEntry) string {
	values := []string{spelled(e.From), spelled(e.To), spelled(e.CorrectedTo)}
	e.Time, e.Duration, e.Count, e.Since = metav1.Time{}, nil, 0, nil
	e.From, e.To, e.CorrectedTo = nil, nil, nil
	return string(manifest.EncodeJSON([]any{e, values}))
}

// spelled returns a value in the encoding of this package, because a stored value may be encoded in another
// way.
func spelled(value *runtime.RawExtension) string {
	if value == nil {
		return ""
	}
	// Only such values can have several encodings: the order of keys, spaces, and escapes.
	if bytes.ContainsAny(value.Raw, `{[\<>&`) {
		if decoded, ok := manifest.DecodeRawValue(value); ok {
			return string(manifest.EncodeRaw(decoded).Raw)
		}
	}
	return string(value.Raw)
}

// mostValueBytes limits the length of a value in the history.
const mostValueBytes = 128

// recordedValue returns a value for the history, or nil if it is absent. A value of a Secret is masked. A long value
// is truncated, and a digest distinguishes it from others: "BEGIN… (2048 bytes, sha256:0a1b2c3d4e5f)". It is then a
// string, regardless of its type.
func recordedValue(id manifest.ID, path string, v delta.Value) *runtime.RawExtension {
	if !v.Set {
		return nil
	}
	if secretPath(id, path) {
		v.Any = manifest.Masked
	}
	raw := manifest.EncodeRaw(v.Any)
	if len(raw.Raw) > mostValueBytes {
		content, isText := v.Any.(string)
		if !isText {
			content = string(raw.Raw)
		}
		digest := sha256.Sum256([]byte(content))
		raw = manifest.EncodeRaw(fmt.Sprintf("%s… (%d bytes, sha256:%x)", strings.ToValidUTF8(content[:min(len(content), mostValueBytes/2)], ""), len(content), digest[:6]))
	}
	return &raw
}

// describe returns the text of a history entry for an event: the field, its old and new value, and the
// writer. It returns "" for an entry about the whole object.
func describe(e v1alpha1.HistoryEntry) string {
	masked := slices.ContainsFunc([]*runtime.RawExtension{e.From, e.To, e.CorrectedTo}, func(v *runtime.RawExtension) bool {
		return v != nil && string(v.Raw) == `"`+manifest.Masked+`"`
	})
	// Values of Secrets are masked in the entry. A masked old and new value would look equal.
	text := e.Path
	switch {
	case e.Path == "":
		return ""
	case e.Outcome == v1alpha1.OutcomeAccepted:
		return text
	case masked && e.To != nil:
		text += " was changed"
	case e.Outcome == v1alpha1.OutcomeObserved:
		return text + observedText(e)
	case e.CorrectedTo != nil && e.To == nil:
		return text + " was missing, and was corrected to " + truncate.String(string(e.CorrectedTo.Raw), 80)
	case e.CorrectedTo != nil:
		text += " was set to " + truncate.String(string(e.To.Raw), 80) + bySuffix(e.Manager)
		return text + ", which its rule does not allow, and was corrected to " + truncate.String(string(e.CorrectedTo.Raw), 80)
	case e.To == nil:
		text += " was removed"
	case e.From == nil:
		text += " was added: " + truncate.String(string(e.To.Raw), 80)
	default:
		text += " was changed from " + truncate.String(string(e.From.Raw), 80) + " to " + truncate.String(string(e.To.Raw), 80)
	}
	return text + bySuffix(e.Manager)
}
