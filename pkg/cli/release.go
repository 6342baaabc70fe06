package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/report"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
)

const releaseLong = `Release the fields that an Application holds of shared objects: all of them, those of
KIND/NAME, or single fields of it. --restore restores the original values, and --leave
keeps the live values. spec.onRelease has no effect. A field keeps its value if another
client has changed it, or if its original value is not recorded; the command lists it.

PATH is a path that explain prints. The command adds it to spec.fields, under leave or
restore; holdfast hold takes it out again. With -f it edits the file, and keeps the
comments. --dry-run prints the edit and its effect, and changes nothing. For fields of
objects that the Application owns, and of objects with a schema in spec.observerSchema,
use holdfast free.

Exit status:
  0  released, or nothing to do; with --wait: also released in the cluster
  1  with --wait: not released in time, or you have to do something
  2  an error, also one in the flags or in a path`

type releaseOptions struct {
	editOptions
	policy v1alpha1.ReleasePolicy
	wait   connection.WaitFlags
}

func newReleaseCommand(name string, streams Streams) *cobra.Command {
	f := &editFlags{free: true, target: connection.NewTargetFlags()}
	var leave, restore bool
	wait := &connection.WaitFlags{}
	return command{
		use: "release (NAME | -f FILE) [KIND/NAME [PATH...]]", short: "Release shared objects, or fields of them",
		long: releaseLong,
		example: "  # Restore the original number of replicas\n  PROGRAM release web deployment/web spec.replicas --restore\n\n" +
			"  # Release an entire object, and leave it as it is\n  PROGRAM release web deployment/web --leave\n\n" +
			"  # What would happen to all shared objects\n  PROGRAM release web --restore --dry-run",
		flags: func(flags *pflag.FlagSet) {
			f.target.Add(flags)
			flags.BoolVar(&leave, "leave", false, "leave the fields as they are")
			flags.BoolVar(&leave, "keep", false, "leave the fields as they are")
			if err := flags.MarkDeprecated("keep", "use --leave"); err != nil {
				panic(err) // there is no such flag
			}
			flags.BoolVar(&restore, "restore", false, "restore the original values of the fields")
			flags.BoolVar(&f.dryRun, "dry-run", false, "print the edit and its effect, and change nothing")
			wait.Add(flags, "until the controller has released them")
		},
		args: func(*cobra.Command, []string) error { return nil },
		options: func(args []string) (runner, error) {
			if leave == restore {
				return nil, errors.New("choose the values of the released fields: use --leave or --restore")
			}
			o, err := f.releasing(streams, args)
			o.wait = *wait
			if err = errors.Join(err, wait.Check()); wait.Wait && (f.dryRun || o.target.InFiles) {
				err = errors.Join(err, errors.New("--wait needs a change in a cluster: omit it with -f or --dry-run"))
			}
			if o.policy = v1alpha1.ReleaseLeave; restore {
				o.policy = v1alpha1.ReleaseRestore
			}
			return o, err
		},
		complete: func(ctx context.Context, args []string, typed string) []string {
			return f.complete(ctx, streams, args, typed)
		},
		connection: f.target.Connection,
	}.build(name)
}

func (f *editFlags) releasing(streams Streams, args []string) (o releaseOptions, err error) {
	o.editOptions = editOptions{streams: streams, free: true, dryRun: f.dryRun}
	if o.target, args, err = f.target.Options(streams, args); err != nil {
		return o, err
	}
	if len(args) > 0 {
		o.resource, o.paths = args[0], args[1:]
	}
	if len(o.paths) == 0 {
		o.paths = []string{observer.AllFields}
	}
	return o, o.writable()
}

// run releases fields by changing spec.fields. The consequences are decided like those of any other change.
func (o releaseOptions) run(ctx context.Context) error {
	d, c, err := o.decided(ctx)
	if err != nil {
		return err
	}
	ids, err := o.shared(d)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if source := d.SchemaSource(id); source.Entry {
			return fmt.Errorf("%s has a schema in spec.%s: release its fields with `holdfast free`, "+
				"and spec.onRelease decides whether they are restored", id, source)
		}
	}
	e := edit{after: d.Plan}
	fields := d.Spec.Fields
	for _, id := range ids {
		var notes []string
		if fields, notes, err = e.after.EditFields(id, plan.Edit{Free: true, Paths: o.paths, OnRelease: o.policy}); err != nil {
			return err
		}
		e.notes = append(e.notes, notes...)
		if e.after = d.WithFields(fields); e.after.Invalid != nil {
			return fmt.Errorf("this change would make the Application invalid: %w", e.after.Invalid)
		}
	}
	var out bytes.Buffer
	for _, note := range e.notes {
		fmt.Fprintln(&out, terminal.Visible(note))
	}
	if len(e.notes) < len(ids)*len(o.paths) {
		if err := o.write(ctx, &out, d, c, fieldsEdit(d, fields, e.notes)); err != nil {
			return err
		}
		for _, id := range ids {
			report.Edited(&out, d.Namespace, id, d.Plan, e.after)
		}
	}
	if err := terminal.Write(o.streams.Out, out.Bytes()); err != nil || !o.wait.Wait {
		return err
	}
	return o.released(ctx, c, d, e.after.ReleasedFields())
}

// released waits until the controller has released the recorded fields, even if the Application is not
// ready for another reason.
func (o releaseOptions) released(ctx context.Context, c *connection.Cluster, d files.Decision, leaving map[manifest.ID][]string) error {
	why := "the controller has not reconciled it: does it run?"
	late := func() error { return fmt.Errorf("%s/%s has not released the fields: %s", d.Namespace, d.Name, why) }
	failed := func(text string) error {
		return &terminal.Exit{Status: terminal.StatusDifferent, Err: errors.New(text)}
	}
	return o.wait.Follow(ctx, c, d.Namespace, d.Name, late, func(app *v1alpha1.Application) (bool, error) {
		switch {
		case app == nil || app.UID != d.UID:
			return true, failed(d.Namespace + "/" + d.Name + " was deleted during the wait")
		case app.Spec.Suspend, app.Spec.Mode == v1alpha1.ModeObserve:
			return true, failed(d.Namespace + "/" + d.Name + " is suspended or observe-only, so it releases nothing: resume it, or set spec.mode to Hold")
		case app.Status.ObservedGeneration != app.Generation:
			return false, nil
		}
		held, reason := plan.StillHeld(app, leaving)
		if held == "" {
			return true, terminal.Write(o.streams.Out, []byte("released\n"))
		}
		if why = held + " is still held: " + cmp.Or(reason, "the controller has not released it yet"); reason != "" && apimeta.IsStatusConditionTrue(app.Status.Conditions, v1alpha1.ConditionStalled) {
			return true, failed(late().Error())
		}
		return false, nil
	})
}

// shared returns the objects to release.
func (o releaseOptions) shared(d files.Decision) (ids []manifest.ID, err error) {
	var asked manifest.ID
	if o.resource != "" {
		if asked, err = files.FindResource(o.resource, files.IDsOf(d)); err != nil {
			return nil, err
		}
	}
	for _, change := range d.Changes {
		switch {
		case change.Prune, o.resource != "" && change.ID != asked:
		case change.Shared, d.HasRecord(change.ID):
			ids = append(ids, change.ID)
		case o.resource != "":
			return nil, fmt.Errorf("%s is owned, not shared, so no original values are recorded. To stop holding its fields, use holdfast free", asked)
		}
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("no shared objects to release in Application %s/%s", d.Namespace, d.Name)
	}
	return ids, nil
}
