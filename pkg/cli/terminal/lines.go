package terminal

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"
	"golang.org/x/text/width"

	"holdfast.dev/holdfast/pkg/delta"
)

// MarkedLine is a line of a value. Mark is "-" for a line of the live value, "+" for one of the desired value, and
// " " for one of both.
type MarkedLine struct{ Mark, Text string }

// BlockLines compares two values by line. If a string looks like a map, only the quotes of the string distinguish
// them, so both are then compared as YAML.
//
//	"a\nb\n" and "a\nc\n"         " a", "-b", "+c"
//	an absent value and "a\nb\n"  "+a", "+b"
func BlockLines(before, after delta.Value) []MarkedLine {
	if changed := changedLines(Block(before), Block(after)); len(changed) > 0 {
		return changed
	}
	return changedLines(encoded(nodeOf(before.Any)), encoded(nodeOf(after.Any)))
}

// changedLines compares two texts by line. It returns nil if they are equal. For a long text, it returns only the
// lines near a change, with "…" between them.
//
// The package diff writes three header lines, "diff ...", "--- ..." and "+++ ...", then hunks of a unified diff with
// three lines of context. A line that begins with a backslash states that the last line has no line break.
func changedLines(before, after string) []MarkedLine {
	unified := string(diff.Diff("live", []byte(before), "desired", []byte(after)))
	var changed []MarkedLine
	for i, line := range strings.Split(strings.TrimSuffix(unified, "\n"), "\n") {
		switch {
		case i < 3: // the names of the two texts
		case strings.HasPrefix(line, "@@"):
			if len(changed) > 0 {
				changed = append(changed, MarkedLine{" ", "…"})
			}
		case strings.HasPrefix(line, `\`):
			changed = append(changed, MarkedLine{" ", "(no line break at the end)"})
		case strings.HasPrefix(line, " "):
			changed = append(changed, MarkedLine{" ", line[1:]})
		case line != "":
			changed = append(changed, MarkedLine{line[:1], visibleEnd(line[1:])})
		}
	}
	return changed
}

// visibleEnd escapes the blanks at the end of a line, which may be the only change of the line.
func visibleEnd(line string) string {
	text := strings.TrimRight(line, " \t")
	return text + strings.NewReplacer(" ", `\x20`, "\t", `\x09`).Replace(line[len(text):])
}

// word matches a word, or a command in backticks with its punctuation.
var word = regexp.MustCompile("[^\\s`]*`[^`]+`\\S*|\\S+")

// Wrap breaks a text into lines at spaces, and keeps its line breaks. It does not break a longer word or a command in
// backticks, so that users can copy it. It returns nil for an empty text.
//
//	Wrap("one two three", 8)  "one two", "three"
//	Wrap("run `a b c`.", 8)   "run", "`a b c`."
//	Wrap("a\n\nb", 8)         "a", "", "b"
func Wrap(text string, columns int) []string {
	var lines []string
	for paragraph := range strings.Lines(text) {
		line := ""
		for _, word := range word.FindAllString(paragraph, -1) {
			if line != "" && Length(line)+1+Length(word) > columns {
				lines = append(lines, line)
				line = ""
			}
			line = strings.TrimPrefix(line+" "+word, " ")
		}
		lines = append(lines, line)
	}
	return lines
}

// WrapItem wraps a text like Wrap. The first line begins with a mark, and the others are indented by its length. columns
// includes the mark.
//
//	WrapItem("  - ", "one two", 8)  "  - one", "    two"
func WrapItem(mark, text string, columns int) []string {
	lines := Wrap(text, columns-Length(mark))
	for i, line := range lines {
		lines[i] = mark + line
		mark = strings.Repeat(" ", Length(mark))
	}
	return lines
}

// Plural returns a number with a noun: 1 field, 2 fields. The noun must have a regular plural.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Aligned returns lines with the cells of each row in columns, two spaces apart and without trailing spaces. Rows
// can have different lengths. Cells must not contain colors.
//
//	{"NAME", "AGE"}, {"web", "5m"}  "NAME  AGE", "web   5m"
func Aligned(rows [][]string) []string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], Length(cell))
		}
	}
	lines := make([]string, len(rows))
	for i, row := range rows {
		for k, cell := range row {
			lines[i] += cell + strings.Repeat(" ", widths[k]-Length(cell)+2)
		}
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

// Length returns how many columns a text takes on a terminal. Chinese, Japanese and Korean characters and most
// emoji take two columns. Combining accents take none (UAX #11). Escape sequences of colors would count.
func Length(text string) int {
	columns := 0
	for _, r := range text {
		columns += columnsOf(r)
	}
	return columns
}

// columnsOf returns how many columns a character takes on a terminal.
func columnsOf(r rune) int {
	switch {
	case r < utf8.RuneSelf:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}

// Clip shortens a line to a number of columns. A shortened line ends with "…", which is included in the number. Use
// it for lines that are overwritten: a line that the terminal wraps takes several rows.
func Clip(line string, columns int) string {
	if Length(line) <= columns {
		return line
	}
	used := 0
	for i, r := range line {
		if used += columnsOf(r); used > columns-1 {
			return line[:i] + "…"
		}
	}
	return line
}
