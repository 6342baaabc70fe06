package cli

import (
	"fmt"
	"io"

	"holdfast.dev/holdfast/pkg/cli/terminal"
)

// Streams are the input, output, environment and clock of a command.
type Streams = terminal.Streams

func warn(w io.Writer, warnings []string) {
	for _, warning := range warnings {
		fmt.Fprintln(w, "warning: "+terminal.Visible(warning))
	}
}
