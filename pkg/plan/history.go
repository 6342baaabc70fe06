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

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// HistoryRecord is an entry of the history when it is made.
type HistoryRecord struct {
	v1alpha1.HistoryEntry
	ID manifest.ID
	// UID of the object, if there is one.
	UID types.UID
	// Text says of a field what was changed, and by whom.
	Text string
}

// drift is a difference, and whose it is.
type drift struct {
	delta.Difference
	writer Writer
	// since is when it was there first; zero if that is not known.
	since time.Time
	WriteOrigin
}

// drift finds out whose a difference is that a resource has.
func (c *summarizer) drift(res *resource, d delta.Difference, by func() *writerIndex) drift {
	standing, stood := c.plan.in.Memory.PendingDrift[Leaf{res.object.ID, d.Path}]
	if stood && standing.Observed.Equal(d.Live) {
		of := drift{d, standing.Writer, standing.Since, standing.WriteOrigin}
		if of.User == (User{}) {
			of.WriteOrigin = c.plan.author(of.Version)
		}
		return of
	}
	from, written := by(), c.plan.in.ObservedWrites[res.object.ID]
	of := drift{d, from.writerOf(d), written.FirstSeen, c.plan.author(c.plan.in.versionOf(res.object.ID, from.live))}
	if written.Events > written.Writes && (observer.IsUnder(d.Path, "metadata") || observer.IsUnder(d.Path, "status")) {
		of.WriteOrigin = WriteOrigin{} // it may be a write of the status that has changed it
	}
	if of.since.IsZero() {
		of.since = of.writer.At
	}
	return of
}

// recordPendingDrift remembers what is not corrected yet, and whose it is: when it is, the watch may
// have told of others.
func (c *summarizer) recordPendingDrift(res *resource, before *v1alpha1.ResourceStatus, o resourceResult) {
	by := func() *writerIndex { return c.plan.in.authorsOf(res.object.ID, o.live) }
	if o.live == nil && !res.done {
		since := c.plan.in.ObservedWrites[res.object.ID].FirstSeen
		if standing, stood := c.plan.in.Memory.PendingDrift[res.leaf()]; stood {
			since = standing.Since
		}
		c.pendingDrift[res.leaf()] = PendingDrift{Since: since, WriteOrigin: c.plan.deleter(res, before)}
	}
	for _, d := range o.compared.Differences {
		of := c.drift(res, d, by)
		c.pendingDrift[Leaf{res.object.ID, d.Path}] = PendingDrift{of.since, of.writer, d.Live, of.WriteOrigin}
	}
}

// drifted are the differences of a resource that are another client's doing, and not that
// of a spec that is new: the live value is not the one that was desired before. What is
// pushed others may write; only a manifest that is new has it written.
func (p *Plan) drifted(res *resource) map[string]bool {
	if res.policy.adopts() || res.previous == nil || res.previous.created {
		return nil
	}
	drifted := map[string]bool{}
	for _, d := range res.change.Fields {
		if d.Rule != nil && d.Rule.Mode == observer.ModePush {
			continue
		}
		was, form := d.Was(), res.accepted[d.Path]
		accepted := form.Desired.Set && form.Desired.Equal(was) && form.Accepted.Equal(d.Live)
		drifted[d.Path] = p.isSameSpec() || was.Set && !was.Equal(d.Live) && !accepted
	}
	return drifted
}

// isSameSpec reports whether the spec is the one of which the status speaks.
func (p *Plan) isSameSpec() bool {
	app, source := p.in.Application, p.in.Source
	return app.Generation == app.Status.ObservedGeneration && (source == nil || source.ManifestDigest() == app.Status.ManifestDigest)
}

// learned adds to the history what was learned of an object that was known before. What is
// learned of a new one is the API server's own defaults.
func (c *summarizer) learned(res *resource, known *record, o resourceResult) {
	if known == nil || known.created || known.status == nil || known.status.UID == "" || known.entry == nil ||
		o.live == nil || o.action == Create || !c.plan.isSameSpec() || observer.Equal(known.desired, res.stored()) {
		return
	}
	before := map[string]bool{}
	in := c.plan.comparison(res, o.live)
	visit := func(tell func(delta.Field)) func(delta.Field) {
		return func(f delta.Field) {
			if f.State == delta.StateLearned && f.Desired.Set {
				tell(f)
			}
		}
	}
	in.Desired = known.desired
	delta.Walk(in, visit(func(f delta.Field) { before[f.Path.String()] = true }))
	by, author := c.plan.in.authorsOf(res.object.ID, o.live), c.plan.author(c.plan.in.versionOf(res.object.ID, o.live))
	delta.Walk(c.plan.comparison(res, o.live), visit(func(f delta.Field) {
		if path := f.Path.String(); !before[path] && !isTrackingPath(path) {
			d := delta.Difference{Path: path, Live: f.Desired}
			writer, _ := by.managerOfValue(f.Path)
			c.addHistory(res, v1alpha1.OutcomeLearned, drift{Difference: d, writer: writer, WriteOrigin: author})
		}
	}))
}

