// Command holdfast shows what Holdfast would do about an Application. Installed
// as kubectl-holdfast it is a plugin of kubectl.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"holdfast.dev/holdfast/pkg/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := cli.Main(ctx, os.Args, cli.Streams{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Now: time.Now,
	})
	stop()
	os.Exit(status)
}
