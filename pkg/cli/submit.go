package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/command"
	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/report"
	"holdfast.dev/holdfast/pkg/cli/setup"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/source"
)

const submitLong = `Create or update an Application from plain manifests.

The files of -f become spec.manifest, and those of -O spec.observerSchema. A file can
also be an Application: it is then submitted with the additions of the flags, and
NAME is optional. Before anything is sent, the engine of the controller checks the
manifests and the schema. It reports every error with file, line and column.

A change of the manifests in a free field is not written; the command lists it. With
--dry-run=server, the API server validates the Application and, with your rights, each
object to create or change. If its namespace or kind does not exist, a note is printed.

submit is a server-side apply by the field manager holdfast-cli: fields of other
managers, such as spec.suspend, are kept, and fields of an earlier submit that are
missing now are removed. A null in a schema is sent as the word observed, which
survives kubectl edit and Helm. A new Application is created with the finalizer and
the annotations that the controller would write first, if its ServiceAccount exists.

Instead of manifests, --tosca takes a template and --csar an archive. A file is
translated before it is sent, and its errors are reported like those of manifests. A
template is sent unchanged. An archive of at most 1 MiB is stored in a ConfigMap that is
deleted with the Application. A URL is fetched and translated by the controller only.

With --from-live, the manifests are made from live objects: those of KIND/NAME, those
with the labels of -l, or those named in the files of -f. They contain the values that
users have set, and these are held. They omit defaults, values of controllers, and
objects that other objects control. The Application adopts the objects (--adoption
IfUnowned), and changes nothing; otherwise the command lists the changes and submits
nothing. Secrets are omitted, because users who may read the Application could read
them; --with-secrets includes them.

With --wait it shows the progress of each resource, until all are ready, one needs
your help, or the timeout expires.

submit never creates rights. If the ServiceAccount of a new Application lacks some, it
names "PROGRAM check NAME -o yaml", which prints the smallest Role.`

const submitExample = `
  # An Application web from the manifests of a directory
  PROGRAM submit web -f manifests/

  # Hold only the fields that schema.yaml names, and wait until all is ready
  PROGRAM submit web -f manifests/ -O schema.yaml --wait

  # Print the Application that would be stored
  PROGRAM submit web -f manifests/ --dry-run=client -o yaml

  # Hold existing objects as they are, and keep the Application in Git
  PROGRAM submit shop --from-live -l app=shop --dry-run=client -o yaml

  # From a TOSCA template, with an input
  PROGRAM submit shop --tosca shop.yaml --input replicas=3
`

// submitOptions are the options of `submit`.
//
//	flags                 Application                          cluster
//	-f                    made from manifests, or a file       read and written
//	--tosca, --csar       with a template                      read and written
//	--from-live           made from live objects: see runLive  read and written
//	--dry-run=client      printed                              only read with --from-live
//	--dry-run=server      sent as a dry run, with its objects  only read
type submitOptions struct {
	streams    Streams
	connection connection.Flags
	flags      files.SubmittedFlags
	source     files.SubmittedSource // from flags
	live       connection.LiveFlags
	secrets    bool // --with-secrets: include Secrets among live objects
	connection.WriteFlags
	force  bool // --force-conflicts
	strict bool // unknown fields are errors
	// createNamespace creates the namespace of the Application, if it does not exist.
	createNamespace bool
	wait            connection.WaitFlags
}

// newSubmitCommand returns the command `submit`. The number of arguments depends on --from-live, which allows
// objects after the name.
func newSubmitCommand(name string, streams Streams) *cobra.Command {
	o := &submitOptions{streams: streams, connection: connection.NewFlags()}
	return command.Spec{
		Use: "submit [NAME] -f FILE... | submit NAME --from-live -l LABELS", Short: "Create or update an Application from manifests",
		Long: submitLong, Example: submitExample,
		Statuses: []string{"submitted; with --wait: also ready", "with --wait: not ready in time, or stalled", "an error, also one in the flags or in the files"},
		Args: func(cmd *cobra.Command, args []string) error {
			if o.flags.FromLive {
				return nil
			}
			return command.AtMost(1)(cmd, args)
		},
		Flags: o.add, Options: o.options, Complete: o.complete, Connection: o.connection,
		CompleteFlags: map[string]command.Completer{
			"hook":     command.OneOf("complete"),
			"adoption": command.OneOf("Never", "IfUnowned", "Always"), "deletion-policy": command.OneOf("Delete", "Orphan"),
		},
	}.Build(name)
}

