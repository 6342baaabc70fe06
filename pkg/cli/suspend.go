package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/delta"
)

const suspendLong = `Stop every write for an Application: nothing is created or corrected until it is
resumed. What drifts meanwhile is still seen. Its deletion is not stopped. A later
submit leaves it suspended.

Exit status:
  0  it is suspended
  2  an error, also one in the flags`

const resumeLong = `Have an Application that was suspended created and corrected again. With --wait
it shows how its resources get along, until all are ready.

Exit status:
  0  it is resumed; with --wait: and ready
  1  with --wait: not ready in time, or stalled
  2  an error, also one in the flags`

// changeFlags are those of commands that change something about an Application.
type changeFlags struct {
	connection connection.Flags
	wait       connection.WaitFlags
}

type suspendOptions struct {
	changeFlags
	streams Streams
	name    string
	suspend bool
}

func newSuspendCommand(name string, streams Streams) *cobra.Command {
	f := &changeFlags{connection: connection.NewFlags()}
	return command{
		use: "suspend NAME", short: "Stop every write for an Application",
		long: suspendLong, example: "  # Nothing of web is corrected until it is resumed\n  PROGRAM suspend web",
		args: exactly("NAME"), flags: func(flags *pflag.FlagSet) { f.connection.Add(flags) },
		options: func(args []string) (runner, error) {
			return suspendOptions{*f, streams, args[0], true}, files.ValidName(args[0])
		},
		complete:   f.connection.Named,
		connection: f.connection,
	}.build(name)
}

func newResumeCommand(name string, streams Streams) *cobra.Command {
	f := &changeFlags{connection: connection.NewFlags()}
	return command{
		use: "resume NAME", short: "Hold a suspended Application again",
		long: resumeLong, example: "  # Correct what drifted meanwhile, and wait for it\n  PROGRAM resume web --wait",
		args: exactly("NAME"), flags: func(flags *pflag.FlagSet) {
			f.wait.Add(flags, "until it is ready")
			f.connection.Add(flags)
		},
		options: func(args []string) (runner, error) {
			return suspendOptions{*f, streams, args[0], false}, errors.Join(files.ValidName(args[0]), f.wait.Check())
		},
		complete:   f.connection.Named,
		connection: f.connection,
	}.build(name)
}

func (o suspendOptions) run(ctx context.Context) error {
	c, err := o.connection.Connect()
	if err != nil {
		return err
	}
	app, err := c.Application(ctx, o.name)
	if err != nil {
		return err
	}
	word := map[bool]string{true: "suspended", false: "resumed"}[o.suspend]
	if app.Spec.Suspend == o.suspend {
		word = map[bool]string{true: "is suspended already", false: "is not suspended"}[o.suspend]
	} else if err := c.Patch(ctx, o.name, types.JSONPatchType, []delta.Op{
		// A merge patch is read by clients that drop nulls; this touches one field.
		{Op: "add", Path: "/spec/suspend", Value: o.suspend},
	}); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(o.streams.Out, "application.%s/%s %s\n", v1alpha1.GroupVersion.Group, o.name, word); err != nil {
		return err
	}
	if !o.wait.Wait {
		return nil
	}
	return o.wait.Ready(ctx, c, o.streams, c.Namespace, o.name)
}
