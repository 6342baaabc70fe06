package cli

import (
	"bytes"
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/report"
	"holdfast.dev/holdfast/pkg/cli/terminal"
)

const treeLong = `Show an Application, its resources, and what these own in turn (ReplicaSets, Pods,
EndpointSlices, ...), each with its health.

What an object owns is found by owner references, among all kinds of its
namespace that you may list.

Exit status:
  0  shown
  2  an error, also one in the flags`

const treeExample = `
  # What web has become
  PROGRAM tree web
`

type treeFlags struct {
	connection connection.Flags
	color      string
}

type treeOptions struct {
	streams Streams
	target  connection.Target
	palette terminal.Palette
}

func newTreeCommand(name string, streams Streams) *cobra.Command {
	f := &treeFlags{connection: connection.NewFlags()}
	return command{
		use: "tree NAME", short: "Show its resources, and what they own",
		long: treeLong, example: treeExample,
		args: exactly("NAME"), flags: f.add,
		options:    func(args []string) (runner, error) { return f.options(streams, args) },
		complete:   f.connection.Named,
		connection: f.connection,
	}.build(name)
}

func (f *treeFlags) add(flags *pflag.FlagSet) {
	terminal.AddColor(flags, &f.color)
	f.connection.Add(flags)
}

func (f *treeFlags) options(streams Streams, args []string) (runner, error) {
	o := treeOptions{streams: streams, target: connection.Target{Name: args[0], Connection: f.connection, Now: streams.Now}}
	if err := files.ValidName(args[0]); err != nil {
		return o, err
	}
	var err error
	o.palette, err = terminal.PaletteFor(f.color, streams)
	return o, err
}

func (o treeOptions) run(ctx context.Context) error {
	d, c, err := o.target.Decided(ctx)
	if err != nil {
		return err
	}
	root, warnings := report.TreeOf(ctx, c, d)
	warn(o.streams.Err, warnings)
	var text bytes.Buffer
	t := &report.TreeText{Palette: o.palette, Width: terminal.Width(o.streams.Out), Now: o.streams.Now(), Out: &text}
	t.Write(root)
	return terminal.Write(o.streams.Out, text.Bytes())
}
