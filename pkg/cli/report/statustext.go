package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/plan"
)

// StatusText is a printer of a status for users. Parts without content are omitted:
//
//	Application default/web  ! not ready: Contested
//	  data.mode of ConfigMap web is repeatedly changed back by meddler
//	  writes as the ServiceAccount deployer
//
//	Contested
//	  ConfigMap web
//	    ~ data.mode: test → live
//	        drift: the live value is not the desired value; it is corrected; corrected 7 times before
//
//	RESOURCE       HEALTH   AGE  CORRECTED  FIELDS
//	ConfigMap web  Current  60m  never      2 accepted, 1 contested
//
//	What to do
//	  - Stop meddler from writing data.mode, or free it
//	      holdfast free web configmap/web data.mode
//
//	Addresses
//	  web  10.0.0.1:80
//
//	Last changes
//	    5m ago  Corrected ConfigMap web data.mode: test → live, by meddler (Update)
type StatusText struct {
	StatusView
	Output
	// All also lists resources and fields that need nothing, and the events.
	All bool
}

// fieldList is a list of fields in the status.
type fieldList struct {
	title string
	fits  func(plan.Field) bool
}

// attention has the lists of fields that may need a user.
var attention = []fieldList{
	{"Drifted", func(f plan.Field) bool {
		return f.Drift != "" && f.State != plan.FieldContested && f.State != plan.FieldReported
	}},
	{"Claimed", func(f plan.Field) bool { return f.State == plan.FieldClaimed && (f.Desired.Set || f.Rule != nil) }},
	{"Contested", func(f plan.Field) bool { return f.State == plan.FieldContested }},
	{"Reported, not corrected", func(f plan.Field) bool { return f.State == plan.FieldReported && f.Drift != "" }},
}

// inSync has the lists of fields that need nothing.
var inSync = []fieldList{
	{"Allowed by a rule", func(f plan.Field) bool { return isRuled(f) && f.Drift == "" }},
	{"Accepted in another form", func(f plan.Field) bool { return f.State == plan.FieldAccepted && f.Drift == "" }},
	{"Learned", func(f plan.Field) bool { return f.State == plan.FieldLearned && f.Drift == "" }},
	{"Held", func(f plan.Field) bool { return f.State == plan.FieldHeld && f.Drift == "" }},
}

// Print writes the status to w: first the fields that need attention. Without All, it leaves out the fields that
// need nothing, and the events.
func (t *StatusText) Print(w io.Writer) error {
	t.headline()
	t.fieldLists(attention)
	t.texts("Free", t.NotHeld)
	t.texts("Warnings", t.Warnings)
	t.selected()
	t.resources()
	t.next()
	t.addresses()
	t.history()
	if t.All {
		t.fieldLists(inSync)
		t.events()
	}
	return terminal.Write(w, t.text.Bytes())
}

// fieldLists prints those lists that are not empty.
func (t *StatusText) fieldLists(lists []fieldList) {
	for _, list := range lists {
		t.fields(list.title, list.fits)
	}
}

// texts prints a list of texts, up to a limit.
func (t *StatusText) texts(title string, texts []string) {
	const shown = 10
	for i, text := range texts {
		switch i {
		case 0:
			t.title(title)
		case shown:
			t.line(fmt.Sprintf("  … and %d more", len(texts)-shown))
			return
		}
		t.wrapped("  - ", text)
	}
}

// headline prints the readiness, its message, and the ServiceAccount of the Application. The live state can be
// newer than the status: then ready is not the whole answer. The first case that applies:
//
//	only in a file                    ~ not submitted
//	Ready, and an object has changed  ~ ready at the last reconciliation, and changed since
//	Ready                             = ready
//	observe-only                      ~ observe-only
//	Unknown, or waiting               ~ not ready: REASON
//	any other                         ! not ready: REASON
func (t *StatusText) headline() {
	sign, style, word := "!", terminal.Purple, "not ready: "+t.Reason
	switch {
	case t.notSubmitted:
		sign, style, word = "~", terminal.Yellow, "not submitted"
	case t.Ready == "True" && t.hasChanged():
		sign, style, word = "~", terminal.Yellow, "ready at the last reconciliation, and changed since"
	case t.Ready == "True":
		sign, style, word = "=", terminal.Green, "ready"
	case t.Application.Mode == v1alpha1.ModeObserve && !t.pending:
		sign, style, word = "~", terminal.Yellow, "observe-only"
	case t.Ready != "False" || v1alpha1.InfoForReason(t.Reason).Disposition == v1alpha1.DispositionWait:
		sign, style = "~", terminal.Yellow
	}
	t.line(t.Palette.Paint(terminal.Bold, terminal.Visible("Application "+t.Application.Namespace+"/"+t.Application.Name)) + "  " +
		t.Palette.Paint(style, sign+" "+terminal.Visible(word)))
	if !t.repeatsMessage() {
		t.wrapped("  ", t.Message)
	}
	text := "writes as "
	if t.Application.Mode == v1alpha1.ModeObserve {
		text = "reads as "
	}
	if t.ServiceAccount == "" {
		text += "the controller's default ServiceAccount"
	} else {
		text += "the ServiceAccount " + t.ServiceAccount
	}
	if t.Created != "" {
		text = "submitted " + t.since(t.Created) + "; " + text
	}
	t.wrapped("  ", text)
}

