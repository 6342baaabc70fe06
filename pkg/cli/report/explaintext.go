package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/explain"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/writer"
)

// Explanation is a printer of the explanation of one resource. Namespace and Application name the Application.
//
//	Deployment web (apps/v1) of Application default/web
//	Held by its observer schema: the fields named there.
//
//	spec
//	  = learned   paused: (absent)
//	    free      replicas: 5 (manifest: 3)                              hpa (scale)
//	                not held: the live value is kept; hold it with ...
//
//	spec.template.spec.containers[name=web]
//	  ~ held      image: web:2 → web:1                                   kubectl-set
//	                drift: the live value is not the desired value; it is corrected
//
//	Fields: 1 held, 1 learned, 1 free; 1 drifted
type Explanation struct {
	explain.Explanation
	Output
	Namespace, Application string
	// Detailed prints all details of each field.
	Detailed bool
	// said records the reasons that were printed for earlier fields, so that each is printed once. It is created when
	// needed.
	said map[string]bool
}

// Columns of a field: the sign, its state, and then the field itself.
const (
	stateColumn = 4
	fieldColumn = stateColumn + len("contested") + 1
	// writerEnd is the column where the names of writers end on wider terminals. Further to the right,
	// readers would not find the field that a name belongs to.
	writerEnd = 110
)

// Print writes the explanation to w.
func (t *Explanation) Print(w io.Writer) error {
	t.line(t.Palette.Paint(terminal.Bold, files.NameOf(t.ID, t.Namespace)) +
		terminal.Visible(" ("+t.Change.APIVersion+") of Application "+t.Namespace+"/"+t.Application))
	t.line(SchemaText(t.Explanation))
	t.remarks()
	// No field has this parent, so the first field always gets a title.
	parent := "-"
	for _, f := range t.shown() {
		if f.Parent != parent {
			parent = f.Parent
			t.title(terminal.Visible(cmp.Or(parent, "(top level)")))
		}
		t.field(f)
	}
	t.title(t.summary())
	return terminal.Write(w, t.text.Bytes())
}

// SchemaText returns a sentence about the source of the observer schema of a resource, and about the
// HoldProfiles that change it. The first case that applies:
//
//	not desired                            No longer desired: no field is held.
//	default schema, with spec.fields       every field of its manifest, with the exceptions in fields[0]
//	spec.observerSchema, with spec.fields  its observer schema, and changed by fields[0]
//	spec.fields                            fields[0] of its Application: the fields named there
//	default schema                         every field of its manifest
//	spec.observerSchema                    its observer schema: the fields named there
func SchemaText(e explain.Explanation) string {
	text := "Held by its observer schema: the fields named there."
	switch {
	case !e.Desired:
		text = "No longer desired: no field is held."
	case e.Default && e.FieldsItem != "":
		text = "Held by the default observer schema: every field of its manifest, with the exceptions in " + e.FieldsItem + "."
	case e.Written && e.FieldsItem != "":
		text = "Held by its observer schema, and changed by " + e.FieldsItem + ": the fields named there."
	case e.FieldsItem != "":
		text = "Held by " + e.FieldsItem + " of its Application: the fields named there."
	case e.Default, len(e.Profiles) > 0:
		text = "Held by the default observer schema: every field of its manifest."
	}
	if len(e.Profiles) > 0 {
		text += "\nChanged by " + terminal.Visible(intent.ProfileNames(e.Profiles)) + "."
	}
	return text
}

// remarks prints the problem of the resource, or else one remark about a missing object, instead of one for each field.
// Its lines begin with "! ".
func (t *Explanation) remarks() {
	text := ""
	switch drifted := slices.IndexFunc(t.Fields, func(f explain.Field) bool { return f.Drift != "" }); {
	case t.Change.Problem != nil:
		text = t.Change.Problem.Reason + ": " + t.Change.Problem.Error()
	case t.Missing && drifted >= 0:
		text = t.Fields[drifted].Why
	case t.Missing:
		text = "the object does not exist"
	}
	for _, line := range terminal.WrapItem("! ", terminal.Visible(text), t.Width) {
		t.line(t.Palette.Paint(terminal.Purple, line))
	}
}

// shown returns the fields to print, grouped by parent in the order of the first field of each. Unless t.Detailed
// is set, it leaves out the object's status, which is never held, and most tracking metadata.
func (t *Explanation) shown() []explain.Field {
	var fields []explain.Field
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
	slices.SortStableFunc(fields, func(a, b explain.Field) int { return order[a.Parent] - order[b.Parent] })
	return fields
}

// isOwnMark reports whether a field is tracking metadata of Holdfast.
func isOwnMark(f explain.Field) bool { return f.State == explain.Mark }

// isSharedMark reports whether a field is the tracking metadata about the holders of a shared object. The
// other fields show the same information better.
func isSharedMark(f explain.Field) bool {
	return f.Path == "metadata.annotations['"+v1alpha1.AnnotationHolders+"']" || f.Path == "metadata.labels['"+v1alpha1.LabelHeld+"']"
}

