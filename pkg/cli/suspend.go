package cli

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

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

type suspendOptions struct {
	change
	suspend bool
}

func newSuspendCommand(name string, streams Streams) *cobra.Command {
	return changing(command{
		use: "suspend NAME", short: "Stop every write for an Application",
		long: suspendLong, example: "  # Nothing of web is corrected until it is resumed\n  PROGRAM suspend web",
	}, streams, change{}, "", func(o change) runner { return suspendOptions{o, true} }).build(name)
}

func newResumeCommand(name string, streams Streams) *cobra.Command {
	return changing(command{
		use: "resume NAME", short: "Hold a suspended Application again",
		long: resumeLong, example: "  # Correct what drifted meanwhile, and wait for it\n  PROGRAM resume web --wait",
	}, streams, change{}, "until it is ready", func(o change) runner { return suspendOptions{o, false} }).build(name)
}

func (o suspendOptions) run(ctx context.Context) error {
	c, app, err := o.stored(ctx)
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
	if err := o.printf(word); err != nil || !o.wait.Wait {
		return err
	}
	return o.wait.Ready(ctx, c, o.streams, c.Namespace, o.name)
}
