package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/explain"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// HistoryView is the output of `history -o json`.
type HistoryView struct {
	Type    `yaml:",inline"`
	Entries []EntryView `json:"entries" yaml:"entries"`
}

// EntryView is one history entry. An absent value is omitted; null is printed. See Line for its text.
type EntryView struct {
	Time        string               `json:"time" yaml:"time"`
	Application explain.ViewOwner    `json:"application" yaml:"application"`
	Outcome     string               `json:"outcome" yaml:"outcome"`
	Resource    explain.ViewResource `json:"resource" yaml:"resource"`
	Path        string               `json:"path,omitempty" yaml:"path,omitempty"`
	From        delta.Value          `json:"from,omitzero" yaml:"from,omitempty"`
	To          delta.Value          `json:"to,omitzero" yaml:"to,omitempty"`
	CorrectedTo delta.Value          `json:"correctedTo,omitzero" yaml:"correctedTo,omitempty"`
	Author      `yaml:",inline"`
	// This is how long the change lasted until it was handled, as a Go duration.
	Stood string `json:"duration,omitempty" yaml:"duration,omitempty"`
	// Count is how often the same event occurred, and Since is the first time. Both are omitted for one event.
	Count int32  `json:"count,omitempty" yaml:"count,omitempty"`
	Since string `json:"since,omitempty" yaml:"since,omitempty"`

	// The unexported fields are the parsed Resource, Time and Stood.
	id    manifest.ID
	at    time.Time
	stood time.Duration
}

// Author is the client that made a change. Only the API server knows the user for certain: each client chooses the name
// of its field manager.
type Author struct {
	Manager     string `json:"manager,omitempty" yaml:"manager,omitempty"`
	Operation   string `json:"operation,omitempty" yaml:"operation,omitempty"`
	Subresource string `json:"subresource,omitempty" yaml:"subresource,omitempty"`
	// User, Impersonator and SourceIP are known only from audit events.
	User         string `json:"user,omitempty" yaml:"user,omitempty"`
	Impersonator string `json:"impersonator,omitempty" yaml:"impersonator,omitempty"`
	SourceIP     string `json:"sourceIP,omitempty" yaml:"sourceIP,omitempty"`
}

// HistoryOf returns the history of an Application, the newest entry first. It contains the entries in the status only. For
// those in slices, callers first add them to the status of a copy.
func HistoryOf(app *v1alpha1.Application) []EntryView {
	entries := make([]EntryView, 0, len(app.Status.History))
	for _, e := range app.Status.History {
		v := EntryView{
			Time: timeText(e.Time), Application: explain.ViewOwner{Namespace: app.Namespace, Name: app.Name}, Outcome: string(e.Outcome),
			Resource: explain.ViewResource(e.Resource), Path: e.Path, From: rawValue(e.From), To: rawValue(e.To), CorrectedTo: rawValue(e.CorrectedTo),
			Author: Author{e.Manager, string(e.Operation), e.Subresource, e.User, e.Impersonator, e.SourceIP}, Count: e.Count,
			id: manifest.IDFromReference(e.Resource), at: e.Time.Time,
		}
		if e.Duration != nil {
			v.stood, v.Stood = e.Duration.Duration, e.Duration.Duration.String()
		}
		if e.Since != nil {
			v.Since = timeText(*e.Since)
		}
		entries = append(entries, v)
	}
	return entries
}

// rawValue returns a recorded value. A malformed one is absent.
func rawValue(raw *runtime.RawExtension) delta.Value {
	var value any
	if raw == nil || utiljson.Unmarshal(raw.Raw, &value) != nil {
		return delta.Value{}
	}
	return delta.NewValue(value)
}

// HistoryFilter is a selection of history entries. An entry must match all fields that are set.
type HistoryFilter struct {
	// Since is the time of the oldest entry to return; zero for no limit.
	Since time.Time
	// By is a field manager or a user.
	By string
	// Resource is KIND/NAME. Path is a field path, with or without a leading dot.
	Resource, Path string
}

