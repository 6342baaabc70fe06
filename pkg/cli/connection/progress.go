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

// Progress shows how the resources of an Application get along: on a terminal that
// has room for it as a list that is written over, one line per resource; elsewhere
// a line whenever one changes.
type Progress struct {
	out io.Writer
	// size is that of the terminal, asked again each time, for people change it.
	size  func() (columns, rows int, ok bool)
	said  map[string]string // what was said last of each resource
	lines int               // on the terminal, to be written over
}

// NewProgress shows nothing yet. It goes where messages go.
func NewProgress(streams terminal.Streams) *Progress {
	p := &Progress{out: streams.Err, said: map[string]string{}}
	p.size = func() (columns, rows int, ok bool) {
		columns, rows, ok = terminal.Size(streams.Err)
		return columns, rows, ok && streams.Getenv("TERM") != "dumb"
	}
	return p
}

// Show shows how the resources are now.
func (p *Progress) Show(app *v1alpha1.Application) {
	var all, changed []string
	for _, r := range app.Status.Resources {
		name := files.NameOf(plan.IDOf(r.ResourceReference), app.Namespace)
		state := stateOf(r)
		line := name + "  " + terminal.Visible(strings.ReplaceAll(state, "\n", " "))
		if p.said[name] != state {
			changed = append(changed, line)
		}
		p.said[name] = state
		all = append(all, line)
	}
	columns, rows, ok := p.size()
	if !ok || len(all) >= rows {
		p.lines = 0
		p.write(changed)
		return
	}
	if p.lines > 0 { // back to the line where the list begins, and clear from there on
		fmt.Fprintf(p.out, "\x1b[%dA\x1b[J", p.lines)
	}
	for i, line := range all {
		all[i] = terminal.Clip(line, columns)
	}
	p.write(all)
	p.lines = len(all)
}

func (p *Progress) write(lines []string) {
	for _, line := range lines {
		fmt.Fprintln(p.out, line)
	}
}

// stateOf is a resource in a word, and why if it is not as it should be.
func stateOf(r v1alpha1.ResourceStatus) string {
	if r.Message == "" || strings.EqualFold(r.Health, strings.ReplaceAll(r.Message, " ", "")) {
		return r.Health // "InProgress: in progress" says it twice
	}
	return r.Health + ": " + r.Message
}

// Say writes a line that stays.
func (p *Progress) Say(text string) { fmt.Fprintln(p.out, terminal.Visible(text)) }
