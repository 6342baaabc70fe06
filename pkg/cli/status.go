package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/pkg/cli/command"
	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/page"
	"holdfast.dev/holdfast/pkg/cli/report"
	"holdfast.dev/holdfast/pkg/cli/terminal"
)

const statusLong = `Show the state of an Application: whether it is ready, and the reason if it is not;
the fields that drifted or are contested; the health of each resource; what to do if
something is wrong; and who changed what last. With --all, it also lists the fields in
sync, the events, and the objects that the resources own (ReplicaSets, Pods,
EndpointSlices, ...). It finds these by their owner references, among all kinds in the
namespace that you may list.

It reads the live objects with your rights. With -f and --live it reads everything
from files, without a cluster. Values of Secrets are masked.

If there are more than 100 resources, it lists those with a failure, drift, or a
correction in the last hour; with --all it lists all of them.`

const statusExample = `
  # The state of web
  PROGRAM status web

  # With the Pods of its Deployments, and other objects that its resources own
  PROGRAM status web --all

  # From files that kubectl wrote, for example in a bug report
  PROGRAM status -f application.yaml --live live.yaml

  # For a script
  PROGRAM status web -o json

  # As one web page, with every field of its objects
  PROGRAM status web -o html > web.html
`

// statusOptions are the options of `status`.
//
//	NAME   the Application, its live objects and its events
//	-f     an Application with its status, and the objects of --live: for example from a bug report
type statusOptions struct {
	streams Streams
	program string
	color   string
	output  string
	watch   bool
	all     bool // list everything
	target  connection.Target
	palette terminal.Palette
	print   terminal.Printer // nil: text output
	page    bool             // print an HTML page
}

func newStatusCommand(name string, streams Streams) *cobra.Command {
	o := &statusOptions{streams: streams, program: name, target: connection.NewTarget()}
	return command.Spec{
		Use: "status NAME | status -f FILE [--live FILE...]", Short: "Show the state of an Application, and what to do next",
		Long: statusLong, Example: statusExample, Statuses: []string{"it is ready", "it is not"},
		Args: command.AtMost(1), Flags: o.add, Options: o.options, Complete: o.target.Named, Connection: o.target.Connection,
	}.Build(name)
}

func (o *statusOptions) add(flags *pflag.FlagSet) {
	o.target.Add(flags)
	terminal.AddColor(flags, &o.color)
	flags.StringVarP(&o.output, "output", "o", "", "`yaml|json|html`: print for programs; html is a web page")
	flags.BoolVar(&o.all, "all", false, "list all resources, the objects that they own, the fields in sync, and the events")
	connection.AddWatch(flags, &o.watch)
}

// options validates the flags and the name. A page cannot be watched, because a browser would not show a second
// page. `holdfast ui` has live pages.
func (o *statusOptions) options(args []string) (_ command.Run, err error) {
	if o.watch && (o.target.InFiles() || o.output == "html") {
		return nil, connection.ErrWatchFiles
	}
	if args, err = o.target.Parse(o.streams, args); err != nil {
		return o.run, err
	}
	if len(args) > 0 {
		return nil, connection.ErrNameAndFile
	}
	if o.palette, err = terminal.PaletteFor(o.color, o.streams); err != nil {
		return o.run, err
	}
	if o.page = o.output == "html"; !o.page {
		o.print, err = terminal.OptionalPrinter(o.output, "html")
	}
	return o.run, err
}

func (o *statusOptions) run(ctx context.Context) error {
	if o.watch {
		return o.target.ShowAgain(ctx, o.streams, o.printOnce)
	}
	return o.printOnce(ctx)
}

// printOnce reads the Application and prints its status. The exit status shows whether it is ready. Events that
// cannot be read are a warning: the status is complete without them. In files there are none, and no controller that
// could be missing.
func (o *statusOptions) printOnce(ctx context.Context) error {
	d, c, err := o.target.Decided(ctx)
	if err != nil {
		return err
	}
	view := report.StatusOf(d)
	if c != nil {
		view.Attend(d.Application, o.streams.Now())
		if view.Events, err = report.Events(ctx, c, d.Application); err != nil {
			terminal.Warn(o.streams.Err, err.Error())
		}
		if o.all {
			terminal.Warn(o.streams.Err, view.AddOwned(ctx, c, d)...)
		}
	}
	view.Next = report.Advise(d, view, o.program)
	if err := o.show(d, view); err != nil {
		return err
	}
	if view.Ready != "True" {
		return &terminal.Exit{Status: terminal.StatusDifferent}
	}
	return nil
}

// show prints the report. Programs and pages get all resources and events, also without --all; owned objects only with
// it, because they cost requests.
func (o *statusOptions) show(d files.Decision, view report.StatusView) error {
	switch {
	case o.print != nil:
		return o.print(o.streams.Out, view)
	case o.page:
		text, err := page.StatusFile(d, view, o.program, o.streams.Now())
		return errors.Join(err, terminal.Write(o.streams.Out, text))
	}
	t := &report.StatusText{StatusView: view, Output: report.NewOutput(o.streams, o.palette), All: o.all}
	return t.Print(o.streams.Out)
}