// Select returns the entries that match the filter. It returns an error if Path is invalid. A path matches the fields at,
// below and above it: an entry for spec.template also concerns spec.template.spec.
func (f HistoryFilter) Select(entries []EntryView) ([]EntryView, error) {
	path, err := observer.ParsePath(strings.TrimPrefix(f.Path, "."))
	if err != nil {
		return nil, err
	}
	wanted := []EntryView{}
	for _, e := range entries {
		// By matches an impersonator, too, because that user sent the request.
		if e.at.Before(f.Since) || f.By != "" && !slices.Contains([]string{e.Manager, e.User, e.Impersonator}, f.By) {
			continue
		}
		if f.Resource != "" {
			if _, err := files.FindResource(f.Resource, []manifest.ID{e.id}); err != nil {
				continue
			}
		}
		if path != nil {
			own, err := observer.ParsePath(e.Path)
			if err != nil || own == nil {
				continue
			}
			if below, above := own.Compare(path); !below && !above {
				continue
			}
		}
		wanted = append(wanted, e)
	}
	return wanted, nil
}

// SortHistory sorts the entries of several Applications, the newest first.
func SortHistory(entries []EntryView) {
	slices.SortStableFunc(entries, func(a, b EntryView) int { return b.at.Compare(a.at) })
}

// Line returns an entry as a text for users: the outcome, the object, the field and the writer. It names the
// Application if withApplication is true. The text is escaped.
//
//	Corrected ConfigMap web data.mode: test → live, by kubectl-edit (Update), user alice from 10.0.0.7, stood 3s
//	Contested Deployment web spec.replicas: 5 → 2, by hpa (Update, scale) (7 times since 10m ago)
//	Restored ConfigMap web, deleted by an unknown client (only audit events name it)
//	Learned Deployment web spec.paused: false, by kubectl (Apply)
func (e EntryView) Line(now time.Time, withApplication bool) string {
	text := e.Outcome + " " + files.NameOf(e.id, e.Application.Namespace)
	if withApplication {
		text += " of " + e.Application.Namespace + "/" + e.Application.Name
	}
	if e.Path != "" {
		text += " " + e.Path + ": " + e.valueText() + ","
	}
	if e.Manager != "" {
		text += " by " + e.Writer()
	}
	switch user := e.UserText(); {
	case user != "" && e.Manager != "":
		text += ", " + user
	case user != "":
		text += " by " + user
	case e.Manager == "" && e.Path != "":
		text += " by an unknown client"
	case e.isDeletion():
		text += ", deleted by an unknown client (only audit events name it)"
	}
	if e.Stood != "" {
		text += ", stood " + e.Stood
	}
	if since, err := time.Parse(time.RFC3339, e.Since); e.Count > 1 && err == nil {
		text += fmt.Sprintf(" (%d times since %s)", e.Count, terminal.Ago(now, since))
	}
	return terminal.Visible(text)
}

// valueText returns the live value of the field, and the desired value if that is another one. It uses the offline
// kinds for a default, because entries must not cost requests.
func (e EntryView) valueText() string {
	live, desired := e.Values()
	if e.HasOneValue() {
		return inlineView(live)
	}
	text := inlineView(live) + " → " + inlineView(desired)
	if remark := DefaultText(intent.Offline(), e.Resource.APIVersion, e.Resource.Kind, e.Path); !desired.Set && remark != "" {
		text += " (" + remark + ")"
	}
	return text
}

// HasOneValue reports whether the live value is the desired one: for a learned field, for an element that another client
// added, and if both are absent. Other entries have two values, which are equal if both are masked.
func (e EntryView) HasOneValue() bool {
	outcome := v1alpha1.HistoryOutcome(e.Outcome)
	isSame := outcome == v1alpha1.OutcomeLearned || outcome == v1alpha1.OutcomeAdded || !e.From.Set && !e.To.Set
	return !e.CorrectedTo.Set && isSame
}