// correctionResult is what became of a drift that was corrected. If another value than the desired
// one came of that, and is accepted, it is the one to tell.
func (c *summarizer) correctionResult(leaf Leaf, of *drift) v1alpha1.HistoryOutcome {
	if form, accepted := c.acceptedForms[leaf]; accepted {
		of.Live = form
		return v1alpha1.OutcomeAccepted
	}
	if c.plan.in.Memory.Contests[leaf].Contested() {
		return v1alpha1.OutcomeContested
	}
	return v1alpha1.OutcomeCorrected
}

// addHistory adds to the history what has happened to a resource, or to a leaf of it.
func (c *summarizer) addHistory(res *resource, outcome v1alpha1.HistoryOutcome, of drift) v1alpha1.HistoryEntry {
	entry := v1alpha1.HistoryEntry{
		Time: c.now, Outcome: outcome, Resource: reference(res.object.ID, res.object.APIVersion), Path: of.Path,
		Manager: of.writer.Manager, Operation: of.writer.Operation, Subresource: of.writer.Subresource,
		From: recordedValue(res.object.ID, of.Path, of.Desired), To: recordedValue(res.object.ID, of.Path, of.Live),
	}
	if of.Rule != nil && outcome != v1alpha1.OutcomeObserved && of.Rule.Mode != observer.ModeAbsent {
		entry.From, entry.CorrectedTo = nil, entry.From
	}
	if !of.since.IsZero() && !c.at.Before(of.since) && outcome != v1alpha1.OutcomeObserved {
		entry.Duration = &metav1.Duration{Duration: c.at.Sub(of.since).Round(time.Millisecond)}
	}
	c.plan.attribute(&entry, of.WriteOrigin)
	live := c.outcomes[res.object.ID].Object
	if live == nil {
		live = res.live
	}
	c.result.NewHistory = append(c.result.NewHistory, HistoryRecord{entry, res.object.ID, types.UID(text(live, "metadata", "uid")), describe(entry)})
	return entry
}

// recordRelease adds to the history that an object is no longer the Application's.
func (c *summarizer) recordRelease(old *pruneCandidate, outcome v1alpha1.HistoryOutcome) {
	entry := v1alpha1.HistoryEntry{Time: c.now, Outcome: outcome, Resource: old.status.ResourceReference}
	c.result.NewHistory = append(c.result.NewHistory, HistoryRecord{entry, old.id, old.status.UID, ""})
}

// history writes what has happened. An Application that goes has none.
func (c *summarizer) history() {
	if c.preview || c.plan.retiring {
		c.result.NewHistory = nil
	}
	status, memory := &c.result.Status, c.plan.in.Memory
	var more []v1alpha1.HistoryEntry
	for _, h := range c.result.NewHistory {
		more = append(more, h.HistoryEntry)
	}
	status.History, memory.Older = c.plan.attributeHistory(status.History, len(more) > 0), c.plan.attributeHistory(memory.Older, len(more) > 0)
	kept, left := withEntries(status.History, more)
	status.History = kept
	if len(left) > 0 {
		older := slices.Concat(left, memory.Older)
		memory.Older = older[:min(len(older), v1alpha1.MaxOlderEntries)]
	}
}

// attributeHistory is a history with the names that have come since it was written. If there are any,
// or it is written anyway, those that come no more are no longer waited for.
func (p *Plan) attributeHistory(history []v1alpha1.HistoryEntry, written bool) []v1alpha1.HistoryEntry {
	waits := func(e v1alpha1.HistoryEntry) bool { return e.PendingUser != nil }
	comes := func(e v1alpha1.HistoryEntry) bool { return waits(e) && p.in.Users[*e.PendingUser] != User{} }
	if !slices.ContainsFunc(history, comes) && (!written || !slices.ContainsFunc(history, waits)) {
		return history
	}
	signed := slices.Clone(history)
	for i := range signed {
		e := &signed[i]
		switch {
		case comes(*e):
			p.attribute(e, p.author(*e.PendingUser))
		case waits(*e) && p.in.Now.Sub(e.Time.Time) >= nameWait:
			e.PendingUser = nil
		}
	}
	return counted(signed) // what is the same now is counted
}

// withEntries is a history with more entries at its beginning, given the oldest first, and
// without the oldest, for which there is no room: they are left, the newest of them first.
// What has happened just so before is counted.
func withEntries(history, more []v1alpha1.HistoryEntry) (kept, left []v1alpha1.HistoryEntry) {
	if len(more) == 0 {
		return history, nil
	}
	all := slices.Clone(more)
	slices.Reverse(all)
	all = counted(append(all, history...))
	room := fitting(all, v1alpha1.MaxHistoryEntries, v1alpha1.MaxHistoryBytes)
	for _, e := range all[room:] {
		if e.Outcome != v1alpha1.OutcomeCreated { // the objects themselves say when that was
			left = append(left, e)
		}
	}
	return all[:room], left
}

