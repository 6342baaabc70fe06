package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/plan"
)

// Explanation writes what there is to say of one resource.
type Explanation struct {
	plan.Explanation
	Namespace, Application string
	Palette                terminal.Palette
	Width                  int
	Now                    time.Time
	// Detailed says all there is to say of each field.
	Detailed bool
	Out      *bytes.Buffer
	// said is why the fields before this one are as they are.
	said map[string]bool
}

// Columns of a field: the sign, its state, and then the field itself.
const (
	stateColumn = 4
	fieldColumn = stateColumn + len("contested") + 1
	// writerEnd is where the names of writers end on wider terminals: further to the
	// right nobody finds the field that they belong to.
	writerEnd = 110
)

// Write writes all of it to Out.
func (t *Explanation) Write() {
	t.line(t.Palette.Paint(terminal.Bold, files.NameOf(t.ID, t.Namespace)) + terminal.Visible(" ("+t.Change.APIVersion+")") +
		" of Application " + t.Namespace + "/" + t.Application)
	t.line(SchemaText(t.Explanation))
	t.missing()
	t.problem()
	parent := "-"
	for _, f := range t.shown() {
		if f.Parent != parent {
			parent = f.Parent
			t.line("")
			t.line(t.Palette.Paint(terminal.Bold, terminal.Visible(titleOf(parent))))
		}
		t.field(f)
	}
	t.line("")
	t.line(t.summary())
}

func (t *Explanation) line(text string) { fmt.Fprintln(t.Out, strings.TrimRight(text, " ")) }

// SchemaText says whose observer schema holds a resource, and which profiles change it.
func SchemaText(e plan.Explanation) string {
	text := schemaText(e)
	if len(e.Profiles) > 0 {
		text += "\nChanged by " + terminal.Visible(plan.ProfileNames(e.Profiles)) + "."
	}
	return text
}

func schemaText(e plan.Explanation) string {
	switch {
	case !e.Desired:
		return "No longer desired: nothing of it is held."
	case e.Default && e.Source.Fields:
		return "Held by the default observer schema: every field of its manifest, but for what " + e.Source.String() + " says."
	case e.Source.Fields:
		return "Held by " + e.Source.String() + " of its Application: the fields that are named there."
	case e.Default, len(e.Profiles) > 0:
		return "Held by the default observer schema: every field of its manifest."
	default:
		return "Held by its entry in the observer schema: the fields that are named there."
	}
}

// missing says once what is so of every field, if no problem says more.
func (t *Explanation) missing() {
	if !t.Missing || t.Change.Problem != nil {
		return
	}
	text := "the object is not there"
	for _, f := range t.Fields {
		if f.Drift != "" {
			text = f.Why
			break
		}
	}
	t.remark(text)
}

func (t *Explanation) problem() {
	if t.Change.Problem != nil {
		t.remark(t.Change.Problem.Reason + ": " + t.Change.Problem.Error())
	}
}

// remark is about the resource as a whole.
func (t *Explanation) remark(text string) {
	mark := "! "
	for _, line := range terminal.Wrap(terminal.Visible(text), t.Width-2) {
		t.line(t.Palette.Paint(terminal.Purple, mark+line))
		mark = "  "
	}
}

// titleOf stands above the fields that have the same parent.
func titleOf(parent string) string {
	if parent == "" {
		return "(top level)"
	}
	return parent
}

// shown leaves out the status, which nobody holds, unless it is asked for; and
// keeps the fields of one parent together.
func (t *Explanation) shown() []plan.Field {
	var fields []plan.Field
	order := map[string]int{}
	for _, f := range t.Fields {
		if !t.Detailed && (f.IsStatus() || isOwnMark(f) && (f.Drift == "" || t.Missing || isSharedMark(f))) {
			continue
		}
		if _, known := order[f.Parent]; !known {
			order[f.Parent] = len(order)
		}
		fields = append(fields, f)
	}
	slices.SortStableFunc(fields, func(a, b plan.Field) int { return order[a.Parent] - order[b.Parent] })
	return fields
}

// isOwnMark reports whether a field is one that Holdfast itself added.
func isOwnMark(f plan.Field) bool { return f.State == plan.FieldMark }

// isSharedMark reports whether a field says who holds what of a shared object, which the
// other fields say better.
func isSharedMark(f plan.Field) bool {
	return f.Path == "metadata.annotations['"+v1alpha1.AnnotationHolders+"']" || f.Path == "metadata.labels['"+v1alpha1.LabelHeld+"']"
}

