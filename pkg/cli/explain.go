package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/pkg/cli/command"
	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/page"
	"holdfast.dev/holdfast/pkg/cli/report"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/explain"
	"holdfast.dev/holdfast/pkg/intent"
)

const explainLong = `Show the state of every field of a live object, who wrote it last, and whether
Holdfast would correct it.

  held       the manifest sets it, and drift is corrected
  learned    observed, but not in the manifest: the live value was recorded, and
             is held
  accepted   held in the accepted form of the API server ("1" for "1000m")
  contested  held, and another client keeps changing it back
  removed    will be removed: no longer in the manifest, or a list is too long
  reported   drift is reported, and never corrected
  claimed    another Application holds it, and this one does not write it
  free       not held: Holdfast never writes it again. If the manifest has
             another value than the live one, both are shown

Each observed field has a sign: = it is in sync, ~ it has drifted and is corrected,
! it has drifted and is not corrected now. The last writer of a field, and the
time, are from metadata.managedFields.

KIND is written as for kubectl: deployment, deploy, deployments.apps. With PATH, it
shows only the fields at and below it, with all details; you can omit list elements:
spec.template.spec.containers.image. With -f and --live it reads the Application and
its live objects from files, and uses no cluster. Values of Secrets are masked; ***
(desired) and *** (observed) differ. With -o html it prints one web page; without
KIND/NAME the page has all objects. With only KIND/NAME, it lists the Applications
that hold fields of that object.`

const explainExample = `
  # Every field of a Deployment of the Application web
  PROGRAM explain web deployment/web

  # Only its replicas, with all details
  PROGRAM explain web deploy/web spec.replicas

  # Which Applications hold fields of an object?
  PROGRAM explain deployment/web

  # All its objects as one web page
  PROGRAM explain web -o html > web.html

  # From files that kubectl wrote, for example in a bug report
  PROGRAM explain -f application.yaml --live live.yaml deployment/web
`

// explainOptions are the options of `explain`.
//
//	explain web deploy/web spec.replicas  the fields of one object
//	explain web -o html                   a page of all objects
//	explain deploy/web                    the holders of one object: see holdersOptions
type explainOptions struct {
	streams     Streams
	program     string
	color       string
	output      string
	showSecrets bool
	target      connection.Target
	resource    string // KIND/NAME; "" for a page of all objects
	path        string // "" for all fields
	palette     terminal.Palette
	print       terminal.Printer // nil: text output
	page        bool             // print an HTML page
}

func newExplainCommand(name string, streams Streams) *cobra.Command {
	o := &explainOptions{streams: streams, program: name, target: connection.NewTarget()}
	return command.Spec{
		Use:   "explain (NAME | -f FILE...) KIND/NAME [PATH] | KIND/NAME",
		Short: "Show for each field whether it is held, and who wrote it",
		Long:  explainLong, Example: explainExample, Statuses: []string{"shown"},
		Args: command.AtMost(3), Flags: o.add, Options: o.options, Complete: o.target.ResourceOf, Connection: o.target.Connection,
	}.Build(name)
}

func (o *explainOptions) add(flags *pflag.FlagSet) {
	o.target.Add(flags)
	terminal.AddColor(flags, &o.color)
	flags.StringVarP(&o.output, "output", "o", "", "`yaml|json|html`: print for programs; html is a web page")
	terminal.AddShowSecrets(flags, &o.showSecrets)
}

// options returns the options of another command if the first argument is KIND/NAME: the name of an Application has no
// slash.
//
//	arguments                 with -f
//	NAME KIND/NAME [PATH]     KIND/NAME [PATH]
//	NAME, with -o html        none, or KIND/NAME
//	KIND/NAME                 -
func (o *explainOptions) options(args []string) (_ command.Run, err error) {
	if !o.target.InFiles() && len(args) > 0 && strings.Contains(args[0], "/") {
		return o.holders(args)
	}
	if args, err = o.target.Parse(o.streams, args); err != nil {
		return o.run, err
	}
	if o.page = o.output == "html"; o.page {
		err = o.forPage(args)
		return o.run, err
	}
	switch len(args) {
	case 2:
		o.path = args[1]
		fallthrough
	case 1:
		o.resource = args[0]
	case 0:
		return nil, errors.New("no object given: give KIND/NAME, for example deployment/web")
	default:
		return nil, errors.New("with -f the Application is in the file: give KIND/NAME and, if you want, PATH")
	}
	if o.palette, err = terminal.PaletteFor(o.color, o.streams); err == nil {
		o.print, err = terminal.OptionalPrinter(o.output, "html")
	}
	return o.run, err
}

// forPage parses the remaining arguments for an HTML page, which shows all fields.
func (o *explainOptions) forPage(args []string) error {
	switch {
	case o.showSecrets:
		return errors.New("--show-secrets cannot be used with -o html: pages never contain values of Secrets")
	case len(args) > 1:
		return errors.New("a page shows all fields: omit PATH")
	case len(args) == 1:
		o.resource = args[0]
	}
	return nil
}

// run returns an error for an object that the user may not read, because all its fields would look absent. An
// unknown object or PATH is an error with a suggestion. An object that does not exist yet is shown with the fields
// of its manifest.
func (o *explainOptions) run(ctx context.Context) error {
	d, _, err := o.target.Decided(ctx)
	if err != nil {
		return err
	}
	if err := files.NotDecided(d); err != nil {
		return err
	}
	if o.page && o.resource == "" {
		text, err := page.StatusFile(d, report.StatusOf(d), o.program, o.streams.Now())
		return errors.Join(err, terminal.Write(o.streams.Out, text))
	}
	id, err := files.FindResource(o.resource, files.IDsOf(d))
	if err != nil {
		return err
	}
	if o.page {
		text, err := page.ObjectFile(d, id, o.program, o.streams.Now())
		return errors.Join(err, terminal.Write(o.streams.Out, text))
	}
	explained, _ := explain.Resource(d.Plan, id, o.showSecrets)
	if problem := explained.Change.Problem; problem != nil && problem.Disposition() == intent.DispositionUnread {
		return problem
	}
	if explained.Fields, err = report.FieldsAt(explained.Fields, o.path); err != nil {
		return err
	}
	if o.print != nil {
		return o.print(o.streams.Out, report.ViewOf(explained))
	}
	t := &report.Explanation{
		Explanation: explained, Output: report.NewOutput(o.streams, o.palette), Namespace: d.Namespace, Application: d.Name, Detailed: o.path != "",
	}
	return t.Print(o.streams.Out)
}
