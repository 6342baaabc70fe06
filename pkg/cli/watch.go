package cli

import (
	"context"
	"errors"

	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/terminal"
)

// addWatch registers -w.
func addWatch(flags *pflag.FlagSet, watch *bool) {
	flags.BoolVarP(watch, "watch", "w", false, "continue, and show changes")
}

// errWatchFiles is the error for -w on input or output that cannot change.
var errWatchFiles = errors.New("-w watches a cluster: omit -w or -f")

// shownAgain shows an Application of a cluster, and shows it again after each change, until it is interrupted or the
// Application is deleted. On a terminal, new output replaces the previous output. show reads the Application again,
// with its live objects. It follows only the Application. A change of a live object is shown when the controller has
// reported it in the status.
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
			before = "\x1b[H\x1b[2J" // move the cursor home, and clear the screen
		}
		err = show(ctx)
		if differs, is := errors.AsType[*terminal.Exit](err); is && differs.Err == nil {
			err = nil // the output shows that it is not ready
		}
		return app == nil || err != nil, err
	})
	if ctx.Err() != nil {
		err = nil // an interrupt is the only way to end it
	}
	return err
}
