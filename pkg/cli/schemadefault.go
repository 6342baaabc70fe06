package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/observer"
)

const schemaDefaultLong = `Print the default observer schema of manifests: the one that a resource has for
which none is given. Every field of the manifest is held, and every list keeps its
length. It is a place to begin: take out the lines that others may write. An
Application stands for its manifests. No cluster is asked.

Exit status:
  0  printed
  2  an error, also one in the flags or in the manifests`

const schemaDefaultExample = `
  # A schema to begin with
  PROGRAM schema default -f manifests.yaml > schema.yaml
`

type schemaDefaultOptions struct {
	streams   Streams
	manifests files.ManifestFlags
}

func newSchemaDefaultCommand(name string, streams Streams) *cobra.Command {
	o := &schemaDefaultOptions{streams: streams}
	return command{
		use: "default -f FILE...", short: "Print the default observer schema of manifests",
		long: schemaDefaultLong, example: schemaDefaultExample,
		args: noArguments,
		flags: func(flags *pflag.FlagSet) {
			o.manifests.Add(flags, "filename", "f", "manifests or an Application")
			o.manifests.AddKustomize(flags)
			files.AddRecursive(flags, &o.manifests)
		},
		options: func([]string) (runner, error) {
			err := o.check()
			return o, err
		},
	}.build(name)
}

func (o *schemaDefaultOptions) check() error {
	if err := o.manifests.Check(); err != nil || o.manifests.Given() {
		return err
	}
	return errors.New("no manifests given: give their files with -f, or a kustomization with -k")
}

func (o *schemaDefaultOptions) run(ctx context.Context) error {
	documents, err := o.manifests.Read(ctx, files.Input{In: o.streams.In})
	if err != nil {
		return err
	}
	objects, err := files.Normalized(documents)
	if err != nil {
		return err
	}
	var text []byte
	for i, object := range objects {
		if i > 0 {
			text = append(text, "---\n"...)
		}
		text = append(text, terminal.ObjectYAML(observer.DefaultEntry(object).Typed(kinds.Builtin(object.GVK())).Raw())...)
	}
	return terminal.Write(o.streams.Out, text)
}
