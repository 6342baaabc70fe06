package author

import (
	"bytes"
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/pkg/cli/command"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/tosca"
)

const translateLong = `Translate a TOSCA template or a CSAR archive, and print the manifests.

It uses no cluster. The content of FILE decides whether it is a template or an
archive (zip, tar, tar.gz). A template can import files from its directory and from
subdirectories; --root allows a higher directory. URLs, also those of imports, must
begin with https:// and have a public address; --allow-url-network allows private
networks. Manifests are printed with the values of Secrets, in the order of the
requirements in the template. Warnings and the outputs of the template are written
to standard error. docs/tosca.md lists the supported features.`

const translateExample = `
  # The manifests of a template, with a value for one of its inputs
  PROGRAM author translate shop.yaml --input replicas=3

  # The manifests of an archive, as a List for programs
  PROGRAM author translate shop.csar --inputs inputs.yaml -o json

  # The text of each node before it is read as YAML
  PROGRAM author translate shop.yaml --raw --input replicas=3
`

type translateOptions struct {
	streams  terminal.Streams
	template toscaOptions
	output   string
	raw      bool
	file     string
}

func newTranslateCommand(name string, streams terminal.Streams) *cobra.Command {
	o := &translateOptions{streams: streams}
	return command.Spec{
		Use: "translate FILE|URL|- [--input NAME=VALUE]...", Short: "Translate a TOSCA template or CSAR into manifests",
		Long: translateLong, Example: translateExample,
		Statuses: []string{"printed", "", "an error, also one in the flags or in the template"},
		Args:     command.Exactly("FILE"), TakesFiles: true, Flags: o.add, Options: o.options,
	}.Build(name)
}

func (o *translateOptions) add(flags *pflag.FlagSet) {
	o.template.add(flags)
	flags.StringVarP(&o.output, "output", "o", "yaml", "`yaml|json`: output format; json is a List")
	flags.BoolVar(&o.raw, "raw", false, "print the unparsed text of each node, to find errors in templates")
}

func (o *translateOptions) options(args []string) (_ command.Run, err error) {
	o.file = args[0]
	if _, err = terminal.PrinterFor(o.output); err == nil {
		err = o.template.parse(o.streams.In, o.raw)
	}
	return o.run, err
}

// run prints warnings also if the translation fails.
func (o *translateOptions) run(ctx context.Context) error {
	result, err := o.template.translate(ctx, o.file, tosca.Translate)
	terminal.Warn(o.streams.Err, warningTexts(result.Warnings)...)
	if err != nil {
		return err
	}
	if err := o.print(result); err != nil {
		return err
	}
	// The standard output contains the manifests.
	for _, output := range result.Outputs {
		fmt.Fprintln(o.streams.Err, terminal.Visible("output "+output.Name+": "+outputText(output)))
	}
	return nil
}

// print ignores -o with --raw, because the text of a node need not be YAML. Secrets are printed with their values:
// the output is for kubectl apply.
func (o *translateOptions) print(result tosca.Result) error {
	if o.raw {
		return terminal.Write(o.streams.Out, rawTexts(result.Texts))
	}
	if o.output == "json" {
		items := result.Objects
		if items == nil {
			items = []map[string]any{} // the items of a List must not be null
		}
		return terminal.PrintJSON(o.streams.Out, map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	}
	return terminal.PrintObjects(o.streams.Out, result.Objects...)
}

// rawTexts returns the texts of nodes, each below a line that names its node.
//
//	# web, line 12
//	apiVersion: v1
//	...
func rawTexts(texts []tosca.Text) []byte {
	var all bytes.Buffer
	for _, text := range texts {
		fmt.Fprintf(&all, "# %s, line %d\n%s", text.Node, text.Line, text.Text)
		if !bytes.HasSuffix(all.Bytes(), []byte("\n")) {
			all.WriteByte('\n')
		}
	}
	return all.Bytes()
}

// outputText returns the value of an output, or why there is none.
//
//	state of the output  text
//	Available            its value, for example 80 or "a: b"
//	Hidden               (hidden, because it depends on a sensitive input)
//	any other            (not available before it runs)
func outputText(output tosca.Output) string {
	switch output.State {
	case tosca.Available:
		if line, ok := terminal.Inline(delta.NewValue(output.Value)); ok {
			return line
		}
		return fmt.Sprintf("%q", output.Value)
	case tosca.Hidden:
		return "(hidden, because it depends on a sensitive input)"
	default:
		return "(not available before it runs)"
	}
}

// warningTexts returns the warnings as strings.
func warningTexts(warnings []tosca.Warning) []string {
	texts := make([]string, len(warnings))
	for i, warning := range warnings {
		texts[i] = warning.Error()
	}
	return texts
}