// hasChanged reports whether an object of a ready Application is missing or has drifted.
func (t *StatusText) hasChanged() bool {
	return slices.ContainsFunc(t.Resources, func(r ResourceView) bool {
		return r.Health == "NotFound" || slices.ContainsFunc(r.fields, func(f plan.Field) bool { return f.Drift != "" && f.State != plan.FieldReported })
	})
}

// repeatsMessage reports whether the message contains the message of a resource. The table then shows it in its row,
// next to the object that it concerns.
func (t *StatusText) repeatsMessage() bool {
	return slices.ContainsFunc(t.Resources, func(r ResourceView) bool {
		return r.Message != "" && strings.Contains(t.Message, r.Message)
	})
}

// since returns how long ago a time of the view was. It returns a malformed time unchanged.
func (t *StatusText) since(text string) string {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return text
	}
	return terminal.Ago(t.Now, at)
}

// mostSelected is the number of resources up to which all objects that spec.select matches are listed.
const mostSelected = 10

// isQuiet reports whether spec.select matches a resource, and there is nothing to report about it.
func isQuiet(r ResourceView) bool {
	return r.selected && trouble(r) == 0 && !slices.ContainsFunc(r.fields, func(f plan.Field) bool { return f.Drift != "" })
}

// shown returns the resources to list. If there are many, it leaves out those without anything to report:
//
//	up to 10, or with --all  all
//	11 to 100                all but quiet ones that spec.select matches
//	more                     only those with something to report
func (t *StatusText) shown() []ResourceView {
	switch {
	case t.All, len(t.Resources) <= mostSelected:
		return t.Resources
	case len(t.Resources) > mostListed:
		return slices.DeleteFunc(slices.Clone(t.Resources), func(r ResourceView) bool { return !r.isNotable(t.Now) })
	}
	return slices.DeleteFunc(slices.Clone(t.Resources), isQuiet)
}

// notListed returns a text about the resources that are not in the table. It returns "" if all are listed, or
// if the others match an item of spec.select, because these are counted elsewhere.
func (t *StatusText) notListed(told, listed int) string {
	quiet := 0
	if len(t.Resources) > mostListed && !t.All {
		for _, r := range t.Resources {
			if !r.selected && !r.isNotable(t.Now) {
				quiet++
			}
		}
	}
	return notListed(listed, told-listed, quiet)
}

// selected prints how many objects each item of spec.select matches.
func (t *StatusText) selected() {
	for i, entry := range t.Selected {
		if i == 0 {
			t.line("")
		}
		t.line(selectedText(entry))
	}
}

// resources prints a table of the resources with something to report. The message of a resource is below its
// row.
func (t *StatusText) resources() {
	shown := t.shown()
	told := len(shown)
	if !t.All {
		shown = shown[:min(told, mostListed)]
	}
	t.table(shown)
	if text := t.notListed(told, len(shown)); text != "" {
		if len(shown) == 0 {
			t.line("")
		}
		t.wrapped("", text)
	}
}

