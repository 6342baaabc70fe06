package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

const usage = `Usage: bin/demo COMMAND

  demo   show what Holdfast does, on a control plane of its own, then remove it
  up     start a control plane with Holdfast, in .holdfast, to play with
  down   stop it and remove .holdfast
`

var (
	errUsage = errors.New("one of demo, up and down is needed")
	// errShown is returned if the error was already printed.
	errShown = errors.New("a step of the demo failed")
)

func main() {
	// Includes SIGPIPE: the demo cleans up even if its output is closed.
	ctx, stop := signal.NotifyContext(context.Background(),
		os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	err := run(ctx, os.Args[1:], newTerminal(os.Stdout))
	interrupted := ctx.Err() != nil
	stop()
	os.Exit(report(err, interrupted))
}

func run(ctx context.Context, args []string, t *terminal) error {
	commands := map[string]func(context.Context, checkout, *terminal) error{
		"demo": demo, "up": up, "down": down,
	}
	if len(args) != 1 || commands[args[0]] == nil {
		return errUsage
	}
	c, err := findCheckout()
	if err != nil {
		return err
	}
	return commands[args[0]](ctx, c, t)
}

// report prints an error and returns the exit status.
func report(err error, interrupted bool) int {
	switch {
	case interrupted:
		fmt.Fprintln(os.Stderr, "interrupted")
		return 130
	case err == nil:
		return 0
	case errors.Is(err, errUsage):
		fmt.Fprint(os.Stderr, usage)
		return 2
	case !errors.Is(err, errShown):
		fmt.Fprintln(os.Stderr, "error:", err)
	}
	return 1
}
