package cli

import (
	"bytes"
	"context"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/terminal"
)

const schemaRenderLong = `Print the effective observer schema of an Application: its own schemas, those from
spec.fields, the default schemas, and the additions of hooks. It is the value of
status.mangledObserverSchema.

Exit status:
  0  printed
  2  an error, also one in the flags or in the Application`

const schemaRenderExample = `
  # Which fields do the paths of spec.fields select?
  PROGRAM schema render -f application.yaml
`

type schemaRenderOptions struct {
	streams Streams
	target  connection.Target
}

func newSchemaRenderCommand(name string, streams Streams) *cobra.Command {
	f := connection.NewTargetFlags()
	return command{
		use: "render NAME | -f FILE...", short: "Print the effective observer schema of an Application",
		long: schemaRenderLong, example: schemaRenderExample,
		args: atMost(1), flags: f.Add,
		options: func(args []string) (runner, error) {
			target, rest, err := f.Options(streams, args)
			if err == nil && len(rest) > 0 {
				err = connection.ErrNameAndFile
			}
			return schemaRenderOptions{streams, target}, err
		},
		complete:   f.Named,
		connection: f.Connection,
	}.build(name)
}

func (o schemaRenderOptions) run(ctx context.Context) error {
	d, _, err := o.target.Decided(ctx)
	if err != nil {
		return err
	}
	if err := files.NotDecided(d); err != nil {
		return err
	}
	var text bytes.Buffer
	for i, entry := range d.View().Status.MangledObserverSchema {
		if i > 0 {
			text.WriteString("---\n")
		}
		if object, ok := entry.(map[string]any); ok {
			text.WriteString(terminal.ObjectYAML(object))
		}
	}
	return terminal.Write(o.streams.Out, text.Bytes())
}
