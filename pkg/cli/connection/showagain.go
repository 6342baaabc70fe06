package connection

import (
	"context"
	"errors"

	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/terminal"
)

// AddWatch registers -w.
func AddWatch(flags *pflag.FlagSet, watch *bool) {
	flags.BoolVarP(watch, "watch", "w", false, "continue, and show changes")
}

// ErrWatchFiles is the error for -w on input or output that cannot change.
var ErrWatchFiles = errors.New("-w watches a cluster: omit -w or -f")

// ShowAgain shows an Application of a cluster, and shows it again after each change, until it is interrupted or the
// Application is deleted. On a terminal, new output replaces the previous output. show reads the Application again,
// with its live objects. It follows only the Application. A change of a live object is shown when the controller has
// reported it in the status.
func (t Target) ShowAgain(ctx context.Context, streams terminal.Streams, show func(context.Context) error) error {
	c, err := t.Connection.Connect()
	if err != nil {
		return err
	}
	_, _, onTerminal := terminal.Size(streams.Out)
	before := ""
	err = WaitFlags{}.Follow(ctx, c, c.Namespace, t.Name, nil, func(app *v1alpha1.Application) (done bool, err error) {
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
