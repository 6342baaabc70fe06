package page

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/report"
	"holdfast.dev/holdfast/pkg/explain"
	"holdfast.dev/holdfast/pkg/manifest"
)

// Application is the page of an Application, with all its resources.
type Application struct {
	Header
	// Next lists the remedies, the most urgent first.
	Next     []report.Advice
	Warnings []string
	// Notes are about the decision and about data that could not be read.
	Notes []string
	// Tree is in the order of a depth-first walk; the Depth of each branch gives its level.
	Tree []Branch
	// Partial is nil if the page shows all objects of the tree field by field.
	Partial *Partial
	// Owned is true if the tree contains the objects that the resources own.
	Owned bool
	// corrected is true if the controller corrects drift.
	corrected bool
	// Refused is why there is no plan; "" if there is one.
	Refused string
	Plan    []PlanLine
	// Count is the last line of the plan.
	Count string
	// Drifted lists the first live values that are not the desired values; MoreDrifted is the number of others.
	Drifted     []HistoryItem
	MoreDrifted int
	// Recent lists the last history entries and events, the newest first.
	Recent []HistoryItem
}

// Header is the top of the page of an Application.
type Header struct {
	Namespace, Name string
	Badge           Badge
	// Owner is the custom resource from which it was created, such as "Mysql db"; "" if there is none.
	Owner           string
	Reason, Message string
	// Account is the ServiceAccount in the spec; "" for the controller's default.
	Account string
	Created time.Time
}

// Branch is a resource in the tree, or an object that a resource owns.
type Branch struct {
	Depth   int
	Name    string
	Ref     string // "" for an object that is only owned
	Health  Badge
	Message string
	Created time.Time
	// Counts counts the fields in each state.
	Counts []LegendEntry
}

// PlanLine is one line of the plan. Class is the class of its color in the style sheet.
type PlanLine struct{ Text, Class string }

// applicationOf returns the page of an Application, with the content of `status` and `diff`. program is the
// name by which the user called this program.
func applicationOf(d files.Decision, view report.StatusView, program string) Application {
	a := Application{
		Header: Header{
			Namespace: d.Namespace, Name: d.Name, Reason: view.Reason, Message: view.Message, Account: view.ServiceAccount, Created: timeOf(view.Created),
			Badge: readyBadge(view.Ready, view.Reason, view.Suspended, view.Application.Mode == v1alpha1.ModeObserve),
		},
		Next: report.Advise(d, view, program), Warnings: view.Warnings,
		Notes: d.OtherNotes(), corrected: isCorrected(d.Application),
	}
	if owner := metav1.GetControllerOf(d.Application); owner != nil {
		a.Owner = owner.Kind + " " + owner.Name
	}
	history := report.HistoryOf(d.Application)
	for _, e := range history[:min(len(history), shownEntries)] {
		a.Recent = append(a.Recent, linkedItem(d, e))
	}
	for _, e := range view.Events {
		if outcomes[v1alpha1.HistoryOutcome(e.Reason)].Word != "" && len(history) > 0 {
			continue // the history has it
		}
		badge := Badge{Class: "free", Sign: "·", Word: e.Reason}
		if e.Type == "Warning" {
			badge.Class, badge.Sign = "failed", "!"
		}
		a.Recent = append(a.Recent, HistoryItem{Badge: badge, At: timeOf(e.Time), Note: e.Message, Count: e.Count})
	}
	slices.SortStableFunc(a.Recent, func(x, y HistoryItem) int { return y.At.Compare(x.At) })
	decided := map[manifest.ID]bool{}
	for _, id := range files.IDsOf(d) {
		decided[id] = true
	}
	for _, r := range view.Resources {
		b := resourceBranch(d, r)
		// An object without a change, such as one of an invalid Application, has no page.
		if id := report.ResourceID(r.Resource); decided[id] {
			b.Ref = RefOf(id)
		}
		a.Tree = append(a.Tree, b)
		a.addOwned(r.Owned, d.Namespace, 1)
		a.addDrift(b, r)
	}
	// The list is complete at first, because the number of the others is shown, too.
	a.MoreDrifted = max(len(a.Drifted)-shownDrifted, 0)
	a.Drifted = a.Drifted[:len(a.Drifted)-a.MoreDrifted]
	if err := files.NotDecided(d); err != nil {
		a.Refused = err.Error()
		return a
	}
	a.Plan, a.Count = planOf(d, program)
	return a
}

