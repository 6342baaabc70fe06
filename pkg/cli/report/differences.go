package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/explain"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
)

// Differences is a printer of the changes that the controller would make for one Application. It prints the objects in
// the order in which the controller writes them. This is the text of "diff", and of the plan on a page:
//
//	Application default/web
//
//	~ correct ConfigMap default/web (v1)
//	    data.count: 2 → "2"
//	    data['start.sh']:
//	        set -e
//	      - export MODE=test
//	      + export MODE=live
//
//	- delete ConfigMap default/older (v1)
//	- delete ConfigMap default/old (v1)
//
//	  i Deployment web: spec.replicas: 2 in the manifest, not held: live is 7, not written; hold it with ...
//
//	Plan: 1 to correct (2 fields), 2 to delete
type Differences struct {
	files.Decision
	Output
	// Count is the summary of the changes. Print sets it.
	Count count
	// All is true to also show the elements that other clients added to lists with keys.
	All bool
	// oneLine is true if the last resource took one line.
	oneLine bool
}

// indent precedes every line below the name of a resource.
const indent = "    "

// Print writes all changes to w, and counts them.
func (t *Differences) Print(w io.Writer) error {
	t.line(t.Palette.Paint(terminal.Bold, terminal.Visible("Application "+t.Namespace+"/"+t.Name)))
	for _, change := range t.Changes {
		did := t.verb(change)
		t.Count.add(did, change, t.Visible(change))
		if did == unchanged {
			continue
		}
		// These actions need no details, and large lists of them are easier to read without empty lines.
		oneLine := (did == remove || did == orphan || did == release) && change.Problem == nil
		if !oneLine || !t.oneLine {
			t.line("")
		}
		t.oneLine = oneLine
		t.header(did, change)
		if !oneLine {
			t.details(change)
		}
	}
	lines := slices.Concat(Reported(t.Decision), NotHeld(t.Decision))
	if t.All {
		lines = append(lines, Additions(t.Decision)...)
	}
	if len(lines) > 0 {
		t.line("")
		for _, text := range lines {
			t.wrapped("  i ", text)
		}
	}
	t.confirmation()
	t.line("")
	// Items of spec.select are summarized even if none of their objects changes.
	entries, _ := t.Selected()
	for _, entry := range entries {
		t.line(selectedText(entry))
	}
	t.line(t.Palette.Paint(terminal.Bold, t.Count.String()))
	return terminal.Write(w, t.text.Bytes())
}

// confirmation writes how to confirm the deletions that wait for it. All of them have the same remedy, so it is printed
// once. The command is not wrapped, so that users can copy it.
func (t *Differences) confirmation() {
	i := slices.IndexFunc(t.Changes, func(change plan.Change) bool {
		return change.Problem != nil && v1alpha1.InfoForReason(change.Problem.Reason).Unconfirmed
	})
	if i < 0 {
		return
	}
	t.line("")
	remedy := t.Changes[i].Problem.Remedy
	for _, line := range terminal.Wrap(remedy.Text+":", t.Width) {
		t.line(line)
	}
	t.line(indent + terminal.Visible(remedy.Command))
}

// selectedText returns how many objects an item of spec.select matches:
//
//	select[0]: 12 objects of kind Deployment, 3 to be written
func selectedText(entry plan.ViewSelection) string {
	text := fmt.Sprintf("%s: %s of kind %s", entry.Entry, terminal.Plural(entry.Objects, "object"), terminal.Visible(entry.Kind))
	if entry.Changes > 0 {
		text += fmt.Sprintf(", %d to be written", entry.Changes)
	}
	return text
}

// details writes the problem, the fields, and the object to create. The object is printed with its learned values, as
// the controller would send it, and with masked values of Secrets.
func (t *Differences) details(change plan.Change) {
	if change.Problem != nil {
		t.wrapped(indent+"! ", change.Problem.Reason+": "+change.Problem.Message)
	}
	for _, field := range t.Visible(change) {
		if shown, is := shownOf(change, field); is {
			t.field(change, shown)
		}
	}
	if change.Manifest == nil {
		return
	}
	for line := range strings.Lines(terminal.ObjectYAML(manifest.RedactNested(change.Manifest))) {
		t.marked("", "+", line)
	}
}

// shownOf returns a field without the tracking metadata of a shared object, and reports whether anything is
// left to show.
func shownOf(change plan.Change, field delta.Difference) (delta.Difference, bool) {
	if !change.Shared {
		return field, true
	}
	return claim.WithoutTracking(field)
}

// header writes the action and the object. It names the namespace even if that is the Application's, because a plan is
// often read without its first line.
//
//	! blocked ConfigMap default/theirs (v1)
//	+ create Service default/web (v1)
func (t *Differences) header(did verb, change plan.Change) {
	sign, known := signs[did]
	if !known {
		sign = verbSign{"!", terminal.Purple}
	}
	version := terminal.Visible(" (" + change.APIVersion + ")")
	t.line(t.Palette.Paint(sign.style, sign.symbol+" "+string(did)) + " " + t.Palette.Paint(terminal.Bold, files.NameOf(change.ID, "")) + version)
}