// field prints a field on one line, with the writer at its end. It adds lines for a value that does not fit,
// and for the reason. The name is relative to the title above it. With less room, it moves parts to lines below:
//
//	room for all        ~ held      image: web:2 → web:1          kubectl-set
//	without the writer  ~ held      image: web:2 → web:1
//	                                  written by kubectl-set
//	without its rule    = allowed   image: web:2 (manifest: web:1)
//	                                  allowed matching web:[0-9]+
//	                                  written by kubectl-set
//	for the name        ~ held      image:
//	                                  - web:2
//	                                  + web:1
//	                                  written by kubectl-set
func (t *Explanation) field(f explain.Field) {
	name := terminal.Visible(strings.TrimPrefix(strings.TrimPrefix(f.Path, f.Parent), "."))
	head := fmt.Sprintf("  %s %-*s ", signOf(f), fieldColumn-stateColumn-1, f.State)
	text, whole := inlineField(f)
	writer := WriterText(f.Writer, t.Now)
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
		if values, short := inlineValues(f); short && terminal.Length(name+": "+values) <= room {
			t.line(t.paintState(f, head) + name + ": " + values)
		} else {
			t.line(t.paintState(f, head) + name + ":")
			t.long(f)
		}
		t.below(terminal.Plain, allowed(f.Rule))
		t.below(terminal.Dim, writerLine(writer))
	}
	t.more(f)
}

// writerLine returns the writer for a line of its own; "" if it is unknown.
func writerLine(writer string) string {
	if writer == "" {
		return ""
	}
	return "written by " + writer
}

// signOf returns a character for the state of a field, for readers who do not see colors:
//
//	=  held in some way, and in sync
//	~  drifted, and the controller corrects it
//	!  drifted, and the controller does not correct it; or another Application holds it
//	   not held
func signOf(f explain.Field) string {
	switch {
	case f.State == explain.Claimed && f.Desired.Set:
		return "!"
	case (f.State == explain.Free || f.State == explain.Claimed || f.State == explain.Reported) && f.Drift == "":
		return " "
	case f.Drift == "":
		return "="
	case f.Corrected:
		return "~"
	default:
		return "!"
	}
}

// paintState paints a text in the color of a field's state. Drift takes precedence over the state.
func (t *Explanation) paintState(f explain.Field, text string) string {
	switch {
	case signOf(f) == "~":
		return t.Palette.Paint(terminal.Yellow, text)
	case f.State == explain.Contested || signOf(f) == "!":
		return t.Palette.Paint(terminal.Purple, text)
	case f.State == explain.Free || f.State == explain.Claimed || f.State == explain.Reported:
		return t.Palette.Paint(terminal.Dim, text)
	case f.State == explain.Held:
		return t.Palette.Paint(terminal.Green, text)
	default:
		return t.Palette.Paint(terminal.Cyan, text)
	}
}

// more prints the reason, unless the sign and the state already express it. For a missing object, the reason is the
// remark above all fields.
func (t *Explanation) more(f explain.Field) {
	why := FieldReason(f, t.Now)
	if t.Missing {
		return
	}
	switch {
	case f.Drift != "" || f.State == explain.Contested || f.State == explain.Claimed:
		t.below(terminal.Plain, why)
	case (t.Detailed || f.State == explain.Accepted || f.Manifest.Set) && !t.said[why]:
		t.below(terminal.Plain, why)
		if t.said == nil {
			t.said = map[string]bool{}
		}
		t.said[why] = true // for the fields that follow, the state is enough
	}
	t.below(terminal.Dim, f.OnRelease)
}

// FieldReason returns why a field is, or is not, corrected, and how often it was corrected. For a contested field, now
// decides whether the next correction is due:
//
//	WHY
//	WHY; corrected 7 times, next in 5m
//	WHY; corrected 7 times before
func FieldReason(f explain.Field, now time.Time) string {
	switch {
	case f.Next.IsZero():
		return f.Why
	case f.Next.After(now):
		return fmt.Sprintf("%s; corrected %d times, next in %s", f.Why, f.Corrections, terminal.Span(f.Next.Sub(now)))
	default:
		return fmt.Sprintf("%s; corrected %d times before", f.Why, f.Corrections)
	}
}

// below writes a text under a field, wrapped and indented. It writes nothing for "".
func (t *Explanation) below(s terminal.Style, text string) {
	indent := strings.Repeat(" ", fieldColumn+2)
	if text == "" {
		return
	}
	for _, line := range terminal.Wrap(terminal.Visible(text), t.Width-len(indent)) {
		t.line(indent + t.Palette.Paint(s, line))
	}
}

// WriterText returns the last writer of a field, and how long ago it wrote; "" if the writer is unknown. The text is
// escaped: any client can choose its field manager. For example: "hpa (scale), 5m ago".
func WriterText(w writer.Writer, now time.Time) string {
	if w.Manager == "" || w.At.IsZero() {
		return WriterName(w)
	}
	return WriterName(w) + ", " + terminal.Ago(now, w.At)
}

// WriterName returns the field manager of a writer, and the subresource that it wrote to.
func WriterName(w writer.Writer) string {
	if w.Manager == "" || w.Subresource == "" {
		return terminal.Visible(w.Manager)
	}
	return terminal.Visible(w.Manager + " (" + w.Subresource + ")")
}

// summary returns the number of fields in each state. It does not count report-only fields and tracking metadata as
// drifted: the controller reports the first elsewhere, and restores the second without a user.
func (t *Explanation) summary() string {
	counts, drifted := map[explain.State]int{}, 0
	for _, f := range t.Fields {
		if !f.IsStatus() {
			counts[f.State]++
		}
		if f.Drift != "" && f.State != explain.Reported && !isOwnMark(f) {
			drifted++
		}
	}
	text := "Fields: " + cmp.Or(countsText(counts), "none")
	if drifted > 0 {
		text += fmt.Sprintf("; %d drifted", drifted)
	}
	return text
}
