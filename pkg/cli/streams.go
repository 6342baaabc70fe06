package cli

import (
	"fmt"
	"io"

	"holdfast.dev/holdfast/pkg/cli/terminal"
)

// Streams are the input, output, environment and clock of a command. The alias keeps the commands short; package
// terminal has the fields.
type Streams = terminal.Streams

// printNotes prints notes, one per line. In contrast to warnings, they are no reason to change anything. They can contain text of a cluster.
func printNotes(w io.Writer, notes []string) {
	for _, text := range notes {
		fmt.Fprintln(w, "note: "+terminal.Visible(text))
	}
}

// warn prints warnings, one per line. They can contain text of a cluster.
func warn(w io.Writer, warnings []string) {
	for _, warning := range warnings {
		fmt.Fprintln(w, "warning: "+terminal.Visible(warning))
	}
}
