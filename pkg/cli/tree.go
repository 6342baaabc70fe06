package cli

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/report"
	"holdfast.dev/holdfast/pkg/cli/terminal"
)

const treeLong = `Show an Application, its resources, and the objects that these own (ReplicaSets,
Pods, EndpointSlices, ...), each with its health.

It finds owned objects by their owner references, among all kinds in the namespace
that you may list. If there are more than 100 resources, it shows those that are not
healthy or own an unhealthy object; with --all it shows all of them.`

const treeExample = `
  # The resources of web, and the objects that they own
  PROGRAM tree web

  # For a script: the names of all objects
  PROGRAM tree web -o name
`

// treeOptions are the options of `tree`.
//
//	Application web
//	├─ Deployment web           Current
//	│  └─ ReplicaSet web-7d9    Current
//	│     └─ Pod web-7d9-x      Current
//	└─ Service web              Current
type treeOptions struct {
	streams Streams
	target  connection.Target
	color   string
	output  string
	watch   bool
	all     bool // list all resources
	palette terminal.Palette
	print   terminal.Printer // nil: text, or the names with -o name
}

func newTreeCommand(name string, streams Streams) *cobra.Command {
	o := &treeOptions{streams: streams, target: connection.Target{Connection: connection.NewFlags(), Now: streams.Now}}
	return command{
		use: "tree NAME", short: "Show the resources, and the objects that they own",
		long: treeLong, example: treeExample, statuses: []string{"shown"},
		args: exactly("NAME"), flags: o.add, options: o.options, complete: o.target.Connection.Named, connection: o.target.Connection,
	}.build(name)
}

func (o *treeOptions) add(flags *pflag.FlagSet) {
	terminal.AddColor(flags, &o.color)
	flags.StringVarP(&o.output, "output", "o", "", "`yaml|json|name`: print for programs")
	flags.BoolVar(&o.all, "all", false, "list all resources")
	addWatch(flags, &o.watch)
}

func (o *treeOptions) options(args []string) (_ runner, err error) {
	o.target.Name = args[0]
	if err = files.ValidName(args[0]); err != nil {
		return o, err
	}
	if o.palette, err = terminal.PaletteFor(o.color, o.streams); err == nil && o.output != "name" {
		o.print, err = terminal.OptionalPrinter(o.output, "name")
	}
	return o, err
}

// run prints the tree again after each change of the Application with -w. It does not watch the owned objects.
func (o *treeOptions) run(ctx context.Context) error {
	if o.watch {
		return shownAgain(ctx, o.target, o.streams, o.printOnce)
	}
	return o.printOnce(ctx)
}

// printOnce reads the Application and prints its tree.
func (o *treeOptions) printOnce(ctx context.Context) error {
	d, c, err := o.target.Decided(ctx)
	if err != nil {
		return err
	}
	root, warnings := report.TreeOf(ctx, c, d)
	warn(o.streams.Err, warnings)
	switch {
	case o.output == "name":
		return terminal.WriteLines(o.streams.Out, root.Names())
	case o.print != nil:
		return o.print(o.streams.Out, root.View())
	}
	t := &report.TreeText{Output: report.NewOutput(o.streams, o.palette), All: o.all}
	return t.Print(o.streams.Out, root)
}
