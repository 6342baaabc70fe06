package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"holdfast.dev/holdfast/deploy/local/internal/controlplane"
)

func main() {
	if len(os.Args) > 1 {
		if upstream, ok := upstreamCommands[os.Args[1]]; ok {
			controlplane.EndWithParent()
			// The upstream commands read os.Args, each in its own way.
			os.Args = os.Args[1:]
			upstream()
			return
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	err := newCommand().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "controlplane:", err)
		os.Exit(1)
	}
}
