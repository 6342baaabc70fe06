package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/command"
	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/terminal"
)

const reconcileLong = `Request a reconciliation of an Application now, and wait for it: the controller
checks all its resources, and fetches its source if that is a URL.

The request is the annotation holdfast.dev/reconcile; the controller acknowledges
it in status.reconcileRequest.

With --confirm, it also deletes the objects that wait for a confirmation, because the
Application no longer has them, and they are more than spec.maxDeletions allows. The
digest is in the message of the Application, and in "PROGRAM diff NAME". It applies to
these objects only. In Git, write it to the annotation holdfast.dev/confirm-deletions.`

type reconcileOptions struct {
	change
	// confirm is the digest of the deletions to confirm; "" for none.
	confirm string
}

// newReconcileCommand returns the command `reconcile`. It waits by default, in contrast to the other changes.
func newReconcileCommand(name string, streams Streams) *cobra.Command {
	confirm := ""
	return changing(command.Spec{
		Use: "reconcile NAME", Short: "Reconcile an Application now",
		Long: reconcileLong, Example: "  # Reconcile web now\n  PROGRAM reconcile web",
		Statuses: []string{
			"the controller has reconciled it; with --wait=false: requested", "not reconciled in time: does the controller run?",
			"an error, for example in the flags or the digest of --confirm",
		},
		Flags: func(flags *pflag.FlagSet) {
			flags.StringVar(&confirm, "confirm", "", "`DIGEST`: delete the objects that wait for a confirmation")
		},
	}, streams, change{wait: connection.WaitFlags{Wait: true}}, "until the controller has reconciled it",
		func(o change) command.Run { return reconcileOptions{o, confirm}.run }).Build(name)
}

// run uses a merge patch, because the annotations may not exist. It sends no schema, so no null can be lost. The
// confirmation is written together with the request, so that the acknowledged reconciliation has seen it.
func (o reconcileOptions) run(ctx context.Context) error {
	c, _, err := o.stored(ctx)
	if err != nil {
		return err
	}
	// Any new value is a request; the time makes it unique and readable.
	request := o.streams.Now().UTC().Format(time.RFC3339Nano)
	annotations := map[string]any{v1alpha1.AnnotationReconcile: request}
	if o.confirm != "" {
		annotations[v1alpha1.AnnotationConfirm] = o.confirm
	}
	app, err := c.Patch(ctx, o.name, types.MergePatchType, map[string]any{
		"metadata": map[string]any{"annotations": annotations},
	}, o.write.DryRun)
	if err != nil {
		return err
	}
	if !o.wait.Wait || o.write.IsDry() {
		return o.write.Print(o.streams, app, "reconcile requested")
	}
	return o.acknowledged(ctx, c, request)
}

// acknowledged waits until the controller has acted on the request. It succeeds even if the Application is not
// ready.
//
//	reconciled, ready
//	reconciled, not ready: Drifted
//	--confirm 0123 confirms no deletion. ...          status 2
//	after 5m0s: the controller has not reconciled it  status 1
func (o reconcileOptions) acknowledged(ctx context.Context, c *connection.Cluster, request string) error {
	late := func() error {
		return fmt.Errorf("the controller has not reconciled %s/%s. Check that it runs and selects the Application: holdfast check %s -n %s", c.Namespace, o.name, o.name, c.Namespace)
	}
	return o.wait.Follow(ctx, c, c.Namespace, o.name, late, func(app *v1alpha1.Application) (bool, error) {
		switch {
		case app == nil:
			return true, &terminal.Exit{Status: terminal.StatusDifferent, Err: fmt.Errorf("%s/%s was deleted during the wait", c.Namespace, o.name)}
		case !isAcknowledged(app, request):
			return false, nil
		}
		if err := o.checkConfirmation(app); err != nil {
			return true, err
		}
		ready := connection.ReadyIn(app)
		state := "ready"
		if ready.Status != "True" {
			state = "not ready: " + ready.Reason
		}
		return true, o.write.PrintApplication(o.streams, app, "reconciled, "+state)
	})
}

// isAcknowledged reports whether the controller has reconciled an Application after a request. Another client can have
// replaced the request since, for example the same command in another job. The controller then acknowledges only the
// later request, which includes this one.
//
//	annotation  status.reconcileRequest  acknowledged
//	request     request                  yes
//	request     another                  no
//	another     equal to the annotation  yes
//	another     another                  not yet
//	none        another                  no: the request was removed before the controller saw it
func isAcknowledged(app *v1alpha1.Application, request string) bool {
	acknowledged, latest := app.Status.ReconcileRequest, app.Annotations[v1alpha1.AnnotationReconcile]
	return acknowledged == request || latest != "" && latest == acknowledged
}

// checkConfirmation returns an error if deletions still wait for a confirmation, because the digest is then of
// another set of deletions. The remedy of the status contains the digest of the deletions that wait now.
func (o reconcileOptions) checkConfirmation(app *v1alpha1.Application) error {
	for _, r := range app.Status.Resources {
		if o.confirm != "" && v1alpha1.InfoForReason(r.Reason).Unconfirmed && r.Remedy != nil {
			return fmt.Errorf("--confirm %s confirms no deletion. %s", o.confirm, *r.Remedy)
		}
	}
	return nil
}
