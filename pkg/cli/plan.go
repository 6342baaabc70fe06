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

const planLong = `Print what the controller would do about an Application, for programs.

With NAME, the Application and its live objects are read from the cluster, with
your rights. With -f no cluster is asked: the Application is read from a file,
with its status if the file has one, and so are the live objects. What is printed is a Plan: every
resource in the order of execution, what is created, every field that drifted,
the JSON Patch that corrects it, and the status that follows once all of it is done.
Values of Secrets are masked. Several Applications give several documents.

With -o json the status is whole, the inventory included. Put into the file of the
Application, with the changes in the live objects, it is where the next plan begins.

` + files.SourcesLong + `

Exit status:
  0  printed, whether there is something to do or not
  2  an error, also one in the flags or in the Application`

const planExample = `
  # What would be created
  PROGRAM plan -f application.yaml

  # What would be corrected, given these live objects
  PROGRAM plan -f application.yaml --live live.yaml

  # For an Application of the cluster, as it is now
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
	flags.StringVarP(&f.output, "output", "o", "yaml", "format of what is printed: `yaml|json`")
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
