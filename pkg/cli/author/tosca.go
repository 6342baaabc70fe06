package author

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/pkg/cli/command"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/tosca"
)

const toscaValidateLong = `Find the errors of TOSCA templates and CSAR archives. A template is translated as by
"PROGRAM author translate", without a cluster. Inputs need no values; those that are
given are checked. Each error is printed with its file, line, column and path; -o is
for programs and adds its code. Warnings are about parts without effect.`

const toscaValidateExample = `
  # Check a template and an archive
  PROGRAM author tosca shop.yaml shop.csar

  # Check with values for the inputs
  PROGRAM author tosca shop.yaml --inputs inputs.yaml

  # Print the errors for an editor or a script
  PROGRAM author tosca shop.yaml -o json
`

type toscaValidateOptions struct {
	streams  terminal.Streams
	template toscaOptions
	output   string
	files    []string
	print    terminal.Printer // nil: text output
}

func newTOSCACommand(name string, streams terminal.Streams) *cobra.Command {
	o := &toscaValidateOptions{streams: streams}
	return command.Spec{
		Use: "tosca FILE|URL|-...", Short: "Find the errors of templates and archives",
		Long: toscaValidateLong, Example: toscaValidateExample,
		Statuses: []string{"no errors, perhaps warnings", "", "errors, also in the flags or files"},
		Args:     command.AtLeast("FILE"), TakesFiles: true, Flags: o.add, Options: o.options,
	}.Build(name)
}

func (o *toscaValidateOptions) add(flags *pflag.FlagSet) {
	o.template.add(flags)
	flags.StringVarP(&o.output, "output", "o", "", "`yaml|json`: print for programs")
}

func (o *toscaValidateOptions) options(args []string) (_ command.Run, err error) {
	o.files = files.Unique(args)
	if o.print, err = terminal.OptionalPrinter(o.output); err == nil {
		err = o.template.parse(o.streams.In, false)
	}
	return o.run, err
}

// finding is a validation error or a warning, as `author tosca -o json` prints it. Line and Column begin with 1; 0
// means that the position is unknown. Code identifies the kind of error.
type finding struct {
	Severity string `json:"severity" yaml:"severity"` // error, warning
	File     string `json:"file" yaml:"file"`
	Line     int    `json:"line,omitempty" yaml:"line,omitempty"`
	Column   int    `json:"column,omitempty" yaml:"column,omitempty"`
	Path     string `json:"path,omitempty" yaml:"path,omitempty"`
	Code     string `json:"code,omitempty" yaml:"code,omitempty"`
	Message  string `json:"message" yaml:"message"`
}

// findingOf returns a validation error or a warning for programs.
func findingOf(severity string, e tosca.Error) finding {
	return finding{severity, e.File, e.Line, e.Col, e.Path, string(e.Code), e.Msg}
}

// run checks all files, also after one with errors. It stops at a file that it cannot read.
//
//	-o    standard output           standard error      status with errors
//	no    "FILE: no errors"         warnings, errors    2
//	yes   a list of findings        nothing             2
func (o *toscaValidateOptions) run(ctx context.Context) error {
	findings, faults := []finding{}, []error(nil)
	for _, file := range o.files {
		result, err := o.template.translate(ctx, file, tosca.Validate)
		mistakes := tosca.Errors(err)
		if err != nil && len(mistakes) == 0 {
			return err // the file cannot be read, or ctx has ended
		}
		for _, warning := range result.Warnings {
			findings = append(findings, findingOf("warning", warning))
		}
		for _, mistake := range mistakes {
			findings = append(findings, findingOf("error", *mistake))
			faults = append(faults, mistake)
		}
		if o.print != nil {
			continue
		}
		terminal.Warn(o.streams.Err, warningTexts(result.Warnings)...)
		if err == nil {
			fmt.Fprintln(o.streams.Out, terminal.Visible(file)+": no errors")
		}
	}
	if o.print == nil {
		return errors.Join(faults...)
	}
	if err := o.print(o.streams.Out, findings); err != nil || len(faults) == 0 {
		return err
	}
	return &terminal.Exit{Status: terminal.StatusFailed}
}
