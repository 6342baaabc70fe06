package cli

import (
	"context"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/pkg/cli/command"
	"holdfast.dev/holdfast/pkg/delta"
)

const suspendLong = `Stop all writes for an Application: nothing is created or corrected until you resume
it. Drift is still reported, and the Application can be deleted. A later submit
does not resume it.`

const resumeLong = `Resume a suspended Application: its objects are created and corrected again. With
--wait it shows the progress of each resource, until all are ready.`

// suspendOptions are the options of `suspend` and `resume`.
//
//	suspend  spec.suspend: true
//	resume   spec.suspend: false, which a later submit does not remove
type suspendOptions struct {
	change
	suspend bool
}

func newSuspendCommand(name string, streams Streams) *cobra.Command {
	return changing(command.Spec{
		Use: "suspend NAME", Short: "Stop all writes for an Application",
		Long: suspendLong, Example: "  # Correct nothing of web until you resume it\n  PROGRAM suspend web",
		Statuses: []string{"it is suspended"},
	}, streams, change{}, "", func(o change) command.Run { return suspendOptions{o, true}.run }).Build(name)
}

func newResumeCommand(name string, streams Streams) *cobra.Command {
	return changing(command.Spec{
		Use: "resume NAME", Short: "Resume a suspended Application",
		Long: resumeLong, Example: "  # Correct the drift, and wait until web is ready\n  PROGRAM resume web --wait",
		Statuses: []string{"it is resumed; with --wait: also ready", "with --wait: not ready in time, or stalled"},
	}, streams, change{}, "until it is ready", func(o change) command.Run { return suspendOptions{o, false}.run }).Build(name)
}

// run succeeds without a change if the Application is in that state already, so that scripts can repeat the command.
//
//	spec.suspend  command  printed
//	false         suspend  suspended
//	true          suspend  is already suspended
//	true          resume   resumed
//	false         resume   is not suspended
func (o suspendOptions) run(ctx context.Context) error {
	c, app, err := o.stored(ctx)
	if err != nil {
		return err
	}
	// A JSON Patch touches one field. A merge patch could drop nulls of a schema: see "Decisions" in docs/design.md.
	word, patch := map[bool]string{true: "suspended", false: "resumed"}[o.suspend], []delta.Op{{Op: "add", Path: "/spec/suspend", Value: o.suspend}}
	if app.Spec.Suspend == o.suspend {
		word, patch = map[bool]string{true: "is already suspended", false: "is not suspended"}[o.suspend], nil
	}
	if err := o.patch(ctx, c, word, patch...); err != nil || !o.wait.Wait {
		return err
	}
	return o.wait.Ready(ctx, c, o.streams, c.Namespace, o.name)
}
