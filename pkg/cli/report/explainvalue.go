package report

import (
	"fmt"
	"strings"

	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/explain"
	"holdfast.dev/holdfast/pkg/observer"
)

// inlineField returns the live value, the desired value and the rule of a field on one line. It returns false if
// they need several lines.
//
//	free, as the manifest         5
//	free, not as the manifest     5 (manifest: 3)
//	drifted                       web:2 → web:1
//	in its accepted form          1k (desired: "1000")
//	with a rule                   5, allowed 1 to 5
func inlineField(f explain.Field) (string, bool) {
	text, short := inlineValues(f)
	if rule := allowed(f.Rule); rule != "" {
		text += ", " + rule
	}
	return text, short
}

// allowed returns the values that a rule allows. It returns "" without a rule, and for a rule with a mode.
func allowed(rule *observer.Rule) string {
	if rule == nil || rule.Mode != "" {
		return ""
	}
	return terminal.Visible("allowed " + rule.String())
}

// inlineValues returns the live value, and the manifest's or the desired value if the user needs to compare them. An
// arrow means that the controller writes the desired value. It returns false if a value needs several lines.
func inlineValues(f explain.Field) (string, bool) {
	live, short := terminal.Inline(f.Live)
	live = terminal.Visible(live)
	if f.Manifest.Set {
		written, alsoShort := terminal.Inline(f.Manifest)
		return live + " (manifest: " + terminal.Visible(written) + ")", short && alsoShort
	}
	if !short || !f.Desired.Set && f.Drift != "" || f.State == explain.Free || f.State == explain.Reported || f.Live.Equal(f.Desired) {
		return live, short
	}
	desired, alsoShort := terminal.Inline(f.Desired)
	desired = terminal.Visible(desired)
	if f.Drift == "" { // in its accepted form, or without a known desired value
		if !f.Desired.Set {
			return live, short
		}
		return live + " (desired: " + desired + ")", alsoShort
	}
	return live + " → " + desired, alsoShort
}

// long prints a value on lines of its own. A value that has drifted is printed as changed lines, with some lines around
// them. Another value is printed from its beginning, up to longLines unless t.Detailed is set.
func (t *Explanation) long(f explain.Field) {
	indent := strings.Repeat(" ", fieldColumn+2)
	if f.Manifest.Set {
		f.State, f.Desired = explain.Held, f.Manifest // shows both values, line by line
	}
	if f.State == explain.Free || f.Live.Equal(f.Desired) || !f.Desired.Set {
		lines := strings.Split(strings.TrimRight(terminal.Block(f.Live), "\n"), "\n")
		for i, line := range lines {
			if !t.Detailed && i == longLines && len(lines) > longLines+1 {
				t.line(indent + t.Palette.Paint(terminal.Dim, fmt.Sprintf("… %d more lines", len(lines)-i)))
				return
			}
			t.line(indent + terminal.Visible(line))
		}
		return
	}
	for _, line := range terminal.BlockLines(f.Live, f.Desired) {
		style := terminal.Plain
		switch line.Mark {
		case "-":
			style = terminal.Red
		case "+":
			style = terminal.Green
		}
		t.line(indent + t.Palette.Paint(style, line.Mark+" "+terminal.Visible(line.Text)))
	}
}

// longLines is the number of lines of a long value that are printed, unless t.Detailed is set.
const longLines = 6
