package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

const schemaDefaultLong = `Print the default observer schema of manifests, which applies to a resource without
a schema. It holds every field of the manifest. Start with it, and remove the fields
that other clients may write. The input can also be an Application, which is used
for its manifests. It uses no cluster.

--closed makes Holdfast remove what other clients add to maps with free keys, such
as the data of a ConfigMap, and to lists with keys, such as the containers. It
closes all of them except labels and annotations. --closed=PATH closes one, which
can be the labels. A list whose elements have no keys needs no closing.

Exit status:
  0  printed
  2  an error, also one in the flags or in the manifests`

const schemaDefaultExample = `
  # A schema to start with
  PROGRAM schema default -f manifests.yaml > schema.yaml

  # A schema that removes containers of other clients
  PROGRAM schema default -f web.yaml --closed=spec.template.spec.containers

  # A schema that removes labels of other clients
  PROGRAM schema default -f policy.yaml --closed=metadata.labels
`

type schemaDefaultOptions struct {
	streams   Streams
	manifests files.ManifestFlags
	closed    []string
}

// everyMap is the value of --closed without a path.
const everyMap = "*"

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
			flags.StringArrayVar(&o.closed, "closed", nil, "close all maps with free keys and lists with keys, or the one at `PATH`; can be repeated")
			flags.Lookup("closed").NoOptDefVal = everyMap
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
	entries := make([]*observer.Schema, len(objects))
	for i, object := range objects {
		entries[i] = observer.DefaultEntry(object).Typed(kinds.Builtin(object.GVK()))
	}
	for _, path := range o.closed {
		if err := closeMaps(entries, objects, path); err != nil {
			return err
		}
	}
	var text []byte
	for i, entry := range entries {
		if i > 0 {
			text = append(text, "---\n"...)
		}
		text = append(text, terminal.ObjectYAML(entry.Raw())...)
	}
	return terminal.Write(o.streams.Out, text)
}

// closeMaps closes the map or list at a path, or all maps with free keys and lists with keys.
func closeMaps(entries []*observer.Schema, objects []manifest.Object, path string) error {
	at, err := observer.ParsePath(path)
	if path != everyMap && err != nil {
		return err
	}
	anywhere := path == everyMap
	for i, entry := range entries {
		if path == everyMap {
			entries[i] = entry.Closed(kinds.Builtin(objects[i].GVK()))
			continue
		}
		closed, found := entry.ClosedAt(at)
		entries[i], anywhere = closed, anywhere || found
	}
	if !anywhere {
		return fmt.Errorf("no manifest has a map, or a list with keys, at %s", path)
	}
	return nil
}
