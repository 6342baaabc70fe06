package cli

import (
	"bytes"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// differences writes what would be done about one Application.
type differences struct {
	decided
	palette palette
	width   int
	out     *bytes.Buffer
	count   count
	// oneLine is true after a resource that took one line.
	oneLine bool
}

// indent is that of everything below the line that names a resource.
const indent = "    "

func (t *differences) write() {
	t.line(t.palette.paint(bold, "Application "+t.Namespace+"/"+t.Name))
	for _, change := range t.Changes {
		did := t.verb(change)
		t.count.add(did, change)
		if did == unchanged {
			continue
		}
		oneLine := (did == remove || did == orphan) && change.Problem == nil
		t.space(oneLine)
		t.header(did, change)
		if !oneLine {
			t.details(change)
		}
	}
	t.line("")
	t.line(t.palette.paint(bold, t.count.String()))
}

func (t *differences) details(change plan.Change) {
	t.problem(change)
	for _, field := range change.Fields {
		t.field(change.ID, field)
	}
	for line := range strings.Lines(body(change)) {
		t.marked("", "+", line)
	}
}

// space keeps resources apart, but not those of one line each.
func (t *differences) space(oneLine bool) {
	if !oneLine || !t.oneLine {
		t.line("")
	}
	t.oneLine = oneLine
}

// body is the whole object of a create.
func body(change plan.Change) string {
	if change.Manifest == nil {
		return ""
	}
	return objectYAML(manifest.Redact(change.Manifest))
}

func (t *differences) header(did verb, change plan.Change) {
	name := change.ID.Name
	if change.ID.Namespace != "" {
		name = change.ID.Namespace + "/" + name
	}
	resource := visible(change.ID.Kind + " " + name)
	version := visible(" (" + change.APIVersion + ")")
	t.line(t.palette.paint(did.style(), did.symbol()+" "+string(did)) + " " + t.palette.paint(bold, resource) + version)
}

// problem says why a resource cannot be brought to its desired state.
func (t *differences) problem(change plan.Change) {
	if change.Problem == nil {
		return
	}
	text := visible(change.Problem.Reason + ": " + change.Problem.Message)
	mark := "! "
	for _, line := range wrap(text, t.width-len(indent)-len(mark)) {
		t.line(indent + mark + line)
		mark = "  "
	}
}

// field writes one drifted leaf, on one line if it fits.
func (t *differences) field(id manifest.ID, d delta.Difference) {
	desired, observed := plan.MaskedValues(id, d)
	path, note := visible(d.Path)+":", t.note(id, d)
	before, short := inline(observed)
	after, alsoShort := inline(desired)
	before, after = visible(before), visible(after)
	if short && alsoShort && t.fits(path+" "+before+" → "+after) {
		t.noted(path+" "+before+" → "+after, path+" "+t.palette.paint(red, before)+" → "+t.palette.paint(green, after), note)
		return
	}
	t.noted(path, path, note)
	for _, line := range blockLines(observed, desired) {
		t.marked("  ", line.mark, line.text)
	}
}

func (t *differences) fits(text string) bool {
	return utf8.RuneCountInString(indent+text) <= t.width
}

// noted writes a line, whose plain form is text, and a note: behind it, or below
// if there is no room.
func (t *differences) noted(text, painted, note string) {
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

// note says what the values do not.
func (t *differences) note(id manifest.ID, d delta.Difference) string {
	why := ""
	switch d.Reason {
	case delta.Extra:
		why = "more elements than the observer schema allows"
	case delta.ListLength:
		why = "fewer elements than the observer schema asks for"
	case delta.Removed:
		why = "no longer desired"
	case delta.Changed, delta.Missing:
	}
	if d.HeldBack {
		why = t.fight(plan.Leaf{ID: id, Path: d.Path})
	}
	return visible(why)
}

// fight says who keeps changing a contested leaf, and until when it waits.
func (t *differences) fight(leaf plan.Leaf) string {
	for _, f := range t.Status.Contested {
		if leafOf(f) != leaf {
			continue
		}
		by := ""
		if f.Manager != "" {
			by = " by " + f.Manager
		}
		return "contested" + by + ", waits until " + f.NextCorrection.UTC().Format(time.RFC3339)
	}
	return "contested"
}

// marked writes a line of a value, deeper below what has it.
func (t *differences) marked(deeper, mark, text string) {
	line := strings.TrimRight(mark+" "+visible(strings.TrimRight(text, "\n")), " ")
	switch mark {
	case "+":
		line = t.palette.paint(green, line)
	case "-":
		line = t.palette.paint(red, line)
	}
	t.line(indent + deeper + line)
}

func (t *differences) line(text string) { fmt.Fprintln(t.out, text) }

// verb is what would be done to a resource, in a word.
type verb string

const (
	create    verb = "create"
	correct   verb = "correct"
	orphan    verb = "orphan"
	remove    verb = "delete"
	blocked   verb = "blocked"
	contested verb = "contested"
	unchanged verb = "unchanged"
)

func (t *differences) verb(change plan.Change) verb {
	switch change.Action {
	case plan.Create:
		return create
	case plan.Delete:
		return remove
	case plan.Update:
		if t.DeletionTimestamp != nil && t.Spec.DeletionPolicy == v1alpha1.DeletionOrphan {
			return orphan
		}
		return correct
	case plan.Unchanged:
	}
	switch {
	case change.Problem != nil:
		return blocked
	case len(change.Fields) > 0:
		return contested
	default:
		return unchanged
	}
}

func (v verb) symbol() string {
	switch v {
	case create:
		return "+"
	case correct, orphan:
		return "~"
	case remove:
		return "-"
	default:
		return "!"
	}
}

func (v verb) style() style {
	switch v {
	case create:
		return green
	case correct, orphan:
		return yellow
	case remove:
		return red
	default:
		return purple
	}
}