// field is one line, with the writer at its end, and more lines for what does
// not fit and what is to be said.
func (t *Explanation) field(f plan.Field) {
	name := terminal.Visible(strings.TrimPrefix(strings.TrimPrefix(f.Path, f.Parent), "."))
	head := fmt.Sprintf("  %s %-*s ", signOf(f), fieldColumn-stateColumn-1, f.State)
	text, whole := t.value(f)
	writer := t.Writer(f.Writer)
	room := t.Width - fieldColumn
	switch {
	case whole && terminal.Length(name+": "+text)+2+terminal.Length(writer) <= room && writer != "":
		end := min(t.Width, writerEnd) - fieldColumn
		pad := strings.Repeat(" ", max(2, end-terminal.Length(name+": "+text)-terminal.Length(writer)))
		t.line(t.paintState(f, head) + name + ": " + text + pad + t.Palette.Paint(terminal.Dim, writer))
	case whole && terminal.Length(name+": "+text) <= room:
		t.line(t.paintState(f, head) + name + ": " + text)
		t.below(terminal.Dim, writerLine(writer))
	default:
		t.line(t.paintState(f, head) + name + ":")
		t.long(f)
		t.below(terminal.Plain, allowed(f.Rule))
		t.below(terminal.Dim, writerLine(writer))
	}
	t.more(f)
}

func writerLine(writer string) string {
	if writer == "" {
		return ""
	}
	return "written by " + writer
}

// signOf says without words or colour how an observed field is.
func signOf(f plan.Field) string {
	switch {
	case f.State == plan.FieldClaimed && f.Desired.Set:
		return "!"
	case (f.State == plan.FieldFree || f.State == plan.FieldClaimed || f.State == plan.FieldWatched || f.State == plan.FieldSeeded) && f.Drift == "":
		return " "
	case f.Drift == "":
		return "="
	case f.Corrected:
		return "~"
	default:
		return "!"
	}
}

func (t *Explanation) paintState(f plan.Field, text string) string {
	switch {
	case signOf(f) == "~":
		return t.Palette.Paint(terminal.Yellow, text)
	case f.State == plan.FieldContested || signOf(f) == "!":
		return t.Palette.Paint(terminal.Purple, text)
	case f.State == plan.FieldFree || f.State == plan.FieldClaimed || f.State == plan.FieldWatched || f.State == plan.FieldSeeded:
		return t.Palette.Paint(terminal.Dim, text)
	case f.State == plan.FieldHeld:
		return t.Palette.Paint(terminal.Green, text)
	default:
		return t.Palette.Paint(terminal.Cyan, text)
	}
}

// more says why, where that is not what the sign and the state say already.
func (t *Explanation) more(f plan.Field) {
	why := t.whyOf(f)
	if t.Missing {
		return
	}
	switch {
	case f.Drift != "" || f.State == plan.FieldContested || f.State == plan.FieldClaimed:
		t.below(terminal.Plain, why)
	case (t.Detailed || f.State == plan.FieldAccepted || f.Manifest.Set) && !t.said[why]:
		t.below(terminal.Plain, why)
		if t.said == nil {
			t.said = map[string]bool{}
		}
		t.said[why] = true // of the fields that follow, the state says it
	}
	t.below(terminal.Dim, f.OnRelease)
}

// whyOf adds to why a field is, or is not, corrected how often it was.
func (t *Explanation) whyOf(f plan.Field) string { return Why(f, t.Now) }

// Why says why a field is, or is not, corrected, and how often it was.
func Why(f plan.Field, now time.Time) string {
	switch {
	case f.Next.IsZero():
		return f.Why
	case f.Next.After(now):
		return fmt.Sprintf("%s; corrected %d times, again in %s", f.Why, f.Corrections, terminal.Span(f.Next.Sub(now)))
	default:
		return fmt.Sprintf("%s; corrected %d times before", f.Why, f.Corrections)
	}
}

// below writes a text under a field.
func (t *Explanation) below(s terminal.Style, text string) {
	indent := strings.Repeat(" ", fieldColumn+2)
	if text == "" {
		return
	}
	for _, line := range terminal.Wrap(terminal.Visible(text), t.Width-len(indent)) {
		t.line(indent + t.Palette.Paint(s, line))
	}
}

// Writer is who wrote a field last, and how long ago.
func (t *Explanation) Writer(w plan.Writer) string {
	if w.Manager == "" {
		return ""
	}
	text := terminal.Visible(w.Manager)
	if w.Subresource != "" {
		text += terminal.Visible(" (" + w.Subresource + ")")
	}
	if !w.At.IsZero() {
		text += ", " + terminal.Ago(t.Now, w.At)
	}
	return text
}

// summary counts the fields of each state.
func (t *Explanation) summary() string {
	var parts []string
	for _, state := range []plan.FieldState{
		plan.FieldHeld, plan.FieldLearned, plan.FieldAccepted, plan.FieldContested, plan.FieldClaimed, plan.FieldRemoved, plan.FieldRestored,
		plan.FieldAllowed, plan.FieldPushed, plan.FieldSeeded, plan.FieldAbsent, plan.FieldWatched, plan.FieldFree,
	} {
		n := 0
		for _, f := range t.Fields {
			if f.State == state && !f.IsStatus() {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	drifted := 0
	for _, f := range t.Fields {
		if f.Drift != "" && f.State != plan.FieldWatched && !isOwnMark(f) {
			drifted++
		}
	}
	text := "Fields: " + strings.Join(parts, ", ")
	if len(parts) == 0 {
		text = "Fields: none"
	}
	if drifted > 0 {
		text += fmt.Sprintf("; %d drifted", drifted)
	}
	return t.Palette.Paint(terminal.Bold, text)
}