// WithOlder is what a history has beside the newest entries that the status has, with more
// of them at its beginning. Both are given the newest first, and of what is more than it may
// have, the oldest are forgotten.
func WithOlder(older, more []v1alpha1.HistoryEntry) []v1alpha1.HistoryEntry {
	all := counted(slices.Concat(more, older))
	return all[:fitting(all, v1alpha1.MaxOlderEntries, v1alpha1.MaxOlderBytes)]
}

// fitting is how many entries there is room for.
func fitting(all []v1alpha1.HistoryEntry, entries, bytes int) int {
	for i := range all {
		if bytes -= len(encode(all[i]).Raw) + len(","); i >= entries || bytes < 0 {
			return i
		}
	}
	return len(all)
}

// counted are entries, the newest first, each of them once: those that differ in nothing
// but when, and how often, are counted in the newest.
func counted(entries []v1alpha1.HistoryEntry) []v1alpha1.HistoryEntry {
	all, at := make([]v1alpha1.HistoryEntry, 0, len(entries)), make(map[occurrence]int, len(entries))
	for _, e := range entries {
		what := occurrenceOf(e)
		first, known := at[what]
		if !known {
			at[what] = len(all)
			all = append(all, e)
			continue
		}
		newest := &all[first]
		newest.Count = max(newest.Count, 1) + max(e.Count, 1)
		for _, since := range []*metav1.Time{e.Time.DeepCopy(), e.Since} {
			if since != nil && (newest.Since == nil || since.Before(newest.Since)) {
				newest.Since = since
			}
		}
	}
	return all
}

// occurrence is an entry without when, and how often, that can be compared.
type occurrence struct {
	v1alpha1.HistoryEntry

	from, to, correctedTo string
	unnamed               v1alpha1.ObjectVersion
}

func occurrenceOf(e v1alpha1.HistoryEntry) occurrence {
	o := occurrence{HistoryEntry: e, from: spelled(e.From), to: spelled(e.To), correctedTo: spelled(e.CorrectedTo)}
	if e.PendingUser != nil {
		o.unnamed = *e.PendingUser
	}
	o.Time, o.Duration, o.Count, o.Since = metav1.Time{}, nil, 0, nil
	o.From, o.To, o.CorrectedTo, o.PendingUser = nil, nil, nil, nil
	return o
}

// spelled is a value as we write it: what has been stored may be spelled otherwise.
func spelled(value *runtime.RawExtension) string {
	if value == nil {
		return ""
	}
	if bytes.ContainsAny(value.Raw, `{[\<>&`) {
		if decoded, ok := decodeValue(value); ok {
			return string(encode(decoded).Raw)
		}
	}
	return string(value.Raw)
}

// mostValueBytes is how much of a value the history has.
const mostValueBytes = 128

// recordedValue is a value as the history has it: of a Secret nothing but that there is one, and
// of what is long the beginning, with a digest that tells it from others.
func recordedValue(id manifest.ID, path string, v delta.Value) *runtime.RawExtension {
	if !v.Set {
		return nil
	}
	if secretPath(id, path) {
		v.Any = manifest.Masked
	}
	raw := encode(v.Any)
	if len(raw.Raw) > mostValueBytes {
		content, isText := v.Any.(string)
		if !isText {
			content = string(raw.Raw)
		}
		digest := sha256.Sum256([]byte(content))
		raw = encode(fmt.Sprintf("%s… (%d bytes, sha256:%x)", strings.ToValidUTF8(content[:min(len(content), mostValueBytes/2)], ""), len(content), digest[:6]))
	}
	return &raw
}

// describe is an entry of the history in an event: what was changed, from what to what, and
// by whom.
func describe(e v1alpha1.HistoryEntry) string {
	masked := slices.ContainsFunc([]*runtime.RawExtension{e.From, e.To, e.CorrectedTo}, func(v *runtime.RawExtension) bool {
		return v != nil && string(v.Raw) == `"`+manifest.Masked+`"`
	})
	text := e.Path
	switch {
	case e.Path == "":
		return ""
	case e.Outcome == v1alpha1.OutcomeAccepted:
		return text
	case masked:
		text += " was changed"
	case e.Outcome == v1alpha1.OutcomeObserved:
		return text + observedText(e)
	case e.CorrectedTo != nil && e.To == nil:
		return text + " was not there, and was corrected to " + shorten(string(e.CorrectedTo.Raw), 80)
	case e.CorrectedTo != nil:
		text += " was set to " + shorten(string(e.To.Raw), 80) + bySuffix(e.Manager)
		return text + ", which its rule does not allow, and was corrected to " + shorten(string(e.CorrectedTo.Raw), 80)
	case e.To == nil:
		text += " was removed"
	case e.From == nil:
		text += " was added: " + shorten(string(e.To.Raw), 80)
	default:
		text += " was changed from " + shorten(string(e.From.Raw), 80) + " to " + shorten(string(e.To.Raw), 80)
	}
	return text + bySuffix(e.Manager)
}
