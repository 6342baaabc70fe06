package connection

import (
	"fmt"
	"io"
	"strings"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/plan"
)

// Progress shows how the resources of an Application get along: on a terminal as
// a list that is written over, one line per resource; elsewhere a line whenever
// one changes.
type Progress struct {
	out      io.Writer
	terminal bool
	width    int
	said     map[string]string // what was said last of each resource
	lines    int               // on the terminal, to be written over
}

// NewProgress shows nothing yet. It goes where messages go.
func NewProgress(streams terminal.Streams) *Progress {
	_, isTerminal := terminal.File(streams.Err)
	return &Progress{
		out: streams.Err, terminal: isTerminal && streams.Getenv("TERM") != "dumb",
		width: terminal.Width(streams.Err), said: map[string]string{},
	}
}

// Show shows how the resources are now.
func (p *Progress) Show(app *v1alpha1.Application) {
	var lines []string
	for _, r := range app.Status.Resources {
		name := files.NameOf(plan.IDOf(r.ResourceReference), app.Namespace)
		state := stateOf(r)
		line := name + "  " + terminal.Visible(strings.ReplaceAll(state, "\n", " "))
		if !p.terminal && p.said[name] != state {
			fmt.Fprintln(p.out, line)
		}
		p.said[name] = state
		lines = append(lines, clip(line, p.width))
	}
	if !p.terminal {
		return
	}
	p.clear()
	for _, line := range lines {
		fmt.Fprintln(p.out, line)
	}
	p.lines = len(lines)
}

// stateOf is a resource in a word, and why if it is not as it should be.
func stateOf(r v1alpha1.ResourceStatus) string {
	if r.Message == "" {
		return r.Health
	}
	return r.Health + ": " + r.Message
}

// clear goes back to the line where the list begins, and clears from there on.
func (p *Progress) clear() {
	if p.lines > 0 {
		fmt.Fprintf(p.out, "\x1b[%dA\x1b[J", p.lines)
	}
	p.lines = 0
}

// Say writes a line that stays.
func (p *Progress) Say(text string) { fmt.Fprintln(p.out, terminal.Visible(text)) }

// End leaves what is shown where it is.
func (p *Progress) End() { p.lines = 0 }

// clip shortens a line to a width.
func clip(line string, width int) string {
	if terminal.Length(line) <= width {
		return line
	}
	return string([]rune(line)[:width-1]) + "…"
}
