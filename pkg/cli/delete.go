package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/cli/command"
	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/report"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

const deleteLong = `Delete an Application and all its resources, in reverse order. With --orphan, the
resources remain as they are, without the tracking metadata of Holdfast. Without
--orphan, spec.deletionPolicy decides. Adopted objects remain, unless
spec.adoptedDeletionPolicy is Delete; the command lists them first. Shared objects
always remain; the command lists the fields that it restores.

On a terminal it asks first; otherwise it needs --yes.`

const deleteExample = `
  # Delete web and all its resources, and wait until they are deleted
  PROGRAM delete web --yes --wait

  # Delete web, and keep its resources
  PROGRAM delete web --orphan
`

// deleteOptions are the options of `delete`.
//
//	--orphan  spec.deletionPolicy  objects of the Application
//	no        Delete               deleted, except adopted and shared ones
//	no        Orphan               kept, without tracking metadata
//	yes       any                  kept, without tracking metadata
type deleteOptions struct {
	change
	orphan, yes bool
}

// newDeleteCommand returns the command. orphan and yes are variables, because changing makes the options only
// after the flags are parsed.
func newDeleteCommand(name string, streams Streams) *cobra.Command {
	var orphan, yes bool
	return changing(command.Spec{
		Use: "delete NAME", Short: "Delete an Application, with or without its resources",
		Long: deleteLong, Example: deleteExample,
		Statuses: []string{"requested; with --wait: deleted", "with --wait: not deleted in time; or the answer was no"},
		Flags: func(flags *pflag.FlagSet) {
			flags.BoolVar(&orphan, "orphan", false, "keep its resources as they are")
			flags.BoolVarP(&yes, "yes", "y", false, "do not ask")
		},
	}, streams, change{}, "until it is deleted", func(o change) command.Run { return deleteOptions{o, orphan, yes}.run }).Build(name)
}

// run does not wait by default: the controller deletes the objects, and then the Application.
//
//  1. read the Application, and refuse one that another object controls
//  2. print what is kept and restored, and ask
//  3. write spec.deletionPolicy, if --orphan changes it
//  4. delete the Application, with its UID as a precondition
//  5. wait, with --wait
func (o deleteOptions) run(ctx context.Context) error {
	c, app, err := o.stored(ctx)
	if err != nil {
		return err
	}
	if err := report.NotDeletable(app.Application); err != nil {
		return err
	}
	// The copy contains the policy that applies to this deletion, so that the messages are about it.
	meant := app.DeepCopy()
	if o.orphan {
		meant.Spec.DeletionPolicy = v1alpha1.DeletionOrphan
	}
	if err := o.confirm(meant); err != nil {
		return err
	}
	if err := c.Delete(ctx, o.name, app.UID, o.orphan && !plan.Orphans(app.Application), o.write.DryRun); err != nil {
		return err
	}
	word := "deleted"
	if plan.Orphans(meant) {
		word = "deleted, its resources are kept"
	}
	if err := o.write.PrintApplication(o.streams, meant, word); err != nil || !o.wait.Wait {
		return err
	}
	return o.waitUntilDeleted(ctx, c, app.UID)
}

// mostTold is the maximum number of messages about single objects that are printed before the question.
const mostTold = 20

// confirm prints the effect on adopted, shared and restored resources. It then asks for confirmation if a user can
// answer. Without a terminal, --yes is required. The messages are written to the standard error, before the
// question. A dry run prints them, and asks nothing.
func (o deleteOptions) confirm(app *v1alpha1.Application) error {
	retained := plan.RetainedObjects(app)
	told := becomes(app, retained)
	for i, lines := range told {
		if i == mostTold {
			o.printLines(fmt.Sprintf("… and %d more: run explain to list them", len(told)-i))
			break
		}
		o.printLines(lines...)
	}
	if o.yes || o.write.IsDry() {
		return nil
	}
	what := whatGoes(app, retained)
	if !terminal.IsPerson(o.streams.In) {
		return fmt.Errorf("give --yes to delete the Application %s/%s %s", app.Namespace, app.Name, what)
	}
	return terminal.Ask(o.streams, fmt.Sprintf("Delete the Application %s/%s %s?", app.Namespace, app.Name, what), "nothing was deleted")
}