// Limits of the lists on the page of an Application.
const (
	shownEntries = 5 // of the history
	shownDrifted = 20
)

// addDrift adds the fields of a resource whose live values are not the desired values. b is the branch of the
// resource.
func (a *Application) addDrift(b Branch, r report.ResourceView) {
	id := report.ResourceID(r.Resource)
	for _, f := range r.Fields {
		if f.Drift == "" {
			continue
		}
		a.Drifted = append(a.Drifted, HistoryItem{
			Badge: fieldBadge(f, false), Resource: b.Name, Ref: b.Ref, Path: f.Path,
			Live: viewText(id, f.Live), Desired: viewText(id, f.Desired), At: f.Writer.At, Author: Author{By: report.WriterName(f.Writer)},
		})
	}
}

// resourceBranch returns the branch of a resource, with the number of fields in each state. Drifted fields
// count as drifted, and not in their state.
func resourceBranch(d files.Decision, r report.ResourceView) Branch {
	id := report.ResourceID(r.Resource)
	b := Branch{Name: files.NameOf(id, d.Namespace), Health: healthBadge(r.Health, isCorrected(d.Application)), Created: timeOf(r.Created)}
	if r.Message != "" {
		b.Message = strings.TrimPrefix(r.Reason+": "+r.Message, ": ")
	}
	counts := map[string]int{}
	for state, n := range r.Counts {
		counts[string(state)] += n
	}
	for _, f := range r.Fields {
		if f.Drift != "" && f.State != explain.Contested && f.State != explain.Removed && f.State != explain.Restored {
			counts["drifted"]++
			counts[string(f.State)]--
		}
	}
	for _, badge := range badges {
		if n := counts[badge.Class]; n > 0 {
			b.Counts = append(b.Counts, LegendEntry{Badge: badge, Count: n})
		}
	}
	return b
}

// addOwned adds the objects that a resource or another object owns to the tree, and all that these own. home is the
// namespace that names omit.
func (a *Application) addOwned(owned []*report.OwnedObject, home string, depth int) {
	for _, o := range owned {
		a.Tree = append(a.Tree, Branch{
			Depth: depth, Name: files.NameOf(report.ResourceID(o.Resource), home), Health: healthBadge(o.Health, a.corrected), Message: o.Message, Created: timeOf(o.Created),
		})
		a.addOwned(o.Owned, home, depth+1)
	}
}

// planOf returns the lines that `holdfast diff` prints, and its last line as the count. The number of lines is limited.
func planOf(d files.Decision, program string) (lines []PlanLine, count string) {
	var text bytes.Buffer
	differences := &report.Differences{Decision: d, Output: report.Output{Width: planWidth}}
	_ = differences.Print(&text) // a buffer cannot fail
	all := strings.Split(strings.Trim(text.String(), "\n"), "\n")
	for _, line := range all[1 : len(all)-1] { // without the name of the Application, and the count
		if line != "" || len(lines) > 0 {
			lines = append(lines, PlanLine{line, planClass(line)})
		}
	}
	for len(lines) > 0 && lines[len(lines)-1].Text == "" {
		lines = lines[:len(lines)-1]
	}
	if more := len(lines) - mostPlanLines; more > 0 {
		lines = append(lines[:mostPlanLines], PlanLine{fmt.Sprintf("… and %d more lines: run `%s diff %s%s`", more, program, d.Name, inNamespace(d)), ""})
	}
	return lines, differences.Count.String()
}

// mostPlanLines is the maximum number of lines of a plan on a page.
const mostPlanLines = 1000

// planWidth is for a wide page; on a narrow one, long lines wrap.
const planWidth = 110

// planClass returns the class for the color of a line of a plan: that of its sign.
func planClass(line string) string {
	sign, _, _ := strings.Cut(strings.TrimLeft(line, " "), " ")
	return map[string]string{"+": "add", "-": "remove", "~": "change", "!": "failed"}[sign]
}

// timeOf returns a time in the format of the API, or the zero time if the text is none.
func timeOf(text string) time.Time {
	at, _ := time.Parse(time.RFC3339Nano, text)
	return at
}

// title returns the title of the page.
func (a Application) title() string {
	return fmt.Sprintf("%s/%s · %s", a.Namespace, a.Name, a.Badge.Word)
}
