package page

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/report"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// History is the history of an Application, the newest entry first, as pictures and as a table.
type History struct {
	Namespace, Name string
	Items           []HistoryItem
	Pictures        []Picture
	// Note is why older entries are missing; "" if no entry is missing.
	Note string
}

// Chunks returns the entries in pieces. The browser lays out a piece only when it is visible.
func (h History) Chunks() [][]HistoryItem { return slices.Collect(slices.Chunk(h.Items, 50)) }

// IsOfSeveral is false: the page names its Application elsewhere, so the table names the writers.
func (h History) IsOfSeveral() bool { return false }

// Pictured returns the entries that the pictures show.
func (h History) Pictured() []HistoryItem { return h.Items[:min(len(h.Items), pictured)] }

// HistoryItem is one history entry, or an event in the list of an Application, or a field that has drifted.
type HistoryItem struct {
	Badge    Badge
	At       time.Time
	Resource string
	Ref      string // "" for an object without a page
	Anchor   string // the ID of the field or the object in a file
	// Namespace and Application name the Application of a history entry.
	Namespace, Application string
	Path                   string
	// Desired is "" for a learned field, whose live value is the desired value.
	Live, Desired string
	Author
	Stood string
	Count int32
	Since time.Time
	// Note is the text of an event; "" for others.
	Note string
}

// Author is the client that made a change.
type Author struct {
	By   string
	User string // with the source address; "" if it is not known
}

// Picture is a time line with a lane for each field or writer. Its parts are positioned in percent of its
// width and pixels of its height.
type Picture struct {
	Title  string
	Height int
	// Oldest and Newest are the times at the ends of the axis.
	Oldest, Newest time.Time
	Ticks          []Tick
	Lanes          []Lane
}

// Axis returns the vertical position at which the lanes end and the axis begins.
func (p Picture) Axis() int { return p.Height - axisHeight }

// Tick is a time on the axis.
type Tick struct {
	X    string
	Text string
	// IsLate is true if the tick is so near to the end that there is no room for it on a narrow page.
	IsLate bool
}

// Lane is a row with the marks of one field or writer.
type Lane struct {
	Name string
	Y    int // of its line; its name is above the line
	// Marks are sorted, the newest last, so that the newest is drawn on top.
	Marks []Mark
}

// Mark is a history entry in a picture. From is the position at which a repeated change began; "" for others.
type Mark struct {
	X, From string
	HistoryItem
}

// outcomes maps each outcome to its badge.
var outcomes = map[v1alpha1.HistoryOutcome]Badge{
	v1alpha1.OutcomeCorrected: {"drifted", "~", "corrected", ""}, v1alpha1.OutcomeContested: {"contested", "!", "contested", ""},
	v1alpha1.OutcomeAccepted: {"accepted", "≈", "accepted", ""}, v1alpha1.OutcomeLearned: {"learned", "+", "learned", ""},
	v1alpha1.OutcomeAdded:    {"other", "+", "added", ""},
	v1alpha1.OutcomeRestored: {"removed", "↺", "restored", ""}, v1alpha1.OutcomeCreated: {"held", "*", "created", ""},
	v1alpha1.OutcomeAdopted: {"held", "◆", "adopted", ""}, v1alpha1.OutcomeReleased: {"other", "○", "released", ""},
	v1alpha1.OutcomeDeleted: {"removed", "×", "deleted", ""}, v1alpha1.OutcomeObserved: {"drifted", "◎", "observed", ""},
}

// pictured is the maximum number of entries in a picture. Readers could not distinguish more.
const pictured = 60

// historyOf returns the history of an Application from its status, and the older entries from its slices. It
// does not change d.
func historyOf(d files.Decision, older []v1alpha1.HistoryEntry) History {
	h := History{Namespace: d.Namespace, Name: d.Name}
	// A shallow copy suffices, because only the list itself is replaced.
	app := *d.Application
	app.Status.History = slices.Concat(app.Status.History, older)
	for _, e := range report.HistoryOf(&app) {
		h.Items = append(h.Items, linkedItem(d, e))
	}
	if len(h.Items) == 0 {
		return h
	}
	h.Pictures = []Picture{pictureOf("By field", h.Pictured(), HistoryItem.subject), pictureOf("By writer", h.Pictured(), HistoryItem.client)}
	return h
}

// linkedItem returns an entry of one Application, with a link if the object has a page.
func linkedItem(d files.Decision, e report.EntryView) HistoryItem {
	one := historyItem(e, d.Namespace)
	if id := report.ResourceID(e.Resource); slices.ContainsFunc(d.Changes, func(c plan.Change) bool { return c.ID == id }) {
		one.Ref = RefOf(id)
	}
	return one
}