func (o *submitOptions) add(flags *pflag.FlagSet) {
	o.flags.Add(flags)
	o.live.Add(flags)
	flags.BoolVar(&o.secrets, "with-secrets", false, "with --from-live: include Secrets with their values")
	o.WriteFlags.Add(flags, "the Application")
	terminal.AddShowSecrets(flags, &o.ShowSecrets)
	flags.BoolVar(&o.force, "force-conflicts", false, "overwrite fields that another field manager has set")
	flags.BoolVar(&o.createNamespace, "create-namespace", false, "create the namespace of the Application if it does not exist")
	flags.BoolVar(&o.strict, "strict", false, "treat unknown fields as errors, not as warnings")
	o.wait.Add(flags, "until it is ready")
}

// options validates the flags and the arguments.
func (o *submitOptions) options(args []string) (_ command.Run, err error) {
	if o.source, err = o.flags.Options(o.streams, args); err != nil {
		return o.run, err
	}
	if err = o.checkLive(args); err != nil {
		return o.run, err
	}
	return o.run, errors.Join(o.wait.Check(), o.Parse(), o.Waitable(o.wait))
}

// run validates and decides before the first write, so that an invalid file changes nothing.
//
//  1. read files      all of them, and the errors of flags were reported before
//  2. translate       the template, if it is in a file
//  3. check           manifests and schema with the engine
//  4. foresee         changes of free fields, as notes
//  5. send            namespace, archive, slices, Application
//  6. wait            with --wait
func (o *submitOptions) run(ctx context.Context) error {
	if o.source.FromLive {
		return o.runLive(ctx)
	}
	s, err := o.source.Read(ctx)
	if err != nil {
		return err
	}
	if o.DryRun == connection.DryRunClient {
		return o.printUnsent(ctx, s)
	}
	c, err := o.connection.Connect()
	if err != nil {
		return err
	}
	if err := s.SetNamespace(c.Namespace, *o.connection.Namespace); err != nil {
		return err
	}
	if err := o.translate(ctx, s, c.Reader(s.Namespace)); err != nil {
		return err
	}
	if err := o.check(ctx, s, c.View(s.Known())); err != nil {
		return err
	}
	foreseen, err := o.foresee(ctx, c, s)
	if err != nil {
		return err
	}
	if err := o.send(ctx, c, s); err != nil || o.DryRun != connection.DryRunServer {
		return err
	}
	return o.ask(ctx, c, foreseen)
}

// foresee decides about the submission. It prints the changes to free fields, which the controller will not write.
// The result is nil if nothing was decided. Notes that were true before the submission are left out. With
// --dry-run=server it always decides, because ask needs the plan.
func (o *submitOptions) foresee(ctx context.Context, c *connection.Cluster, s *files.Submission) (*files.Decision, error) {
	if len(s.App.Spec.ObserverSchema)+len(s.App.Spec.Fields) == 0 && o.DryRun != connection.DryRunServer {
		return nil, nil // every field is held
	}
	after, before, unreadable, err := c.Preview(ctx, s, o.streams.Now())
	if err != nil {
		return nil, err
	}
	if after.Invalid != nil && after.Invalid.Disposition() == v1alpha1.DispositionEdit {
		terminal.Warn(o.streams.Err, "the controller will find it invalid: "+after.Invalid.Error())
	}
	if unreadable != nil {
		terminal.Warn(o.streams.Err, "cannot compare free fields with the live objects: "+unreadable.Error())
	}
	notes := report.NotHeld(*after)
	if before != nil {
		same := report.NotHeld(*before)
		notes = slices.DeleteFunc(notes, func(line string) bool { return slices.Contains(same, line) })
	}
	terminal.Warn(o.streams.Err, notes...)
	return after, nil
}

// ask sends a dry run for each object to the API server, and returns the rejections. Only rejections are errors. A
// missing namespace or kind is a note, because the Application may create it.
func (o *submitOptions) ask(ctx context.Context, c *connection.Cluster, foreseen *files.Decision) error {
	if err := files.NotDecided(*foreseen); err != nil {
		return err
	}
	answers := c.DryRun(ctx, foreseen)
	terminal.Note(o.streams.Err, answers.Notes...)
	fmt.Fprintf(o.streams.Err, "note: the API server would accept %d of %s to write\n", answers.Fine, terminal.Plural(answers.Asked, "object"))
	return answers.Refused
}