// field prints a field that has drifted, on one line if it fits. The arrow points to the value that the controller
// writes. If the desired value is absent, the default of the kind is in its place:
//
//	spec.replicas: 5 → (absent; the default is 1)  # must not be set
func (t *Differences) field(change plan.Change, d delta.Difference) {
	id := change.ID
	masked := explain.MaskedField(id, d)
	desired, observed := masked.Desired, masked.Live
	path, note := terminal.Visible(d.Path)+":", t.note(id, d)
	before, short := terminal.Inline(observed)
	after, alsoShort := terminal.Inline(desired)
	remark := ""
	if !desired.Set {
		remark = DefaultText(t.Kinds, change.APIVersion, id.Kind, d.Path)
		after = terminal.Absent(remark)
	}
	before, after = terminal.Visible(before), terminal.Visible(after)
	if short && alsoShort && t.fits(path+" "+before+" → "+after) {
		t.noted(path+" "+before+" → "+after, path+" "+t.Palette.Paint(terminal.Red, before)+" → "+t.Palette.Paint(terminal.Green, after), note)
		return
	}
	if remark != "" {
		note = strings.TrimPrefix(note+"; "+terminal.Visible(remark), "; ")
	}
	t.noted(path, path, note)
	for _, line := range terminal.BlockLines(observed, desired) {
		t.marked("  ", line.Mark, line.Text)
	}
}

// DefaultText returns the default of an absent field as a remark, or "" if the schema of the kind does not define one.
// It also returns "" for a default of several lines.
func DefaultText(known intent.Kinds, apiVersion, kind, path string) string {
	value, defined := intent.DefaultFor(known, schema.FromAPIVersionAndKind(apiVersion, kind), path)
	if !defined {
		return ""
	}
	text, short := terminal.Inline(delta.NewValue(value))
	if !short {
		return ""
	}
	return "the default is " + text
}

// fits reports whether a text without colors fits on an indented line.
func (t *Differences) fits(text string) bool {
	return terminal.Length(indent+text) <= t.Width
}

// noted writes a line and a note: on the same line, or below it if there is no room. text is the line without
// colors.
func (t *Differences) noted(text, painted, note string) {
	switch {
	case note == "":
		t.line(indent + painted)
	case t.fits(text + "  # " + note):
		t.line(indent + painted + "  # " + note)
	default:
		t.line(indent + painted)
		t.line(indent + "  # " + note)
	}
}

// note returns a remark that explains a difference, beyond its two values. It returns "" for ordinary drift, which the
// values explain.
func (t *Differences) note(id manifest.ID, d delta.Difference) string {
	why := ""
	switch d.Reason {
	case delta.Extra:
		if why = "more elements than the observer schema allows"; d.Was().Set {
			why = "no longer desired"
		}
	case delta.ListLength:
		why = "fewer elements than the observer schema requires"
	case delta.Removed:
		why = "no longer desired"
	case delta.Unwanted:
		why = "must not be set"
	case delta.Restored:
		why = "original value"
	case delta.Changed, delta.Missing:
		why = allowed(d.Rule)
		if d.Spelling == observer.MaybeRespelled {
			why = plan.MaybeRespelled
		}
	}
	if d.HeldBack {
		why = t.fight(plan.Leaf{ID: id, Path: d.Path})
	}
	return terminal.Visible(why)
}

// fight returns why a field is deferred. For a contested field, this is the client that keeps changing it,
// and the time of the next correction. That time is absolute: a plan in a file or a log is read later.
func (t *Differences) fight(leaf plan.Leaf) string {
	for _, f := range t.Status.Contested {
		if files.LeafOf(f) != leaf {
			continue
		}
		by := ""
		if f.Manager != "" {
			by = " by " + f.Manager
		}
		return "contested" + by + ", waits until " + f.NextCorrection.UTC().Format(time.RFC3339)
	}
	return "deferred"
}

// marked writes a line of a value, indented further than its field by deeper.
func (t *Differences) marked(deeper, mark, text string) {
	line := strings.TrimRight(mark+" "+terminal.Visible(strings.TrimRight(text, "\n")), " ")
	switch mark {
	case "+":
		line = t.Palette.Paint(terminal.Green, line)
	case "-":
		line = t.Palette.Paint(terminal.Red, line)
	}
	t.line(indent + deeper + line)
}

// verb is the word for the action on a resource: a result of plan.Change.Verb, or a more exact word. Scripts search
// for these words, so they do not change.
type verb string

const (
	hold      verb = "hold"
	restore   verb = "restore"
	release   verb = "release"
	wait      verb = "wait"
	create    verb = "create"
	correct   verb = "correct"
	orphan    verb = "orphan"
	remove    verb = "delete"
	blocked   verb = "blocked"
	contested verb = "contested"
	unchanged verb = "unchanged"
)

// verb returns the action for a change. An update without visible differences only changes notation, and counts as
// unchanged. A change that is not executed is blocked by its problem, or contested.
func (t *Differences) verb(change plan.Change) verb {
	if change.Action == plan.Update && change.Problem == nil && len(change.Fields) > 0 && len(t.Visible(change)) == 0 {
		return unchanged
	}
	word := change.Verb()
	isUnchanged := word == string(plan.Unchanged)
	switch {
	case word == string(plan.Update) && t.DeletionTimestamp != nil && t.Spec.DeletionPolicy == v1alpha1.DeletionOrphan:
		return orphan
	case word == string(plan.Update):
		return correct
	case isUnchanged && change.Problem != nil:
		return blocked
	case isUnchanged && len(change.Fields) > 0:
		return contested
	}
	return verb(word)
}

// verbSign is how an action is shown: its color, and a symbol for readers who do not see colors.
type verbSign struct {
	symbol string
	style  terminal.Style
}

// signs maps the actions that change an object to their signs.
var signs = map[verb]verbSign{
	create: {"+", terminal.Green}, remove: {"-", terminal.Red}, correct: {"~", terminal.Yellow}, orphan: {"~", terminal.Yellow},
	hold: {"~", terminal.Yellow}, restore: {"~", terminal.Yellow}, release: {"~", terminal.Yellow},
}