// table prints the rows, and below each row its message.
func (t *StatusText) table(shown []ResourceView) {
	if len(shown) == 0 {
		return
	}
	rows := [][]string{{"RESOURCE", "HEALTH", "AGE", "CORRECTED", "FIELDS"}}
	for _, r := range shown {
		age, corrected := "-", "never"
		if r.Created != "" {
			age = strings.TrimSuffix(t.since(r.Created), " ago")
		}
		if r.LastCorrection != "" {
			corrected = t.since(r.LastCorrection)
		}
		rows = append(rows, []string{files.NameOf(r.id, t.Application.Namespace), terminal.Visible(r.Health), age, corrected, countsText(r.Counts)})
	}
	t.line("")
	lines, fits := t.aligned(rows)
	for i, line := range lines {
		if i == 0 {
			t.line(t.Palette.Paint(terminal.Bold, line))
			continue
		}
		r := shown[i-1]
		t.line(t.Palette.Paint(healthStyle(r), line))
		if !fits {
			t.wrapped("    ", countsText(r.Counts))
		}
		if r.Message != "" {
			t.wrapped("  ! ", strings.TrimPrefix(r.Reason+": "+t.message(r, shown[:i-1]), ": "))
		}
	}
}

// message returns the message of a resource. If a resource above it lacks the same right, it names that resource:
// "like ConfigMap a". So a missing right for many objects is explained once.
func (t *StatusText) message(r ResourceView, above []ResourceView) string {
	if t.All || v1alpha1.InfoForReason(r.Reason).Disposition != v1alpha1.DispositionGrant {
		return r.Message
	}
	for _, other := range above {
		if other.Reason == r.Reason && other.nameless() == r.nameless() {
			return "like " + files.NameOf(other.id, t.Application.Namespace)
		}
	}
	return r.Message
}

// nameless returns the message of a resource without its name, to find equal messages about several resources.
func (r ResourceView) nameless() string {
	return strings.NewReplacer(r.id.String(), "", strconv.Quote(r.id.Name), "").Replace(r.Message)
}

// aligned returns the lines of a table. If they are too wide, it drops the last column from rows and returns
// false. The caller then prints that column below each row.
func (t *StatusText) aligned(rows [][]string) (lines []string, fits bool) {
	lines = terminal.Aligned(rows)
	if !slices.ContainsFunc(lines, func(line string) bool { return terminal.Length(line) > t.Width }) {
		return lines, true
	}
	for i, row := range rows {
		rows[i] = row[:len(row)-1]
	}
	return terminal.Aligned(rows), false
}

// healthStyle returns the color of a resource's row.
func healthStyle(r ResourceView) terminal.Style {
	switch {
	case r.Health == "Current" && (r.Reason == "" || r.Message == ""):
		return terminal.Plain
	case r.Health == "InProgress" || r.Health == "Terminating":
		return terminal.Yellow
	default:
		return terminal.Purple
	}
}

// addresses prints the addresses of the Services, sorted by name.
func (t *StatusText) addresses() {
	if len(t.services) == 0 {
		return
	}
	t.title("Addresses")
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(t.services)) {
		rows = append(rows, []string{"  " + terminal.Visible(name), terminal.Visible(t.services[name])})
	}
	for _, line := range terminal.Aligned(rows) {
		t.line(line)
	}
}

// history prints the last changes, with their ages aligned.
func (t *StatusText) history() {
	if len(t.History) == 0 {
		return
	}
	t.title("Last changes")
	longest := 0
	for _, e := range t.History {
		longest = max(longest, len(e.Ago(t.Now)))
	}
	for _, e := range t.History {
		t.wrapped(fmt.Sprintf("    %*s  ", longest, e.Ago(t.Now)), e.Line(t.Now, false))
	}
}

// events prints the last events. It does not repeat a message of the headline.
func (t *StatusText) events() {
	if len(t.Events) == 0 {
		return
	}
	t.title("Last events")
	longest := 0
	for _, event := range t.Events {
		longest = max(longest, len(t.since(event.Time)))
	}
	for _, event := range t.Events {
		text := event.Reason
		if event.Count > 1 {
			text += fmt.Sprintf(" (%d times)", event.Count)
		}
		sign := " "
		if event.Type == "Warning" {
			sign = "!"
		}
		switch {
		case event.Message == "":
		case strings.Contains(t.Message, event.Message):
			text += ": see above"
		default:
			text += ": " + event.Message
		}
		t.wrapped(fmt.Sprintf("  %s %*s  ", sign, longest, t.since(event.Time)), text)
	}
}

// next prints the remedies.
func (t *StatusText) next() {
	if len(t.Next) == 0 {
		return
	}
	t.title("What to do")
	for _, one := range t.Next {
		t.wrapped("  - ", one.Text)
		if one.Command != "" {
			t.line("      " + t.Palette.Paint(terminal.Cyan, terminal.Visible(one.Command))) // on one line, so that users can copy it
		}
	}
}