// historyItem returns an entry with names relative to a namespace.
func historyItem(e report.EntryView, namespace string) HistoryItem {
	id := report.ResourceID(e.Resource)
	live, desired := e.Values()
	one := HistoryItem{
		Badge: outcomes[v1alpha1.HistoryOutcome(e.Outcome)], At: timeOf(e.Time), Resource: files.NameOf(id, namespace), Path: e.Path, Count: max(e.Count, 1),
		Namespace: e.Application.Namespace, Application: e.Application.Name, Live: viewText(id, live), Author: Author{By: e.Writer(), User: e.UserText()}, Since: timeOf(e.Since),
	}
	if !e.HasOneValue() {
		one.Desired = viewText(id, desired)
	}
	if one.Badge.Word == "" {
		one.Badge = Badge{Class: "free", Sign: "·", Word: e.Outcome}
	}
	if stood, err := time.ParseDuration(e.Stood); err == nil {
		one.Stood = shortSpan(stood)
	}
	return one
}

// viewText returns a value of the history on one line. Values of an Application among the manifests are
// masked.
func viewText(id manifest.ID, value delta.Value) string {
	switch {
	case !value.Set:
		return "(absent)"
	case manifest.HasManifests(id.GroupKind()): // its manifests may contain Secrets
		return manifest.Masked
	}
	text, whole := terminal.Inline(value)
	if !whole {
		return "(several lines)"
	}
	return terminal.Visible(text)
}

// shortSpan returns a duration as a text, with milliseconds if it is short.
func shortSpan(d time.Duration) string {
	if d < 10*time.Second {
		return d.Round(time.Millisecond).String()
	}
	return terminal.Span(d)
}

// subject returns the name of the field or the object that changed.
func (h HistoryItem) subject() string {
	if h.Path == "" {
		return h.Resource
	}
	return h.Resource + " · " + h.Path
}

// client returns the name of the writer. Holdfast itself is the writer of changes that follow from the spec.
func (h HistoryItem) client() string {
	if slices.Contains([]string{"created", "adopted", "released", "deleted"}, h.Badge.Word) {
		return "Holdfast, for the spec"
	}
	return cmp.Or(h.By, "unknown")
}

// Heights of the parts of a picture, in pixels.
const (
	axisHeight = 24
	laneHeight = 46
)

// pictureOf returns a picture with a lane for each name. all must not be empty, and its newest item is first.
func pictureOf(title string, all []HistoryItem, name func(HistoryItem) string) Picture {
	p := Picture{Title: title, Oldest: oldestOf(all), Newest: all[0].At}
	x, ticks := axisOf(p.Oldest, p.Newest)
	p.Ticks = ticks
	at := map[string]int{}
	// The oldest item is drawn first, so that newer ones are on top of it.
	for _, one := range slices.Backward(all) {
		lane, known := at[name(one)]
		if !known {
			lane = len(p.Lanes)
			at[name(one)] = lane
			p.Lanes = append(p.Lanes, Lane{Name: name(one)})
		}
		m := Mark{X: x(one.At), HistoryItem: one}
		if !one.Since.IsZero() {
			m.From = x(one.Since)
		}
		p.Lanes[lane].Marks = append(p.Lanes[lane].Marks, m)
	}
	slices.Reverse(p.Lanes) // the newest first
	for i := range p.Lanes {
		p.Lanes[i].Y = i*laneHeight + 32
	}
	p.Height = len(p.Lanes)*laneHeight + axisHeight
	return p
}

// oldestOf returns the earliest time in the items, including the times at which repeated changes began.
func oldestOf(all []HistoryItem) time.Time {
	oldest := all[0].At
	for _, one := range all {
		for _, at := range []time.Time{one.At, one.Since} {
			if !at.IsZero() && at.Before(oldest) {
				oldest = at
			}
		}
	}
	return oldest
}

// axisOf returns a function for the position of a time on the axis, and the ticks. The axis ends at the
// newest time and is logarithmic. Recent times have more room, so that the changes of a burst are
// distinguishable, and times days ago are visible too.
func axisOf(oldest, newest time.Time) (x func(time.Time) string, ticks []Tick) {
	before := newest.Sub(oldest)
	scale := math.Log1p(max(before.Seconds(), 1) * 1.2)
	percent := func(at time.Time) float64 {
		const left, right = 3.0, 97.0
		return right - (right-left)*math.Log1p(max(newest.Sub(at).Seconds(), 0))/scale
	}
	x = func(at time.Time) string { return strconv.FormatFloat(percent(at), 'f', 2, 64) + "%" }
	for _, age := range []time.Duration{
		time.Second, 10 * time.Second, time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour,
	} {
		at := newest.Add(-age)
		if age <= before && percent(at) > 20 { // the label of the oldest time is further left
			ticks = append(ticks, Tick{x(at), "−" + terminal.Span(age), percent(at) > 75})
		}
	}
	return x, ticks
}
