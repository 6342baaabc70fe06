// Build updates programs in bin/, and prints nothing if there is nothing to do. Its argument is
// controlplane, for the local control plane, or product, for the programs of the product and of the demo,
// followed by linker flags.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"

	"holdfast.dev/holdfast/internal/testcluster/binaries"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := build(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func build(ctx context.Context, args []string) error {
	switch {
	case len(args) == 1 && args[0] == "controlplane":
		_, err := binaries.Ensure(ctx, os.Stderr)
		return err
	case len(args) == 2 && args[0] == "product":
		return binaries.Product(ctx, os.Stderr, args[1])
	}
	return errors.New("usage: build controlplane, or build product LDFLAGS")
}
