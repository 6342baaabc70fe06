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

// schemaDefaultOptions are the options to print default schemas. closed has the values of --closed: field paths, or
// everyMap.
type schemaDefaultOptions struct {
	streams   Streams
	manifests files.ManifestFlags
	closed    []string
}

// everyMap is the value of --closed without a path.
const everyMap = "*"

// newSchemaDefaultCommand returns the former name of `author schema -f`.
func newSchemaDefaultCommand(name string, streams Streams) *cobra.Command {
	o := &schemaDefaultOptions{streams: streams}
	return command{
		use: "default -f FILE...", instead: "author schema -f FILE",
		args: noArguments,
		flags: func(flags *pflag.FlagSet) {
			o.manifests.Add(flags, "filename", "f", "manifests or an Application")
			o.manifests.AddKustomize(flags)
			files.AddRecursive(flags, &o.manifests)
			addClosed(flags, &o.closed)
		},
		options: func([]string) (runner, error) {
			err := o.check()
			return o, err
		},
	}.build(name)
}

// addClosed registers --closed, whose value is optional.
func addClosed(flags *pflag.FlagSet, closed *[]string) {
	flags.StringArrayVar(closed, "closed", nil, "`PATH`: close the map or list at this path, or all that other clients extend; can be repeated")
	flags.Lookup("closed").NoOptDefVal = everyMap
}

// check returns an error if no manifests are given.
func (o *schemaDefaultOptions) check() error {
	if err := o.manifests.Check(); err != nil || o.manifests.Given() {
		return err
	}
	return errors.New("no manifests given: give their files with -f, or a kustomization with -k")
}

// run prints the default schema of each manifest. It knows the list types of the built-in kinds only. The default
// schema of the controller can differ for custom kinds, whose lists may have keys.
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
	contents := make([]map[string]any, len(entries))
	for i, entry := range entries {
		contents[i] = entry.Raw()
	}
	return terminal.PrintObjects(o.streams.Out, contents...)
}

// closeMaps closes the map or list at a path, or all maps with free keys and lists with keys. It replaces elements
// of entries, which belong to the objects at the same index. A path closes the map in all manifests that have it. It
// is an error if none has it, because a mistyped path would otherwise have no effect.
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
