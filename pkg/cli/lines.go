package cli

import (
	"strings"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"

	"holdfast.dev/holdfast/pkg/delta"
)

// markedLine is a line of a value: "-" as it is, "+" as it is desired, " " both.
type markedLine struct{ mark, text string }

// blockLines compares two values by line. A text and a map that reads like it
// are told apart by the quotes of the text.
func blockLines(before, after delta.Value) []markedLine {
	if changed := changedLines(block(before), block(after)); len(changed) > 0 {
		return changed
	}
	return changedLines(encoded(nodeOf(before.Any)), encoded(nodeOf(after.Any)))
}

// changedLines compares two texts by line. Of a long text it has what is near a
// change, and "…" for what lies between.
func changedLines(before, after string) []markedLine {
	unified := string(diff.Diff("live", []byte(before), "desired", []byte(after)))
	var changed []markedLine
	for i, line := range strings.Split(strings.TrimSuffix(unified, "\n"), "\n") {
		switch {
		case i < 3: // the names of the two
		case strings.HasPrefix(line, "@@"):
			if len(changed) > 0 {
				changed = append(changed, markedLine{" ", "…"})
			}
		case strings.HasPrefix(line, `\`):
			changed = append(changed, markedLine{" ", "(no line break at the end)"})
		case line != "":
			changed = append(changed, markedLine{line[:1], line[1:]})
		}
	}
	return changed
}

// wrap breaks a text into lines at spaces. A longer word stays whole, so that
// it can be copied.
func wrap(text string, width int) []string {
	var lines []string
	for paragraph := range strings.Lines(text) {
		line := ""
		for _, word := range strings.Fields(paragraph) {
			if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
				lines = append(lines, line)
				line = ""
			}
			line = strings.TrimPrefix(line+" "+word, " ")
		}
		lines = append(lines, line)
	}
	return lines
}
