// Command holdfast shows what Holdfast would do about an Application. Installed
// as kubectl-holdfast it is a plugin of kubectl.
package main

import (
	"os"
	"time"

	"holdfast.dev/holdfast/pkg/cli"
)

func main() {
	os.Exit(cli.Main(os.Args, cli.Streams{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Now: time.Now,
	}))
}
