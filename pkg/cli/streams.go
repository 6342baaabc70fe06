package cli

import "holdfast.dev/holdfast/pkg/cli/terminal"

// Streams is the world that a command runs in.
type Streams = terminal.Streams
