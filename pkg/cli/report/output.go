package report

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"holdfast.dev/holdfast/pkg/cli/terminal"
)

// Output is the text of a report for users. A report collects its lines, and prints them at once, so that a failure
// leaves no half of it.
type Output struct {
	Palette terminal.Palette
	// Width is the number of columns at which long lines wrap. A word that is longer is not broken.
	Width int
	// Now is the time to which ages refer.
	Now time.Time

	text bytes.Buffer
}

// NewOutput returns an empty output for the standard output of a command.
func NewOutput(streams terminal.Streams, palette terminal.Palette) Output {
	return Output{Palette: palette, Width: terminal.Width(streams.Out), Now: streams.Now()}
}

// line adds a line without trailing spaces. The text must be escaped, because it can contain colors.
func (o *Output) line(text string) { fmt.Fprintln(&o.text, strings.TrimRight(text, " ")) }

// title adds an empty line and a title.
func (o *Output) title(text string) {
	o.line("")
	o.line(o.Palette.Paint(terminal.Bold, text))
}

// wrapped adds a text with a mark before it. Both are escaped. It adds nothing for an empty text.
func (o *Output) wrapped(mark, text string) {
	for _, line := range terminal.WrapItem(terminal.Visible(mark), terminal.Visible(text), o.Width) {
		o.line(line)
	}
}
