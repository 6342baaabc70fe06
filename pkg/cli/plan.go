package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/terminal"
)

const planLong = `Print what the controller would do for an Application, for programs.

With NAME, it reads the Application and its live objects from the cluster, with
your rights. With -f it uses no cluster: it reads the Application, its status if
there is one, and the live objects from files. The output is a Plan: every resource
in the order of execution, the objects to create, every field that has drifted, the
JSON Patch that corrects it, and the resulting status. Values of Secrets are masked.
For several Applications, it prints several documents.

With -o json the status is complete and contains the inventory. To plan the next
step, copy this status into the Application file and update the live objects.

` + files.SourcesLong + `

Exit status:
  0  printed, whether there is something to do or not
  2  an error, also one in the flags or in the Application`

const planExample = `
  # Objects that would be created
  PROGRAM plan -f application.yaml

  # Corrections of these live objects
  PROGRAM plan -f application.yaml --live live.yaml

  # For an Application in the cluster
  PROGRAM plan web

  # Only the patches
  PROGRAM plan -f application.yaml --live live.yaml -o json |
    jq -c .changes[].patch
`

type planFlags struct {
	target connection.TargetFlags
	output string
}

type planOptions struct {
	streams Streams
	target  connection.Target
	print   terminal.Printer
}

func newPlanCommand(name string, streams Streams) *cobra.Command {
	f := &planFlags{target: connection.NewTargetFlags()}
	return command{
		use:   "plan NAME | plan -f FILE... [--live FILE...]",
		short: "Print what the controller would do, as YAML or JSON",
		long:  planLong, example: planExample,
		args: atMost(1), flags: f.add,
		options:    func(args []string) (runner, error) { return f.options(streams, args) },
		complete:   f.target.Named,
		connection: f.target.Connection,
	}.build(name)
}

func (f *planFlags) add(flags *pflag.FlagSet) {
	f.target.Add(flags)
	flags.StringVarP(&f.output, "output", "o", "yaml", "output format: `yaml|json`")
}

func (f *planFlags) options(streams Streams, args []string) (runner, error) {
	o := planOptions{streams: streams}
	var err error
	if o.target, args, err = f.target.Options(streams, args); err != nil {
		return o, err
	}
	if len(args) > 0 {
		return o, connection.ErrNotWithFiles(args[0])
	}
	o.print, err = terminal.PrinterFor(f.output)
	return o, err
}

func (o planOptions) run(ctx context.Context) error {
	decisions, err := o.target.DecideAll(ctx)
	if err != nil {
		return err
	}
	views := make([]any, len(decisions))
	for i, d := range decisions {
		warn(o.streams.Err, d.Notes())
		views[i] = d.View()
	}
	return o.print(o.streams.Out, views...)
}

func warn(w io.Writer, warnings []string) {
	for _, warning := range warnings {
		fmt.Fprintln(w, "warning: "+terminal.Visible(warning))
	}
}
