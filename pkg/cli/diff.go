package cli

import (
	"bytes"
	"slices"

	"github.com/spf13/cobra"
)

const diffLong = `Show what differs between an Application and the live objects, for people.

No cluster is asked. The Application is read from a file, with its status if the
file has one, and so are the live objects. For each resource that differs it
says what the controller would do and, for each field, which value would become
which. Fields that the Application does not hold may differ and are not shown.
Of Secrets it shows that a value differs, never the value.

  + create     the object is not there
  ~ correct    held fields differ, each as FIELD: live value → desired value
  - delete     the Application no longer has the object
  ~ orphan     the Application goes, and the object stays without its marks
  ! blocked    the object cannot be brought to its desired state, and why
  ! contested  somebody keeps changing a field back, so its correction waits

` + sourcesLong + `

Exit status:
  0  no difference
  1  something differs
  2  an error, also one in the flags or in the Application`

const diffExample = `
  # What would be created
  PROGRAM diff -f application.yaml

  # What differs from these live objects
  PROGRAM diff -f application.yaml --live live.yaml

  # What differs from what a cluster has now
  kubectl get deployments,services -o yaml |
    PROGRAM diff -f application.yaml --live -

  # In a script: is everything in place?
  PROGRAM diff -f application.yaml --live live.yaml >/dev/null ||
    echo "no: status $?"
`

type diffFlags struct {
	sources sourceFlags
	color   string
}

type diffOptions struct {
	streams Streams
	sources sources
	palette palette
	width   int
}

func newDiffCommand(name string, streams Streams) *cobra.Command {
	var flags diffFlags
	cmd := &cobra.Command{
		Use:     "diff -f FILE... [--live FILE...]",
		Short:   "Show what differs, field by field",
		Long:    diffLong,
		Example: examples(name, diffExample),
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
	cmd.Flags().StringVar(&flags.color, "color", "auto", "use colours: `auto|always|never`; auto is on a terminal, unless NO_COLOR is set")
	return cmd
}

func (f diffFlags) options(streams Streams) (diffOptions, error) {
	o := diffOptions{streams: streams, width: width(streams.Out)}
	var err error
	if o.sources, err = f.sources.options(streams); err != nil {
		return o, err
	}
	o.palette, err = paletteFor(f.color, streams)
	return o, err
}

func (o diffOptions) run() error {
	decisions, err := o.sources.decide(o.streams.Now())
	if err != nil {
		return err
	}
	var text bytes.Buffer
	different := false
	for i, d := range decisions {
		warn(o.streams.Err, slices.Concat(d.Warnings, d.notes()))
		if i > 0 {
			text.WriteByte('\n')
		}
		t := &differences{decided: d, palette: o.palette, width: o.width, out: &text}
		t.write()
		different = different || t.count.differs()
	}
	if err := write(o.streams.Out, text.Bytes()); err != nil {
		return err
	}
	if different {
		return &Exit{Status: statusDifferent}
	}
	return nil
}
