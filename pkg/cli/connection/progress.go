package connection

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/plan"
)

// Progress shows how the resources of an Application get along: one line per resource,
// or one for many of them and one for each that fails. On a terminal that has room for
// them they are written over; elsewhere a line is written whenever it changes.
type Progress struct {
	out io.Writer
	// size is that of the terminal, asked again each time, for people change it.
	size  func() (columns, rows int, ok bool)
	said  map[string]string // the last line of each resource; "" is all of them
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
	say := func(name, line string) {
		if p.said[name] != line {
			changed = append(changed, line)
		}
		p.said[name] = line
		all = append(all, line)
	}
	const few = 10
	many := len(app.Status.Resources) > few
	if many {
		say("", countsOf(app.Status.Resources))
	}
	for _, r := range app.Status.Resources {
		if word, why := stateOf(r); !many || fails(word) && len(all) <= few {
			name := files.NameOf(plan.IDOf(r.ResourceReference), app.Namespace)
			say(name, name+"  "+terminal.Visible(strings.ReplaceAll(word+why, "\n", " ")))
		}
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

// stateOf is a resource in a word, and why if it is not as it should be. There is none
// of ours that is another owner's, or may not be created: the reason says more.
func stateOf(r v1alpha1.ResourceStatus) (word, why string) {
	if word = r.Health; word == "NotFound" && r.Reason != "" {
		word = r.Reason
	}
	if r.Message == "" || strings.EqualFold(word, strings.ReplaceAll(r.Message, " ", "")) {
		return word, "" // "InProgress: in progress" says it twice
	}
	return word, ": " + r.Message
}

// fails reports whether a resource is in a state in which something is wrong.
func fails(word string) bool {
	return word != "Current" && word != "InProgress" && word != "Terminating" && word != "" &&
		v1alpha1.InfoForReason(word).Disposition != v1alpha1.DispositionWait
}

// countsOf says how many resources are in which state.
func countsOf(resources []v1alpha1.ResourceStatus) string {
	counts := map[string]int{}
	for _, r := range resources {
		word, _ := stateOf(r)
		counts[word]++
	}
	parts := make([]string, 0, len(counts))
	for _, word := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[word], cmp.Or(word, "Unknown")))
	}
	return fmt.Sprintf("%d resources: %s", len(resources), strings.Join(parts, ", "))
}

// Say writes a line that stays.
func (p *Progress) Say(text string) { fmt.Fprintln(p.out, terminal.Visible(text)) }