// Values returns the live value of the field, and the desired value.
//
//	outcome               live   desired
//	corrected by a rule   To     CorrectedTo
//	Learned, Added        To     To
//	any other             To     From
func (e EntryView) Values() (live, desired delta.Value) {
	switch {
	case e.CorrectedTo.Set:
		return e.To, e.CorrectedTo
	case e.HasOneValue():
		return e.To, e.To
	default:
		return e.To, e.From
	}
}

// isDeletion reports whether another client deleted the object, which was created again.
func (e EntryView) isDeletion() bool {
	outcome := v1alpha1.HistoryOutcome(e.Outcome)
	return e.Path == "" && (outcome == v1alpha1.OutcomeRestored || outcome == v1alpha1.OutcomeContested)
}

// Writer returns the field manager with its operation and subresource, or "" if it is not known.
func (e EntryView) Writer() string {
	how := slices.DeleteFunc([]string{e.Operation, e.Subresource}, func(part string) bool { return part == "" })
	if e.Manager == "" || len(how) == 0 {
		return terminal.Visible(e.Manager)
	}
	return terminal.Visible(e.Manager + " (" + strings.Join(how, ", ") + ")")
}

// UserText returns the user and the source address, or "" if the user is not known.
func (e EntryView) UserText() string {
	if e.User == "" {
		return ""
	}
	text := "user " + terminal.Visible(e.User)
	if e.Impersonator != "" {
		text += " (impersonated by " + terminal.Visible(e.Impersonator) + ")"
	}
	if e.SourceIP != "" {
		text += " from " + terminal.Visible(e.SourceIP)
	}
	return text
}

// Ago returns how long ago the change happened.
func (e EntryView) Ago(now time.Time) string { return terminal.Ago(now, e.at) }

// inlineView returns a recorded value on one line, without escaping it.
func inlineView(v delta.Value) string {
	if !v.Set {
		return "absent"
	}
	text, whole := terminal.Inline(v)
	if !whole {
		return "(several lines)"
	}
	return text
}

// WriterSummary is a summary of the changes that one field manager made to held fields. An empty Manager means all
// unknown writers.
type WriterSummary struct {
	Manager string
	// Changes counts repetitions; Contested, Fields and Applications count each field or Application once.
	Changes, Contested   int
	Fields, Applications int
	Longest              time.Duration
	Last                 time.Time
	// These sets contain the fields and Applications that are counted.
	fields, of, contestedOf map[string]bool
}

// IsForeign reports whether another client has changed a held field or its list, or deleted a held object.
func (e EntryView) IsForeign() bool {
	return e.Outcome != string(v1alpha1.OutcomeLearned) && (e.Path != "" || e.isDeletion())
}

// SummarizeWriters returns a summary of entries for each writer, the most frequent writer first. It skips entries that
// are not foreign. Applications that share an object each record a change, and count it each.
func SummarizeWriters(entries []EntryView) []*WriterSummary {
	sums := map[string]*WriterSummary{}
	for _, e := range entries {
		if !e.IsForeign() {
			continue
		}
		s := sums[e.Manager]
		if s == nil {
			s = &WriterSummary{Manager: e.Manager, fields: map[string]bool{}, of: map[string]bool{}, contestedOf: map[string]bool{}}
			sums[e.Manager] = s
		}
		app := e.Application.Namespace + "/" + e.Application.Name
		field := app + " " + e.id.String() + " " + e.Path
		s.Changes += int(max(e.Count, 1))
		s.fields[field], s.of[app] = true, true
		if e.Outcome == string(v1alpha1.OutcomeContested) {
			s.contestedOf[field] = true
		}
		s.Longest = max(s.Longest, e.stood)
		if e.at.After(s.Last) {
			s.Last = e.at
		}
		s.Fields, s.Applications, s.Contested = len(s.fields), len(s.of), len(s.contestedOf)
	}
	return slices.SortedFunc(maps.Values(sums), func(a, b *WriterSummary) int {
		return cmp.Or(cmp.Compare(b.Changes, a.Changes), cmp.Compare(a.Manager, b.Manager))
	})
}
