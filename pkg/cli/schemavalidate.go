package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

const schemaValidateLong = `Check an observer schema, by itself and against the manifests that it is for. Every
mistake is told at once, with its file, line, column and the path of its field. No
cluster is asked. An Application is checked as a whole by "PROGRAM plan -f FILE".

Exit status:
  0  the schema can be used
  2  it cannot; or an error in the flags or in the files`

const schemaValidateExample = `
  # Does the schema fit its manifests?
  PROGRAM schema validate -f schema.yaml -m manifests.yaml
`

type schemaValidateFlags struct {
	schemas, manifests []string
	recursive          bool
	set                *pflag.FlagSet
}

type schemaValidateOptions struct {
	streams            Streams
	input              files.Input
	schemas, manifests []string
}

func newSchemaValidateCommand(name string, streams Streams) *cobra.Command {
	f := &schemaValidateFlags{}
	return command{
		use: "validate -f SCHEMA... -m MANIFEST...", short: "Find all mistakes of an observer schema",
		long: schemaValidateLong, example: schemaValidateExample,
		args: noArguments, flags: f.add,
		options: func([]string) (runner, error) { return f.options(streams) },
	}.build(name)
}

func (f *schemaValidateFlags) add(flags *pflag.FlagSet) {
	f.set = flags
	flags.StringSliceVarP(&f.schemas, "filename", "f", nil, "`FILE` with entries of an observer schema, a directory, a URL, or - for standard input")
	flags.StringSliceVarP(&f.manifests, "manifest", "m", nil, "`FILE` with the manifests that they are for, a directory, a URL, or -")
	flags.BoolVarP(&f.recursive, "recursive", "R", false, "with directories: what is below them, too")
}

func (f *schemaValidateFlags) options(streams Streams) (runner, error) {
	o := schemaValidateOptions{
		streams: streams, input: files.Input{In: streams.In, Recursive: f.recursive},
		schemas: files.Once(f.schemas), manifests: files.Once(f.manifests),
	}
	switch {
	case files.IsEmpty(f.set, "filename", f.schemas), files.IsEmpty(f.set, "manifest", f.manifests):
		return o, errors.New("-f and -m take the name of a file, and one of them is empty")
	case len(f.schemas) == 0:
		return o, errors.New("which observer schema? Give its file with -f")
	case len(f.manifests) == 0:
		return o, errors.New("for which manifests? Give their files with -m")
	}
	return o, nil
}

func (o schemaValidateOptions) run(ctx context.Context) error {
	schemas, err := o.input.Read(ctx, o.schemas)
	manifests, manifestErr := o.input.Read(ctx, o.manifests)
	if err = errors.Join(err, manifestErr); err != nil {
		return err
	}
	objects, err := normalized(manifests)
	raw := make([]map[string]any, len(schemas))
	for i, document := range schemas {
		raw[i] = document.Value
	}
	entries, schemaErr := observer.ParseAll(raw)
	if schemaErr == nil && err == nil {
		_, schemaErr = observer.Assign(entries, objects)
	}
	if err = errors.Join(err, inSchemas(schemas, schemaErr)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.streams.Out, "%s for %s: no mistakes\n", entriesText(len(entries)), terminal.Plural(len(objects), "manifest"))
	return err
}

func entriesText(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

// inSchemas says of each mistake in which file it is, and where.
func inSchemas(documents []manifest.Document, err error) error {
	if err == nil {
		return nil
	}
	var all []error
	for _, fault := range terminal.Each(err) {
		var of *observer.Fault
		if errors.As(fault, &of) && of.Entry < len(documents) {
			fault = files.FaultAt(documents[of.Entry], files.ParsePath(of.Path), fault.Error())
		}
		all = append(all, fault)
	}
	return errors.Join(all...)
}
