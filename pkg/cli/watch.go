package cli

import (
	"context"
	"errors"

	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/terminal"
)

// addWatch adds -w.
func addWatch(flags *pflag.FlagSet, watch *bool) {
	flags.BoolVarP(watch, "watch", "w", false, "go on, and show what changes")
}

// errWatchFiles refuses -w where nothing can change.
var errWatchFiles = errors.New("-w watches a cluster: leave it out, or -f")

// shownAgain shows an Application of a cluster, and again each time that it changes, until
// it is interrupted. On a terminal what is shown takes the place of what was.
func shownAgain(ctx context.Context, target connection.Target, streams Streams, show func(context.Context) error) error {
	c, err := target.Connection.Connect()
	if err != nil {
		return err
	}
	_, _, onTerminal := terminal.Size(streams.Out)
	before := ""
	err = connection.WaitFlags{}.Follow(ctx, c, c.Namespace, target.Name, nil, func(app *v1alpha1.Application) (done bool, err error) {
		if err := terminal.Write(streams.Out, []byte(before)); err != nil {
			return true, err
		}
		if before = "\n"; onTerminal {
			before = "\x1b[H\x1b[2J" // the cursor home, and nothing below it
		}
		err = show(ctx)
		var differs *terminal.Exit
		if errors.As(err, &differs) && differs.Err == nil {
			err = nil // that it is not ready is shown
		}
		return app == nil || err != nil, err
	})
	if ctx.Err() != nil {
		err = nil // it has no other end
	}
	return err
}
