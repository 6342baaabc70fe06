package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

const planLong = `Print what the controller would do about an Application, for programs.

No cluster is asked. The Application is read from a file, with its status if the
file has one, and so are the live objects. What is printed is a Plan: every
resource in the order of execution, what is created, every field that drifted,
the JSON Patch that corrects it, and the status that follows. Values of Secrets
are masked. Several Applications give several documents.

` + sourcesLong + `

Exit status:
  0  printed, whether there is something to do or not
  2  an error, also one in the flags or in the Application`

const planExample = `
  # What would be created
  PROGRAM plan -f application.yaml

  # What would be corrected, given these live objects
  PROGRAM plan -f application.yaml --live live.yaml

  # The same with what a cluster has now
  kubectl get deployments,services -o yaml |
    PROGRAM plan -f application.yaml --live -

  # Only the patches
  PROGRAM plan -f application.yaml --live live.yaml -o json |
    jq -c .changes[].patch
`

type planFlags struct {
	sources sourceFlags
	output  string
}

type planOptions struct {
	streams Streams
	sources sources
	print   printer
}

func newPlanCommand(name string, streams Streams) *cobra.Command {
	var flags planFlags
	cmd := &cobra.Command{
		Use:     "plan -f FILE... [--live FILE...] [-o yaml|json]",
		Short:   "Print what the controller would do, as YAML or JSON",
		Long:    planLong,
		Example: examples(name, planExample),
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			options, err := flags.options(streams)
			if err != nil {
				return &usageError{cmd.CommandPath(), err}
			}
			return options.run()
		},
		DisableFlagsInUseLine: true,
	}
	flags.sources.add(cmd.Flags())
	cmd.Flags().StringVarP(&flags.output, "output", "o", "yaml", "format of what is printed: `yaml|json`")
	return cmd
}

func (f planFlags) options(streams Streams) (planOptions, error) {
	o := planOptions{streams: streams}
	var err error
	if o.sources, err = f.sources.options(streams); err != nil {
		return o, err
	}
	o.print, err = printerFor(f.output)
	return o, err
}

func (o planOptions) run() error {
	decisions, err := o.sources.decide(o.streams.Now())
	if err != nil {
		return err
	}
	views := make([]any, len(decisions))
	for i, d := range decisions {
		warn(o.streams.Err, d.notes())
		views[i] = d.View()
	}
	return o.print(o.streams.Out, views...)
}

func warn(w io.Writer, warnings []string) {
	for _, warning := range warnings {
		fmt.Fprintln(w, "warning: "+visible(warning))
	}
}
