package cli

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/pkg/cli/command"
	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/report"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/explain"
)

const diffLong = `Show the differences between an Application and the live objects.

With NAME, it reads the Application and its live objects from the cluster, with
your rights. With -f it uses no cluster: it reads the Application, its status if
there is one, and the live objects from files. With -f and --cluster it shows what
submitting the file would change in the cluster; with NAME and -f, what "PROGRAM
submit NAME -f FILE -O SCHEMA" would change, with the same files.

For each resource with a difference it shows what the controller would do and, for
each field, the old and the new value. It does not show free fields, nor the
tracking metadata of an observe-only Application. With --all it also shows list
elements of other clients. A value of an unknown type may be
"perhaps only another spelling"; in a cluster, a dry run with your rights finds out.
Values of Secrets are masked.

  + create     the object does not exist
  ~ correct    held fields differ, each as FIELD: live value → desired value
  - delete     the Application no longer has the object
  ~ orphan     deleting the Application only removes the tracking metadata
  ! blocked    the object cannot be corrected; the reason is shown
  ! contested  another client keeps changing a field; its correction is deferred

With -o it prints what the controller would do, for programs: every resource in the
order of execution, every field that has drifted, the JSON Patch that corrects it,
and the resulting status. For several Applications, it prints several documents. With
-o json the status is complete. To plan the next step, copy this status into the
Application file and update the live objects.

` + files.SourcesLong

const diffExample = `
  # Objects that would be created
  PROGRAM diff -f application.yaml

  # Differences from these live objects
  PROGRAM diff -f application.yaml --live live.yaml

  # Differences from the objects in the cluster
  PROGRAM diff web

  # What submitting manifests would change
  PROGRAM diff web -f manifests/ -O schema.yaml

  # What submitting an Application would change
  PROGRAM diff -f application.yaml --cluster

  # Only the patches
  PROGRAM diff -f application.yaml --live live.yaml -o json |
    jq -c .changes[].patch

  # In a script: is everything in sync?
  PROGRAM diff -f application.yaml --live live.yaml >/dev/null ||
    echo "no: status $?"
`

// diffOptions are the options of `diff`.
//
//	arguments and flags       Application  live objects  status
//	NAME                      cluster      cluster       stored
//	-f                        file         --live        of the file
//	-f and --cluster          file         cluster       stored
//	NAME and -f (and -O)      built        cluster       stored
type diffOptions struct {
	streams    Streams
	color      string
	output     string
	submitting bool // --cluster: compare as if the files were submitted
	all        bool
	// schema selects the observer schema for the manifests of -f. An Application in a file has its own.
	schema  files.ManifestFlags // -O, which needs a name and manifests
	target  connection.Target
	palette terminal.Palette
	print   terminal.Printer // nil: text output
}

func newDiffCommand(name string, streams Streams) *cobra.Command {
	o := &diffOptions{streams: streams, target: connection.NewTarget()}
	return command.Spec{
		Use:   "diff NAME [-f FILE...] | diff -f FILE... [--live FILE...]",
		Short: "Show the differences, field by field",
		Long:  diffLong, Example: diffExample,
		Statuses: []string{"no difference", "something differs", "an error, also one in the flags or in the Application"},
		Args:     command.AtMost(1), Flags: o.add, Options: o.options, Complete: o.target.Named, Connection: o.target.Connection,
	}.Build(name)
}

func (o *diffOptions) add(flags *pflag.FlagSet) {
	o.target.Add(flags)
	o.schema.Add(flags, "observer-schema", "O", "observer schema, with NAME and manifests")
	flags.BoolVar(&o.submitting, "cluster", false, "with -f: compare with the cluster before the file is submitted")
	flags.StringVarP(&o.output, "output", "o", "", "`yaml|json`: print what the controller would do, for programs")
	flags.BoolVar(&o.all, "all", false, "also show list elements of other clients")
	terminal.AddColor(flags, &o.color)
}

// options validates the flags. With a name, the files are manifests of the Application: they have no status, so the
// comparison is with the cluster. Settling sends dry runs only for text output: with -o, a program gets the plan of
// the controller unchanged.
func (o *diffOptions) options(args []string) (_ command.Run, err error) {
	if args, err = o.target.Parse(o.streams, args); err != nil {
		return o.run, err
	}
	o.target.Settling = o.output == ""
	named := o.target.InFiles() && len(args) > 0
	o.target.Submitting = o.submitting || named
	if err := o.conflict(args, named); err != nil {
		return o.run, err
	}
	if named {
		if o.target.Submitted, err = files.Submitted(args[0], o.target.Sources, o.schema); err != nil {
			return o.run, err
		}
	}
	if o.palette, err = terminal.PaletteFor(o.color, o.streams); err == nil {
		o.print, err = terminal.OptionalPrinter(o.output)
	}
	return o.run, err
}

// conflict returns an error if flags and arguments exclude each other. named is set if a name comes with files.
//
//	-f and a second argument    it is not a flag
//	--cluster without -f        there is no file to submit
//	--cluster and --live        two sources of live objects
//	-O without NAME and -f      there are no manifests
func (o *diffOptions) conflict(args []string, named bool) error {
	switch {
	case len(args) > 1:
		return connection.ErrNotWithFiles(args[1])
	case o.submitting && !o.target.InFiles():
		return errors.New("--cluster is for a file that is not submitted yet: use it with -f")
	case o.target.Submitting && len(o.target.Live) > 0:
		return errors.New("live objects are read from files or from the cluster: omit --live, or --cluster and NAME")
	case o.schema.Given() && !named:
		return errors.New("-O is for manifests of an Application: give its NAME, and the manifests with -f")
	}
	return nil
}

// run decides about all Applications before it prints, so that an error leaves no half of the output. With -o, the
// warnings are in the value, and only the notes are messages.
//
//	output  data                       messages
//	text    the differences            warnings, notes
//	-o      one value per Application  notes
func (o *diffOptions) run(ctx context.Context) error {
	decisions, err := o.target.DecideAll(ctx)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	different, views := false, make([]any, len(decisions))
	for i, d := range decisions {
		notes := d.Notes()
		if o.print == nil { // the other warnings are in the value
			notes = slices.Concat(d.Warnings, notes, d.ProfileNotes())
		}
		terminal.Warn(o.streams.Err, notes...)
		if i > 0 {
			text.WriteByte('\n')
		}
		t := &report.Differences{Decision: d, Output: report.NewOutput(o.streams, o.palette), All: o.all}
		if err := t.Print(&text); err != nil {
			return err
		}
		different, views[i] = different || t.Count.Differs(), explain.ViewOf(d.Plan)
	}
	if o.print != nil {
		err = o.print(o.streams.Out, views...)
	} else {
		err = terminal.Write(o.streams.Out, text.Bytes())
	}
	if err != nil {
		return err
	}
	if different {
		return &terminal.Exit{Status: terminal.StatusDifferent}
	}
	return nil
}
