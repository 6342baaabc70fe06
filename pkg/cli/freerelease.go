package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
)

// releaseFlags are the flags of `free` that determine the values of the released fields. Exactly one of leave and
// restore must be set. Without them, spec.onRelease of the Application applies.
type releaseFlags struct {
	leave, restore bool
	wait           connection.WaitFlags
}

// add registers the flags for all commands that release fields.
func (f *releaseFlags) add(flags *pflag.FlagSet) {
	flags.BoolVar(&f.leave, "leave", false, "leave the fields of shared objects as they are")
	flags.BoolVar(&f.restore, "restore", false, "restore the original values of fields of shared objects")
	f.wait.Add(flags, "until the controller has released them")
}

// given reports whether the values of the released fields are chosen.
func (f releaseFlags) given() bool { return f.leave || f.restore }

// parse returns the policy, or an error if the flags are invalid.
func (f releaseFlags) parse() (v1alpha1.ReleasePolicy, error) {
	switch {
	case f.leave == f.restore:
		return "", errors.New("choose the values of the released fields: use --leave or --restore")
	case f.restore:
		return v1alpha1.ReleaseRestore, f.wait.Check()
	}
	return v1alpha1.ReleaseLeave, f.wait.Check()
}

// parseRelease validates the arguments and flags of `free --leave` and `free --restore`. Without a path, all fields are
// released; without an object, those of all shared objects.
//
//	free web --restore                        all fields of all shared objects
//	free web deploy/web --restore             all fields of one object
//	free web deploy/web spec.replicas --leave one field
func (o *editOptions) parseRelease(args []string) (err error) {
	if err := o.write.Parse(); err != nil {
		return err
	}
	if o.policy, err = o.release.parse(); err != nil {
		return err
	}
	if args, err = o.target.Parse(o.streams, args); err != nil {
		return err
	}
	if o.release.wait.Wait && (o.write.IsDry() || o.target.InFiles()) {
		return errors.New("--wait needs a change in a cluster: omit it with -f or --dry-run")
	}
	if len(args) > 0 {
		o.resource, o.paths = args[0], args[1:]
	}
	if len(o.paths) == 0 {
		o.paths = []string{observer.AllFields}
	}
	return o.writable()
}

// runRelease releases fields by changing spec.fields. The consequences are decided like those of any other change.
func (o *editOptions) runRelease(ctx context.Context) error {
	d, c, err := o.decided(ctx)
	if err != nil {
		return err
	}
	ids, err := o.shared(d)
	if err != nil {
		return err
	}
	// Each edit is based on the plan of the previous one, so that all become one change.
	e := edit{after: d.Plan}
	fields := d.Spec.Fields
	for _, id := range ids {
		var notes []string
		if fields, notes, err = e.after.EditFields(id, intent.Edit{Free: true, Paths: o.paths, OnRelease: o.policy}); err != nil {
			return err
		}
		e.notes = append(e.notes, notes...)
		e.after = d.WithFields(fields)
		if err := validAfter(e.after); err != nil {
			return err
		}
	}
	e = fieldsEdit(d, fields, e.notes)
	if err := o.finish(ctx, d, c, e, len(ids)*len(o.paths), ids...); err != nil || !o.release.wait.Wait {
		return err
	}
	return o.released(ctx, c, d, e.after.ReleasedFields())
}

// released waits until the controller has released the recorded fields, even if the Application is not ready
// for another reason. leaving contains the field paths by object.
//
//	the Application                      result
//	deleted, or created again            an error, StatusDifferent
//	suspended or observe-only            an error, StatusDifferent
//	a status of an older generation      waits
//	no field of leaving is held          "released"
//	one is held, and it is stalled       an error, StatusDifferent
//	one is held                          waits; the reason is in the error at the timeout
func (o *editOptions) released(ctx context.Context, c *connection.Cluster, d files.Decision, leaving map[manifest.ID][]string) error {
	why := "the controller has not reconciled it: does it run?"
	late := func() error { return fmt.Errorf("%s/%s has not released the fields: %s", d.Namespace, d.Name, why) }
	failed := func(text string) error {
		return &terminal.Exit{Status: terminal.StatusDifferent, Err: errors.New(text)}
	}
	return o.release.wait.Follow(ctx, c, d.Namespace, d.Name, late, func(app *v1alpha1.Application) (bool, error) {
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

// shared returns the objects to release: the named one, or all shared objects. Objects that were shared before, and
// still have original values on record, count. Objects that leave the Application in the same plan are skipped: they
// are released with all their fields anyway.
func (o *editOptions) shared(d files.Decision) (ids []manifest.ID, err error) {
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
			return nil, fmt.Errorf("%s is owned, not shared, so no original values are recorded. To stop holding its fields, omit --restore and --leave", asked)
		}
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("no shared objects to release in Application %s/%s", d.Namespace, d.Name)
	}
	return ids, nil
}
