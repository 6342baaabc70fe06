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
	"holdfast.dev/holdfast/pkg/explain"
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
	// All also lists resources and fields that need nothing, the objects that the resources own, and the events.
	All bool
}

// fieldList is a list of fields in the status.
type fieldList struct {
	title string
	fits  func(explain.Field) bool
}

// attention contains the lists of fields that may need a user.
var attention = []fieldList{
	{"Drifted", func(f explain.Field) bool {
		return f.Drift != "" && f.State != explain.Contested && f.State != explain.Reported
	}},
	{"Claimed", func(f explain.Field) bool { return f.State == explain.Claimed && (f.Desired.Set || f.Rule != nil) }},
	{"Contested", func(f explain.Field) bool { return f.State == explain.Contested }},
	{"Reported, not corrected", func(f explain.Field) bool { return f.State == explain.Reported && f.Drift != "" }},
}

// inSync contains the lists of fields that need nothing.
var inSync = []fieldList{
	{"Allowed by a rule", func(f explain.Field) bool { return isRuled(f) && f.Drift == "" }},
	{"Accepted in another form", func(f explain.Field) bool { return f.State == explain.Accepted && f.Drift == "" }},
	{"Learned", func(f explain.Field) bool { return f.State == explain.Learned && f.Drift == "" }},
	{"Held", func(f explain.Field) bool { return f.State == explain.Held && f.Drift == "" }},
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
		return r.Health == "NotFound" || slices.ContainsFunc(r.fields, func(f explain.Field) bool { return f.Drift != "" && f.State != explain.Reported })
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
	return r.selected && trouble(r) == 0 && !slices.ContainsFunc(r.fields, func(f explain.Field) bool { return f.Drift != "" })
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

// tableRow is a row of the table, with the text below it.
type tableRow struct {
	cells   []string
	style   terminal.Style
	stem    string // the prefix of the lines below it
	narrow  string // the text of the last two columns, if the table is too wide for them
	message string
}

// table prints the resources and the objects that they own, and below each row its message. If the table is too wide,
// the last two columns are below the rows:
//
//	RESOURCE                 HEALTH      AGE
//	Service web              Current     60s
//	    corrected 5m ago; 2 held, 9 free
//	Deployment web           InProgress  60s
//	│   7 held, 15 free
//	│ ! Progressing: Available: 0/2
//	└─ ReplicaSet web-1      InProgress  60s
//	   └─ Pod web-1-x        InProgress  60s
//	        ! Unschedulable
func (t *StatusText) table(shown []ResourceView) {
	if len(shown) == 0 {
		return
	}
	rows := []tableRow{{cells: []string{"RESOURCE", "HEALTH", "AGE", "CORRECTED", "FIELDS"}, style: terminal.Bold}}
	for i, r := range shown {
		rows = append(rows, t.row(r, shown[:i]))
		rows = append(rows, t.ownedRows(r.Owned, "")...)
	}
	t.line("")
	lines, fits := t.aligned(rows)
	for i, row := range rows {
		t.line(t.Palette.Paint(row.style, lines[i]))
		if !fits {
			t.below(row.stem, "  ", row.narrow)
		}
		t.below(row.stem, "! ", row.message)
	}
}

// row returns the row of a resource. above are the resources above it.
func (t *StatusText) row(r ResourceView, above []ResourceView) tableRow {
	corrected, counts := "never", countsText(r.Counts)
	row := tableRow{style: healthStyle(r), stem: "  ", narrow: counts}
	if r.LastCorrection != "" {
		corrected = t.since(r.LastCorrection)
		row.narrow = strings.TrimSuffix("corrected "+corrected+"; "+counts, "; ")
	}
	if len(r.Owned) > 0 {
		row.stem = "│ "
	}
	row.cells = []string{files.NameOf(r.id, t.Application.Namespace), terminal.Visible(r.Health), t.age(r.Created), corrected, counts}
	if r.Message != "" {
		row.message = strings.TrimPrefix(r.Reason+": "+t.message(r, above), ": ")
	}
	return row
}

// ownedRows returns the rows of owned objects, and of all that these own. stem is the prefix of the rows.
func (t *StatusText) ownedRows(owned []*OwnedObject, stem string) (rows []tableRow) {
	for i, o := range owned {
		first, below := stem+"├─ ", stem+"│  "
		if i == len(owned)-1 {
			first, below = stem+"└─ ", stem+"   "
		}
		row := tableRow{
			cells: []string{first + files.NameOf(ResourceID(o.Resource), t.Application.Namespace), terminal.Visible(o.Health), t.age(o.Created)},
			style: healthStyle(ResourceView{Health: o.Health}), stem: below + "  ", message: o.Message,
		}
		if len(o.Owned) > 0 {
			row.stem = below + "│ "
		}
		rows = append(rows, row)
		rows = append(rows, t.ownedRows(o.Owned, below)...)
	}
	return rows
}

// age returns the age of an object that was created at a time of the view, or "-" if there is no time.
func (t *StatusText) age(created string) string {
	if created == "" {
		return "-"
	}
	return strings.TrimSuffix(t.since(created), " ago")
}

// below prints a text with a mark below a row. It prints nothing for an empty text.
func (t *StatusText) below(stem, mark, text string) {
	for _, line := range terminal.WrapItem(mark, terminal.Visible(text), t.Width-terminal.Length(stem)) {
		t.line(stem + line)
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

// narrowCells is the number of columns of a table that is too wide with all of them.
const narrowCells = 3

// aligned returns the lines of the rows, and whether all columns fit. If they do not, the lines have only the first
// columns.
func (t *StatusText) aligned(rows []tableRow) (lines []string, fits bool) {
	cells := make([][]string, len(rows))
	for i, row := range rows {
		cells[i] = row.cells
	}
	lines = terminal.Aligned(cells)
	if !slices.ContainsFunc(lines, func(line string) bool { return terminal.Length(line) > t.Width }) {
		return lines, true
	}
	for i, row := range cells {
		cells[i] = row[:narrowCells]
	}
	return terminal.Aligned(cells), false
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
