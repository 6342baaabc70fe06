// Command holdfast submits Applications, shows their state, and previews what Holdfast would do. Installed
// as kubectl-holdfast it is a plugin of kubectl.
package main

import (
	"context"
	"os"

	"holdfast.dev/holdfast/pkg/cli"
)

func main() { os.Exit(cli.Run(context.Background(), os.Args)) }
