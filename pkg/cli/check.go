package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/terminal"
)

const checkLong = `Check whether a cluster and a namespace are ready for Applications: the version of
Kubernetes, the CRDs, the controller and when it was last active, its rights, the
admission policy, your rights, and the ServiceAccounts whose rights are used. A
remedy contains the command for the way in which Holdfast is installed: holdfast
install, kubectl or Helm.

It reads everything with your rights, and changes nothing. If you may not read an
object, the result is unknown, which is not a failure.

Exit status:
  0  no check failed
  1  a check failed; the output contains the remedy
  2  an error, also one in the flags`

const checkExample = `
  # Is the cluster ready for Applications in the namespace shop?
  PROGRAM check -n shop

  # In a script, before Applications are submitted
  PROGRAM check -n shop >/dev/null || exit 1
`

type checkFlags struct {
	connection connection.Flags
	output     string
}

type checkOptions struct {
	checkFlags
	streams Streams
	print   terminal.Printer // nil: text output
}

// The results of a check.
const (
	checkOK      = "ok"
	checkFailed  = "failed"
	checkUnknown = "unknown"
)

// CheckResult is the result of a check, as `check -o json` prints it.
type CheckResult struct {
	Check   string `json:"check" yaml:"check"`
	Result  string `json:"result" yaml:"result"`
	Message string `json:"message" yaml:"message"`
	// Remedy describes how to fix a failed check.
	Remedy string `json:"remedy,omitempty" yaml:"remedy,omitempty"`
}

func newCheckCommand(name string, streams Streams) *cobra.Command {
	f := &checkFlags{connection: connection.NewFlags()}
	return command{
		use: "check", short: "Check whether a cluster is ready for Applications",
		long: checkLong, example: checkExample,
		args: noArguments, flags: f.add,
		options:    func([]string) (runner, error) { return f.options(streams) },
		connection: f.connection,
	}.build(name)
}

func (f *checkFlags) add(flags *pflag.FlagSet) {
	flags.StringVarP(&f.output, "output", "o", "", "`yaml|json`: print for programs")
	f.connection.Add(flags)
}

func (f *checkFlags) options(streams Streams) (runner, error) {
	o := checkOptions{checkFlags: *f, streams: streams}
	if f.output == "" {
		return o, nil
	}
	var err error
	o.print, err = terminal.PrinterFor(f.output)
	return o, err
}

func (o checkOptions) run(ctx context.Context) error {
	c, err := o.connection.Connect()
	if err != nil {
		return err
	}
	findings, err := checker{Cluster: c, now: o.streams.Now()}.all(ctx)
	if err != nil {
		return err
	}
	if err := o.show(findings); err != nil {
		return err
	}
	for _, finding := range findings {
		if finding.Result == checkFailed {
			return &terminal.Exit{Status: terminal.StatusDifferent}
		}
	}
	return nil
}

func (o checkOptions) show(findings []CheckResult) error {
	if o.print != nil {
		return o.print(o.streams.Out, struct {
			Checks []CheckResult `json:"checks" yaml:"checks"`
		}{findings})
	}
	rows := [][]string{{"CHECK", "RESULT", ""}}
	var remedies []string
	for _, f := range findings {
		rows = append(rows, []string{f.Check, f.Result, f.Message})
		if f.Remedy != "" {
			remedies = append(remedies, f.Remedy)
		}
	}
	text := ""
	for _, line := range terminal.Aligned(rows) {
		text += line + "\n"
	}
	for i, remedy := range remedies {
		if i == 0 {
			text += "\nWhat to do\n"
		}
		for k, line := range terminal.Wrap(remedy, terminal.PlainWidth-4) {
			text += fmt.Sprintf("  %s %s\n", map[bool]string{true: "-", false: " "}[k == 0], line)
		}
	}
	return terminal.Write(o.streams.Out, []byte(text))
}
