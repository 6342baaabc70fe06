package report

import (
	"cmp"
	"fmt"
	"strings"

	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/explain"
)

// isRuled reports whether a field keeps its live value as long as its rule allows it.
func isRuled(f explain.Field) bool { return f.State == explain.Allowed || f.State == explain.Pushed }

// fields prints a list of the fields for which fits returns true, up to a limit.
func (t *StatusText) fields(title string, fits func(explain.Field) bool) {
	const shown = 10
	n := 0
	// Fields of resources that are not listed are not listed either.
	for _, r := range t.shown() {
		of := 0
		for _, f := range r.fields {
			if !fits(f) {
				continue
			}
			// Fields above the limit are still counted, for the last line.
			if n++; n > shown {
				continue
			}
			if n == 1 {
				t.title(title)
			}
			if of++; of == 1 {
				t.line("  " + files.NameOf(r.id, t.Application.Namespace))
			}
			t.field(f)
		}
	}
	if n > shown {
		t.line(fmt.Sprintf("  … and %d more: run explain to list them", n-shown))
	}
}

// field prints a field, on one line if it fits, and the reason or the writer below it. Long values are only in the
// output of explain.
func (t *StatusText) field(f explain.Field) {
	text, whole := inlineField(f)
	if !whole {
		text = "(several lines)"
	}
	head := "    " + signOf(f) + " " + terminal.Visible(f.Path) + ": "
	if terminal.Length(head+text) <= t.Width {
		t.line(head + text)
	} else {
		t.line(strings.TrimRight(head, " "))
		t.wrapped("        ", text)
	}
	why := ""
	switch {
	case f.State == explain.Contested, f.State == explain.Claimed:
		why = FieldReason(f, t.Now)
	case f.Drift != "" && f.State != explain.Reported:
		why = cmp.Or(writerLine(WriterText(f.Writer, t.Now)), f.Why)
	case f.State == explain.Accepted && !f.Live.Set:
		why = f.Why
	}
	if why != "" {
		t.wrapped("        ", why)
	}
}