// translate translates a template, and returns its validation errors. It prints a note if the template
// cannot be checked.
func (o *submitOptions) translate(ctx context.Context, s *files.Submission, reader source.Reader) error {
	note, err := s.Translate(ctx, reader)
	if note != "" {
		fmt.Fprintln(o.streams.Err, "note: "+terminal.Visible(note))
	}
	return err
}

// check validates the submission. It prints warnings only without an error, so that users do not overlook the error.
func (o *submitOptions) check(ctx context.Context, s *files.Submission, view files.View) error {
	warnings, err := s.Check(ctx, view)
	if err == nil && o.strict {
		err = s.Misspelt()
	}
	if err == nil {
		terminal.Warn(o.streams.Err, warnings...)
	}
	return err
}

// printUnsent prints what would be sent. It does not contact a cluster. Without a namespace, the printed objects
// have none: kubectl apply -n then chooses it.
func (o *submitOptions) printUnsent(ctx context.Context, s *files.Submission) error {
	if err := s.SetNamespace(*o.connection.Namespace, *o.connection.Namespace); err != nil {
		return err
	}
	if err := o.translate(ctx, s, nil); err != nil {
		return err
	}
	if err := o.check(ctx, s, files.Offline(s.Known())); err != nil {
		return err
	}
	terminal.Warn(o.streams.Err, files.MistypedKinds(s.Known())...)
	return o.printAll(s)
}

// printAll prints what --dry-run=client would send, as YAML without -o. The output can be applied with kubectl: first
// the namespace, then slices, then the Application. JSONPath applies to the Application only.
func (o *submitOptions) printAll(s *files.Submission) error {
	if o.Printer == nil {
		o.Output = "yaml"
		if err := o.Parse(); err != nil {
			return err
		}
	}
	if o.createNamespace && !strings.HasPrefix(o.Output, "jsonpath") {
		if s.Namespace == "" {
			return errors.New("--create-namespace with --dry-run=client needs a namespace: add -n NAMESPACE")
		}
		if err := o.Printer.PrintObj(connection.Namespace(s.Namespace), o.streams.Out); err != nil {
			return err
		}
	}
	objects, err := s.Objects()
	if err != nil {
		return err
	}
	for _, object := range objects {
		if err := o.PrintObject(o.streams, object); err != nil {
			return err
		}
	}
	return nil
}

// makeNamespace creates the namespace of the Application, if it does not exist. The message is written to the
// standard error with -o, because the output is then the Application only.
func (o *submitOptions) makeNamespace(ctx context.Context, c *connection.Cluster, namespace string) (created bool, err error) {
	if !o.createNamespace {
		return false, nil
	}
	created, err = c.CreateNamespace(ctx, namespace, o.DryRun)
	if created {
		out := o.streams.Out
		if o.Printer != nil {
			out = o.streams.Err
		}
		fmt.Fprintf(out, "namespace/%s created%s\n", namespace, o.Note())
	}
	return created, err
}

// send creates the namespace if necessary, writes the Application, reports missing rights of a new one, and waits. In a
// dry run, the new namespace does not exist, so the API server cannot validate the Application.
//
//	application.holdfast.dev/web created
//	application.holdfast.dev/web configured
//	application.holdfast.dev/web unchanged
func (o *submitOptions) send(ctx context.Context, c *connection.Cluster, s *files.Submission) error {
	created, err := o.makeNamespace(ctx, c, s.Namespace)
	if err != nil {
		return err
	}
	result := connection.ApplyResult{Stored: s.Object(), Done: "created"}
	if created && o.DryRun == connection.DryRunServer {
		terminal.Warn(o.streams.Err, "the namespace does not exist yet, so the API server cannot validate the Application: it was only checked locally")
	} else if result, err = c.Apply(ctx, s, o.DryRun, o.force); err != nil {
		return err
	}
	if result.Stored.GetDeletionTimestamp() != nil {
		terminal.Warn(o.streams.Err, "the Application "+s.Namespace+"/"+s.Name+" is being deleted, and so is this change: submit it again after the deletion")
	}
	if err := o.WriteFlags.Print(o.streams, result.Stored, result.Done); err != nil {
		return err
	}
	if d := s.Decision(); d != nil && result.Done == "created" && !o.IsDry() {
		terminal.Note(o.streams.Err, setup.MissingRights(ctx, c, *d)...)
	}
	if !o.wait.Wait {
		return nil
	}
	return o.wait.Ready(ctx, c, o.streams, s.Namespace, s.Name)
}
