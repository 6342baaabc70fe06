package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

const schemaDefaultLong = `Print the default observer schema of manifests: the one that a resource has for
which none is given. Every field of the manifest is held, and every list keeps its
length. It is a place to begin: take out the lines that others may write. No
cluster is asked.

Exit status:
  0  printed
  2  an error, also one in the flags or in the manifests`

const schemaDefaultExample = `
  # A schema to begin with
  PROGRAM schema default -f manifests.yaml > schema.yaml
`

type schemaDefaultFlags struct {
	files     []string
	recursive bool
	set       *pflag.FlagSet
}

type schemaDefaultOptions struct {
	streams Streams
	input   files.Input
	files   []string
}

func newSchemaDefaultCommand(name string, streams Streams) *cobra.Command {
	f := &schemaDefaultFlags{}
	return command{
		use: "default -f FILE...", short: "Print the default observer schema of manifests",
		long: schemaDefaultLong, example: schemaDefaultExample,
		args: noArguments, flags: f.add,
		options: func([]string) (runner, error) { return f.options(streams) },
	}.build(name)
}

func (f *schemaDefaultFlags) add(flags *pflag.FlagSet) {
	f.set = flags
	flags.StringSliceVarP(&f.files, "filename", "f", nil, "`FILE` with manifests, a directory, a URL, or - for standard input; may be given several times")
	flags.BoolVarP(&f.recursive, "recursive", "R", false, "with directories: what is below them, too")
}

func (f *schemaDefaultFlags) options(streams Streams) (runner, error) {
	o := schemaDefaultOptions{streams: streams, input: files.Input{In: streams.In, Recursive: f.recursive}, files: files.Once(f.files)}
	switch {
	case files.IsEmpty(f.set, "filename", f.files):
		return o, errors.New("-f takes the name of a file, and one of them is empty")
	case len(f.files) == 0:
		return o, errors.New("of which manifests? Give their files with -f")
	}
	return o, nil
}

func (o schemaDefaultOptions) run(ctx context.Context) error {
	documents, err := o.input.Read(ctx, o.files)
	if err != nil {
		return err
	}
	objects, err := normalized(documents)
	if err != nil {
		return err
	}
	var text []byte
	for i, object := range objects {
		if i > 0 {
			text = append(text, "---\n"...)
		}
		text = append(text, terminal.ObjectYAML(observer.DefaultEntry(object).Raw())...)
	}
	return terminal.Write(o.streams.Out, text)
}

// normalized reads documents as the manifests of an Application, each mistake in
// the file that it is in.
func normalized(documents []manifest.Document) ([]manifest.Object, error) {
	raw := make([]map[string]any, len(documents))
	for i, document := range documents {
		raw[i] = document.Value
	}
	objects, _, err := manifest.Normalize(raw, manifest.Options{Scopes: manifest.BuiltinScopes()})
	var all []error
	for _, fault := range terminal.Each(err) {
		var of *manifest.Fault
		if errors.As(fault, &of) && of.Position < len(documents) {
			fault = files.FaultAt(documents[of.Position], of.Path, fault.Error())
		}
		if fault != nil {
			all = append(all, fault)
		}
	}
	return objects, errors.Join(all...)
}
