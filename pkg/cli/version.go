package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/internal/version"
)

const versionLong = `Print which version of Holdfast this is.

Exit status:
  0  printed
  2  an error, also one in the flags`

const versionExample = `
  # What to write into a bug report
  PROGRAM version -o yaml
`

type versionFlags struct {
	output string
}

type versionOptions struct {
	streams Streams
	print   printer // nil: for people
}

// Versions is what `version -o json` prints.
type Versions struct {
	Client Build `json:"client" yaml:"client"`
}

// Build says how a program was built.
type Build struct {
	Version   string `json:"version" yaml:"version"`
	GoVersion string `json:"goVersion" yaml:"goVersion"`
	Platform  string `json:"platform" yaml:"platform"`
}

func newVersionCommand(name string, streams Streams) *cobra.Command {
	var flags versionFlags
	cmd := &cobra.Command{
		Use:     "version [-o yaml|json]",
		Short:   "Print which version this is",
		Long:    versionLong,
		Example: examples(name, versionExample),
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
	cmd.Flags().StringVarP(&flags.output, "output", "o", "", "print for programs: `yaml|json`")
	return cmd
}

func (f versionFlags) options(streams Streams) (versionOptions, error) {
	o := versionOptions{streams: streams}
	if f.output == "" {
		return o, nil
	}
	var err error
	o.print, err = printerFor(f.output)
	return o, err
}

func (o versionOptions) run() error {
	versions := Versions{Client: Build{
		Version: version.String(), GoVersion: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}}
	if o.print != nil {
		return o.print(o.streams.Out, versions)
	}
	client := versions.Client
	_, err := fmt.Fprintf(o.streams.Out, "Client: %s (%s, %s)\n", client.Version, client.GoVersion, client.Platform)
	return err
}
