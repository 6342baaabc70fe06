package cli

import (
	"context"
	"errors"
	"fmt"

	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/report"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/manifest"
)

// checkLive returns an error if the flags that select live objects are invalid. It adds the objects in the
// arguments after the name to the flags.
func (o *submitOptions) checkLive(args []string) error {
	if o.source.FromLive {
		if err := o.live.Named(args[min(1, len(args)):]); err != nil {
			return err
		}
	}
	switch {
	case !o.source.FromLive && (o.live.Selector != "" || o.secrets):
		return errors.New("-l and --with-secrets select live objects: add --from-live")
	case o.source.FromLive && !o.live.Given() && !o.source.NamesFiles():
		return errors.New("--from-live needs objects: give KIND/NAME, labels with -l, or files with -f")
	}
	return nil
}

// complete completes NAME, and then KIND/NAME of live objects.
func (o *submitOptions) complete(ctx context.Context, args []string, typed string) []string {
	if len(args) > 0 && o.flags.FromLive {
		return o.connection.Objects(ctx, nil, typed)
	}
	return o.connection.Named(ctx, args, typed)
}

// runLive submits an Application of live objects, unless that would change them.
//
//	deployment/web   manifest with the fields that users have set
//	service/web      the same
//	secret/web       omitted without --with-secrets
//	pod/web-7d9-x    omitted with -l: a ReplicaSet controls it
//
// The decision is made before the submission. If an object would be changed, nothing is sent.
func (o *submitOptions) runLive(ctx context.Context) error {
	c, err := o.connection.Connect()
	if err != nil {
		return err
	}
	taken, err := o.take(ctx, c)
	if err != nil {
		return err
	}
	s, err := o.source.WithLive(taken).Read(ctx)
	if err != nil {
		return err
	}
	if err := s.SetNamespace(c.Namespace, *o.connection.Namespace); err != nil {
		return err
	}
	if err := o.check(ctx, s, c.View(s.Known())); err != nil {
		return err
	}
	if err := o.changesNothing(ctx, c, s); err != nil {
		return err
	}
	if o.DryRun == connection.DryRunClient {
		return o.printAll(s)
	}
	return o.send(ctx, c, s)
}

// take makes manifests of the selected live objects. Secrets are omitted without --with-secrets. It reads each
// selected object once. The namespaces of objects in the namespace of the Application are omitted.
func (o *submitOptions) take(ctx context.Context, c *connection.Cluster) (*files.FromLive, error) {
	documents, err := o.source.Manifests(ctx)
	if err != nil {
		return nil, err
	}
	objects, notes, err := c.Live(ctx, o.connection, o.live, documents)
	if err != nil {
		return nil, err
	}
	taken := &files.FromLive{}
	for _, object := range objects {
		// Users who may read Applications could read the values.
		if manifest.IsSecret(object.ID.GroupKind()) && !o.secrets {
			notes = append(notes, object.ID.String()+" is omitted, because the Application would contain its values; to include it, add --with-secrets")
			continue
		}
		taken.Add(object.Suggest(), c.Namespace)
	}
	terminal.Note(o.streams.Err, notes...)
	if len(taken.Manifests) == 0 {
		return nil, connection.ErrNothingLive
	}
	return taken, nil
}

// changesNothing returns an error, and prints the differences, if the submission would do more than adopt the
// objects. A difference means that a suggested manifest is incomplete. Tracking metadata is not counted: adoption
// always adds it.
func (o *submitOptions) changesNothing(ctx context.Context, c *connection.Cluster, s *files.Submission) error {
	d, _, unreadable, err := c.Preview(ctx, s, o.streams.Now())
	if err == nil {
		err = errors.Join(unreadable, files.NotDecided(*d))
	}
	if err != nil {
		return err
	}
	adopted, changed, problem := 0, 0, "would change"
	for _, change := range d.Changes {
		switch {
		case !change.IsTrackingOnly():
			changed++
			if change.Problem != nil {
				problem = "would change or cannot be adopted"
			}
		case change.Writes():
			adopted++
		}
	}
	if changed == 0 {
		fmt.Fprintf(o.streams.Err, "note: %s to adopt, without any change\n", terminal.Plural(adopted, "object"))
		return nil
	}
	shown := report.Differences{Decision: *d, Output: report.Output{Width: terminal.PlainWidth}}
	if err := shown.Print(o.streams.Err); err != nil {
		return err
	}
	return fmt.Errorf("%s %s: nothing was submitted", terminal.Plural(changed, "object"), problem)
}
