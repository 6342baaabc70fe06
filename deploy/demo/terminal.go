package main

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// terminal prints blocks separated by empty lines. Text that can be folded is at most 80 columns wide.
// Color carries no additional information.
type terminal struct {
	out    io.Writer
	colour bool
	// checks counts the passed checks.
	checks int
	// last is the kind of the last block.
	last block
}

type block int

const (
	nothing block = iota
	heading
	prose
	command
	output
	check
)

const (
	width  = 80
	indent = "  "

	bold  = "1"
	red   = "31"
	green = "32"
)

func newTerminal(out *os.File) *terminal {
	info, err := out.Stat()
	isTerminal := err == nil && info.Mode()&os.ModeCharDevice != 0
	return &terminal{out: out, colour: isTerminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

func (t *terminal) painted(code, text string) string {
	if !t.colour {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// begin separates blocks. A command and its output are one block, and so are checks.
func (t *terminal) begin(next block) {
	together := t.last == nothing || t.last == command && next == output || t.last == check && next == check
	if !together {
		t.line("")
	}
	t.last = next
}

func (t *terminal) line(text string) { fmt.Fprintln(t.out, strings.TrimRight(text, " ")) }

func (t *terminal) heading(text string) {
	t.begin(heading)
	t.line(t.painted(bold, text))
	t.line(strings.Repeat("-", len(text)))
}

// print prints text that contains its own line breaks.
func (t *terminal) print(text string) {
	t.begin(prose)
	t.line(text)
}

func (t *terminal) command(text string) {
	t.begin(command)
	for i, part := range strings.Split(text, "\n") {
		prompt := "$ "
		if i > 0 {
			prompt = "  "
		}
		t.line(indent + prompt + t.painted(bold, part))
	}
}

// output prints the output of a command.
func (t *terminal) output(text string) {
	t.begin(output)
	for part := range strings.SplitSeq(text, "\n") {
		t.line(fold(indent+part, width, indent+indent))
	}
}

// ok prints the line of a passed check.
func (t *terminal) ok(format string, args ...any) {
	t.checks++
	t.begin(check)
	const mark = "ok "
	text := fold(mark+fmt.Sprintf(format, args...), width, "   ")
	t.line(t.painted(green, mark) + strings.TrimPrefix(text, mark))
}

// failed prints the line of a failed check.
func (t *terminal) failed(err error) {
	t.begin(check)
	const mark = "FAILED: "
	text := fold(mark+err.Error(), width, "   ")
	t.line(t.painted(red, mark) + strings.TrimPrefix(text, mark))
}

// fold breaks a line at spaces, so that no part is wider than the limit, except for single words. The parts
// after the first are indented.
func fold(line string, limit int, indent string) string {
	var parts []string
	for len(line) > limit {
		at := strings.LastIndexByte(line[:limit+1], ' ')
		if at < 0 || strings.TrimSpace(line[:at]) == "" {
			break
		}
		parts = append(parts, strings.TrimRight(line[:at], " "))
		line = indent + strings.TrimLeft(line[at:], " ")
	}
	return strings.Join(append(parts, line), "\n")
}
