// Build makes the programs of the local control plane current, bin/controlplane and
// bin/kwok, and prints nothing if they are.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"holdfast.dev/holdfast/internal/testcluster/binaries"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	_, err := binaries.Ensure(ctx, os.Stderr, true)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
