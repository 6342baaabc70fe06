package cli

import "holdfast.dev/holdfast/pkg/cli/terminal"

// Streams are the input, output, environment and clock of a command.
type Streams = terminal.Streams
