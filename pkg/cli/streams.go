package cli

import "holdfast.dev/holdfast/pkg/cli/terminal"

// Streams are the input, output, environment and clock of a command. The alias keeps the commands short; package
// terminal declares the fields.
type Streams = terminal.Streams
