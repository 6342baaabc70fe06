package cli

import (
	"context"
	"errors"

	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/observer"
)

// schemaDefaultOptions are the options to print default schemas.
type schemaDefaultOptions struct {
	streams   Streams
	manifests files.ManifestFlags
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
	contents := make([]map[string]any, len(objects))
	for i, object := range objects {
		contents[i] = observer.DefaultEntry(object).Typed(kinds.Builtin(object.GVK())).Raw()
	}
	return terminal.PrintObjects(o.streams.Out, contents...)
}