// becomes returns messages about the effect on adopted objects, on shared objects, and on the restored fields
// of other objects. Each message is a list of lines. The retained objects are not deleted.
//
//	ConfigMap shop/settings existed before the Application, and is kept
//	Deployment.apps shop/web is shared, and is kept. These fields are restored, ...:
//	  spec.replicas: 3 again
//	  metadata.labels[team]: removed
func becomes(app *v1alpha1.Application, retained map[manifest.ID]bool) [][]string {
	var adopted, kept, shared [][]string
	for _, r := range app.Status.Resources {
		id, p := manifest.IDFromReference(r.ResourceReference), claim.RecordedPolicy(app, &r)
		if p.Claims {
			shared = append(shared, releasedFields(app, r))
			continue
		}
		if p.Existed && !plan.Orphans(app) {
			what := "is deleted, too: its manifest or spec.adoptedDeletionPolicy sets the policy Delete"
			if retained[id] {
				what = "is kept"
			}
			adopted = append(adopted, []string{fmt.Sprintf("%s existed before the Application, and %s", id, what)})
		}
		if p.Restores && retained[id] && len(r.Baseline) > 0 {
			kept = append(kept, restored(id.String()+" is kept", r))
		}
	}
	return slices.Concat(adopted, kept, shared)
}

// printLines prints lines. It wraps sentences at the width of the terminal, but not fields, which are indented.
func (o deleteOptions) printLines(lines ...string) {
	for _, line := range lines {
		parts := []string{terminal.Visible(line)}
		if !strings.HasPrefix(line, " ") {
			parts = terminal.Wrap(parts[0], terminal.Width(o.streams.Err))
		}
		fmt.Fprintln(o.streams.Err, strings.Join(parts, "\n"))
	}
}

// whatGoes describes which resources are deleted or released with the Application. The text follows its name
// in a sentence.
//
//	Delete the Application shop/web with its 3 resources?
//	Delete the Application shop/web with 2 of its 3 resources?
//	Delete the Application shop/web and keep its 3 resources as they are?
//	Delete the Application shop/web and release its 1 shared object?
func whatGoes(app *v1alpha1.Application, retained map[manifest.ID]bool) string {
	shared, goes := 0, 0
	for _, r := range app.Status.Resources {
		switch {
		case claim.RecordedPolicy(app, &r).Claims:
			shared++
		case !retained[manifest.IDFromReference(r.ResourceReference)]:
			goes++
		}
	}
	all := terminal.Plural(len(app.Status.Resources), "resource")
	switch {
	case shared > 0 && shared == len(app.Status.Resources):
		return fmt.Sprintf("and release its %s", terminal.Plural(shared, "shared object"))
	case shared > 0:
		return fmt.Sprintf("with %d of its %s, and release %s", goes, all, terminal.Plural(shared, "shared object"))
	case plan.Orphans(app) && len(retained) == len(app.Status.Resources):
		return fmt.Sprintf("and keep its %s as they are", all)
	case len(retained) > 0:
		return fmt.Sprintf("with %d of its %s", goes, all)
	}
	return "with its " + all
}

// releasedFields describes what happens to a shared object.
func releasedFields(app *v1alpha1.Application, r v1alpha1.ResourceStatus) []string {
	text := manifest.IDFromReference(r.ResourceReference).String() + " is shared, and is kept"
	switch {
	case app.Spec.OnRelease == v1alpha1.ReleaseLeave:
		return []string{text + " as it is: spec.onRelease is Leave"}
	case len(r.Baseline) == 0:
		return []string{text + " as it is: no original values are recorded"}
	}
	return restored(text, r)
}

// restored returns a text about an object, followed by the fields that are restored, and those whose original value
// was not recorded. A baseline without a value means that the field did not exist before it was held.
func restored(text string, r v1alpha1.ResourceStatus) []string {
	lines := []string{text + ". These fields are restored, unless another client has changed them or another Application claims them:"}
	for _, b := range r.Baseline {
		becomes := "removed"
		if b.Value != nil {
			becomes = string(b.Value.Raw) + " again"
		}
		lines = append(lines, "  "+b.Path+": "+becomes)
	}
	for _, path := range r.Unrecorded {
		lines = append(lines, "  "+path+": not restored, because its original value was too large to record")
	}
	return lines
}

// waitUntilDeleted waits until the Application and its resources are deleted. A new Application with its name has
// another UID, and also ends the wait. The error at the timeout contains the message of the condition Ready, which names
// the object that cannot be deleted.
func (o deleteOptions) waitUntilDeleted(ctx context.Context, c *connection.Cluster, uid types.UID) error {
	shown := connection.NewProgress(o.streams)
	message := connection.NoController("removes its finalizer")
	late := func() error {
		return fmt.Errorf("%s/%s is not deleted: %s", c.Namespace, o.name, message)
	}
	return o.wait.Follow(ctx, c, c.Namespace, o.name, late, func(app *v1alpha1.Application) (bool, error) {
		if app == nil || app.UID != uid {
			shown.Show(&v1alpha1.Application{}) // none of its resources remains
			shown.WriteLine("gone")
			return true, nil
		}
		if ready := connection.ReadyIn(app); app.DeletionTimestamp != nil && ready.Status == "False" {
			message = ready.Message
		}
		shown.Show(app)
		return false, nil
	})
}
