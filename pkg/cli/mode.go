package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
)

const observeLong = `Set an Application to observe-only mode (spec.mode: Observe): Holdfast writes nothing
to its objects, and reports drift. Objects that it has held keep their tracking
metadata. A later submit does not change the mode. To hold the Application again, run
holdfast hold NAME; holdfast diff NAME shows what that would change.

Exit status:
  0  it is observe-only
  2  an error, also one in the flags`

// modeOptions are the options of a command that changes the mode of an Application.
type modeOptions struct {
	change
	mode v1alpha1.Mode
}

func newObserveCommand(name string, streams Streams) *cobra.Command {
	return changing(command{
		use: "observe NAME", short: "Report drift of an Application, and write nothing",
		long: observeLong, example: "  # Write nothing of web, and report drift\n  PROGRAM observe web",
	}, streams, change{}, "", func(o change) runner { return modeOptions{o, v1alpha1.ModeObserve} }).build(name)
}

// holding returns the options of `hold NAME`, which ends observe-only mode.
func (f *editFlags) holding(streams Streams, name string) (modeOptions, error) {
	if f.dryRun || f.rule.given() {
		return modeOptions{}, errors.New("no object given: give KIND/NAME, for example deployment/web, and PATH")
	}
	return modeOptions{change{connection: f.target.Connection, streams: streams, name: name}, v1alpha1.ModeHold}, nil
}

func (o modeOptions) run(ctx context.Context) error {
	c, app, err := o.stored(ctx)
	if err != nil {
		return err
	}
	is, word := app.Spec.Mode, map[v1alpha1.Mode]string{v1alpha1.ModeObserve: "is now observe-only", v1alpha1.ModeHold: "is now held"}[o.mode]
	if is == "" {
		is = v1alpha1.ModeHold
	}
	owned := editable(app.Application)
	switch {
	case owned != nil && o.mode == v1alpha1.ModeObserve:
		return fmt.Errorf("%w; `holdfast suspend %s -n %s` stops all writes", owned, app.Name, app.Namespace)
	case owned != nil:
		return owned
	case is != o.mode:
		// A merge patch is read by clients that drop nulls; this touches one field.
		err = c.Patch(ctx, o.name, types.JSONPatchType, []delta.Op{{Op: "add", Path: "/spec/mode", Value: string(o.mode)}})
	case o.mode == v1alpha1.ModeHold:
		return errors.New("no object given: give KIND/NAME, for example deployment/web, and PATH; Application " + app.Name + " is already held")
	default:
		word = "is already observe-only"
	}
	if err != nil {
		return err
	}
	return o.printf(word)
}
