package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/command"
	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/report"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/delta"
)

const modeLong = `Set the mode of an Application (spec.mode), and change no other field.

  observe  Holdfast writes nothing to its objects, and reports drift. Objects
           that it has held keep their tracking metadata
  hold     Holdfast creates the objects, and corrects drift

Before an observe-only Application is held, the command shows what would change. On a
terminal it then asks; otherwise it needs --yes. A later submit does not change the
mode.`

const modeExample = `
  # Write nothing of web, and report drift
  PROGRAM mode web observe

  # Show what would change, and hold web without a question
  PROGRAM mode web hold --yes
`

// modes are the modes of an Application as users type them.
var modes = map[string]v1alpha1.Mode{"hold": v1alpha1.ModeHold, "observe": v1alpha1.ModeObserve}

// modeOptions are the options of a command that changes the mode of an Application.
//
//	from     to       question  effect
//	Hold     observe  no        nothing is written from now on
//	Observe  hold     yes       drift is corrected
//	equal    equal    no        none: "is already held"
type modeOptions struct {
	change
	mode v1alpha1.Mode
	// yes is true if the user is not asked.
	yes bool
}

// newModeCommand returns the command `mode`. Its values are accepted in any case, because the field has Hold and
// Observe.
func newModeCommand(name string, streams Streams) *cobra.Command {
	o := &modeOptions{change: change{connection: connection.NewFlags(), streams: streams}}
	return command.Spec{
		Use: "mode NAME hold|observe", Short: "Hold an Application, or only report its drift",
		Long: modeLong, Example: modeExample, Statuses: []string{"the Application has the mode", "the answer was no"},
		Args: command.Exactly("NAME", "hold|observe"),
		Flags: func(flags *pflag.FlagSet) {
			flags.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
			o.write.Add(flags, "the Application")
		},
		Options: func(args []string) (command.Run, error) {
			o.name, o.mode = args[0], modes[strings.ToLower(args[1])]
			if err := errors.Join(files.ValidName(o.name), o.write.Parse()); err != nil || o.mode != "" {
				return o.run, err
			}
			return nil, fmt.Errorf("the mode is hold or observe, not %q", args[1])
		},
		Complete: func(ctx context.Context, args []string, typed string) []string {
			if len(args) == 1 {
				return []string{"hold", "observe"}
			}
			return o.connection.Named(ctx, args, typed)
		},
		Connection: o.connection,
	}.Build(name)
}

// run changes nothing, and reports that, if the Application is already in the mode. A user is only asked before
// Holdfast begins to write. An Application that another object controls, for example a Mysql, cannot be edited: its
// owner would restore the mode.
func (o *modeOptions) run(ctx context.Context) error {
	c, app, err := o.stored(ctx)
	if err != nil {
		return err
	}
	owned := report.NotEditable(app.Application)
	switch observes := app.Spec.Mode == v1alpha1.ModeObserve; {
	case owned != nil && o.mode == v1alpha1.ModeObserve:
		return fmt.Errorf("%w; `holdfast suspend %s -n %s` stops all writes", owned, app.Name, app.Namespace)
	case owned != nil:
		return owned
	case observes == (o.mode == v1alpha1.ModeObserve):
		return o.patch(ctx, c, map[bool]string{true: "is already observe-only", false: "is already held"}[observes])
	case observes:
		if err := o.confirm(ctx, c); err != nil {
			return err
		}
	}
	// A JSON Patch touches one field. A merge patch could drop nulls of a schema: see "Decisions" in docs/design.md.
	done := map[v1alpha1.Mode]string{v1alpha1.ModeObserve: "is now observe-only", v1alpha1.ModeHold: "is now held"}[o.mode]
	return o.patch(ctx, c, done, delta.Op{Op: "add", Path: "/spec/mode", Value: string(o.mode)})
}

// confirm shows what holding the Application changes. It then asks for confirmation if a user can answer. The
// differences are written to the standard error, because the standard output has only the result.
func (o *modeOptions) confirm(ctx context.Context, c *connection.Cluster) error {
	if o.yes {
		return nil
	}
	d, err := c.Decided(ctx, types.NamespacedName{Namespace: c.Namespace, Name: o.name}, o.streams.Now())
	if err != nil {
		return err
	}
	// The plan of an observe-only Application writes nothing, so the writes are decided for mode Hold.
	held := d.Application.DeepCopy()
	held.Spec.Mode = v1alpha1.ModeHold
	if after := d.ForApplication(held); after != nil {
		d = *after
	}
	t := &report.Differences{Decision: d, Output: report.Output{Width: terminal.Width(o.streams.Err)}}
	if err := files.NotDecided(d); err != nil {
		terminal.Warn(o.streams.Err, "cannot show what would change: "+err.Error())
	} else if err := t.Print(o.streams.Err); err != nil {
		return err
	}
	if o.write.IsDry() {
		return nil
	}
	if !terminal.IsPerson(o.streams.In) {
		return fmt.Errorf("give --yes to hold the Application %s/%s", d.Namespace, d.Name)
	}
	return terminal.Ask(o.streams, fmt.Sprintf("Hold the Application %s/%s?", d.Namespace, d.Name), "nothing was changed")
}
