package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/terminal"
)

const reconcileLong = `Have the controller look at an Application now, and wait until it has: at all of
its resources, and at its source if that is behind a URL.

The request is the annotation holdfast.dev/reconcile; the controller acknowledges
it in status.reconcileRequest.

Exit status:
  0  the controller has looked at it; with --wait=false: it was asked to
  1  it has not in time: does the controller run?
  2  an error, also one in the flags`

type reconcileOptions struct {
	changeFlags
	streams Streams
	name    string
}

func newReconcileCommand(name string, streams Streams) *cobra.Command {
	f := &changeFlags{connection: connection.NewFlags(), wait: connection.WaitFlags{Wait: true}}
	return command{
		use: "reconcile NAME", short: "Have the controller look at it now",
		long: reconcileLong, example: "  # Look at web now\n  PROGRAM reconcile web",
		args: exactly("NAME"), flags: func(flags *pflag.FlagSet) {
			f.wait.Add(flags, "until the controller has looked at it")
			f.connection.Add(flags)
		},
		options: func(args []string) (runner, error) {
			return reconcileOptions{*f, streams, args[0]}, errors.Join(files.ValidName(args[0]), f.wait.Check())
		},
		complete:   f.connection.Named,
		connection: f.connection,
	}.build(name)
}

func (o reconcileOptions) run(ctx context.Context) error {
	c, err := o.connection.Connect()
	if err != nil {
		return err
	}
	if _, err := c.Application(ctx, o.name); err != nil {
		return err
	}
	request := o.streams.Now().UTC().Format(time.RFC3339Nano)
	if err := c.Patch(ctx, o.name, types.MergePatchType, map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{v1alpha1.AnnotationReconcile: request}},
	}); err != nil {
		return err
	}
	line := fmt.Sprintf("application.%s/%s", v1alpha1.GroupVersion.Group, o.name)
	if !o.wait.Wait {
		_, err := fmt.Fprintln(o.streams.Out, line+" reconcile requested")
		return err
	}
	return o.acknowledged(ctx, c, request, line)
}

// acknowledged waits until the controller has acted on the request.
func (o reconcileOptions) acknowledged(ctx context.Context, c *connection.Cluster, request, line string) error {
	late := func() error {
		return fmt.Errorf("the controller has not looked at %s/%s: does it run? `kubectl get pods -n holdfast-system` shows it, if it runs there", c.Namespace, o.name)
	}
	return o.wait.Follow(ctx, c, c.Namespace, o.name, late, func(app *v1alpha1.Application) (bool, error) {
		switch {
		case app == nil:
			return true, &terminal.Exit{Status: terminal.StatusDifferent, Err: fmt.Errorf("%s/%s was deleted while it was waited for", c.Namespace, o.name)}
		case app.Status.ReconcileRequest != request:
			return false, nil
		}
		ready := connection.ReadyIn(app)
		state := "ready"
		if ready.Status != "True" {
			state = "not ready: " + ready.Reason
		}
		_, err := fmt.Fprintln(o.streams.Out, line+" reconciled, "+state)
		return true, err
	})
}
