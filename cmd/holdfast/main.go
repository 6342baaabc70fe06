// Command holdfast submits Applications, and shows how they are and what Holdfast
// would do about them. Installed as kubectl-holdfast it is a plugin of kubectl.
package main

import (
	"context"
	"os"

	"holdfast.dev/holdfast/pkg/cli"
)

func main() { os.Exit(cli.Run(context.Background(), os.Args)) }
