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
	"holdfast.dev/holdfast/pkg/manifest"
)

// Progress is a display of the state of the resources of an Application. It has one line per resource. For
// many resources, it has one line for all, and one for each that fails. On a terminal with enough rows it
// overwrites its lines; elsewhere it writes a line whenever it changes. It is not safe for concurrent use.
type Progress struct {
	out io.Writer
	// size returns the size of the terminal. Progress calls it each time, because users resize terminals.
	size  func() (columns, rows int, ok bool)
	said  map[manifest.ID]string // the last line of each resource; the line with the counts has the zero ID
	lines int                    // number of lines on the terminal to overwrite
}

// NewProgress returns an empty display on the standard error.
func NewProgress(streams terminal.Streams) *Progress {
	p := &Progress{out: streams.Err, said: map[manifest.ID]string{}}
	p.size = func() (columns, rows int, ok bool) {
		columns, rows, ok = terminal.Size(streams.Err)
		return columns, rows, ok && streams.Getenv("TERM") != "dumb"
	}
	return p
}

// Show shows the current state of the resources in app. It replaces the previous list, or adds the lines
// that have changed since.
//
//	Deployment web  InProgress: 1 of 3 replicas are ready
//	Service web  Current
//	60 resources: 58 Current, 2 InProgress       (more than 10 resources)
func (p *Progress) Show(app *v1alpha1.Application) {
	var all, changed []string
	say := func(id manifest.ID, line string) {
		if p.said[id] != line {
			changed = append(changed, line)
		}
		p.said[id] = line
		all = append(all, line)
	}
	const few = 10
	many := len(app.Status.Resources) > few
	if many {
		say(manifest.ID{}, countsOf(app.Status.Resources))
	}
	for _, r := range app.Status.Resources {
		// A long list of failures would push the first ones out of view.
		if word, why := stateOf(r); !many || fails(word) && len(all) <= few {
			id := manifest.IDFromReference(r.ResourceReference)
			say(id, files.NameOf(id, app.Namespace)+"  "+terminal.Visible(strings.ReplaceAll(word+why, "\n", " ")))
		}
	}
	columns, rows, ok := p.size()
	// A list that has scrolled cannot be overwritten.
	if !ok || len(all) >= rows {
		p.lines = 0
		p.write(changed)
		return
	}
	if p.lines > 0 { // moves to the first line of the list, and clears everything from there
		fmt.Fprintf(p.out, "\x1b[%dA\x1b[J", p.lines)
	}
	for i, line := range all {
		all[i] = terminal.Clip(line, columns)
	}
	p.write(all)
	p.lines = len(all)
}

// write writes lines with line breaks.
func (p *Progress) write(lines []string) {
	for _, line := range lines {
		fmt.Fprintln(p.out, line)
	}
}

// stateOf returns the state of a resource in a word, and why it is not ready. If the status has a reason for an
// object that was not found, or one that only a user can help with, the word is this reason, because it is more
// exact: the object may have another owner, or its correction may be rejected although it is healthy.
//
//	health      reason            message                word, why
//	Current                                              Current
//	InProgress                    1 of 3 are ready       InProgress, ": 1 of 3 are ready"
//	InProgress                    in progress            InProgress
//	NotFound    ResourceConflict  the object exists      ResourceConflict, ": the object exists"
//	Current     Rejected          a quota denies it      Rejected, ": a quota denies it"
func stateOf(r v1alpha1.ResourceStatus) (word, why string) {
	if word = r.Health; word == "NotFound" && r.Reason != "" || v1alpha1.InfoForReason(r.Reason).Disposition.Stalled() {
		word = r.Reason
	}
	if r.Message == "" || strings.EqualFold(word, strings.ReplaceAll(r.Message, " ", "")) {
		return word, "" // "InProgress: in progress" would be a repetition
	}
	return word, ": " + r.Message
}

// fails reports whether the state of a resource is an error. word is a result of stateOf: a state of
// kstatus, or a reason.
func fails(word string) bool {
	return word != "Current" && word != "InProgress" && word != "Terminating" && word != "" &&
		v1alpha1.InfoForReason(word).Disposition != v1alpha1.DispositionWait
}

// countsOf returns a text with the number of resources in each state, sorted by state.
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

// WriteLine writes a line after the list. Show must not be called later, because it would overwrite the
// line.
func (p *Progress) WriteLine(text string) { fmt.Fprintln(p.out, terminal.Visible(text)) }
