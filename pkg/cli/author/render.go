package author

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/pkg/builtin"
	"holdfast.dev/holdfast/pkg/cli/command"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/template"
)

const renderLong = `Print the objects that a built-in template renders from a custom resource.

It uses no cluster. It reads the custom resource from a file, validates it like the
API server, and renders it like the controller. With -o application it prints the
entire Application with its observer schema. The leaves of the schema are the word
"observed", so that any kubectl can apply it.`

const renderExample = `
  # The objects of a database
  PROGRAM author render -f mysql.yaml

  # The Application, and what the controller would do about it
  PROGRAM author render -f mysql.yaml -o application |
    PROGRAM diff -f -`

type renderOptions struct {
	streams terminal.Streams
	output  string
	sources files.Sources
	print   terminal.Printer
	// application is set to print Applications instead of their manifests.
	application bool
}

func newRenderCommand(name string, streams terminal.Streams) *cobra.Command {
	o := &renderOptions{streams: streams, print: terminal.PrintYAML}
	return command.Spec{
		Use:   "render -f FILE... [-o yaml|json|application]",
		Short: "Render a custom resource with its template",
		Long:  renderLong, Example: renderExample,
		Statuses: []string{"printed", "", "an error, also one in the flags or in the custom resource"},
		Args:     command.AtMost(0), Flags: o.add, Options: o.options,
		CompleteFlags: map[string]command.Completer{"output": command.OneOf("yaml", "json", "application")},
	}.Build(name)
}

func (o *renderOptions) add(flags *pflag.FlagSet) {
	// There are no live objects, so the flags of Sources are registered one by one.
	o.sources.Set = flags
	flags.StringSliceVarP(&o.sources.Files, "filename", "f", nil,
		"`FILE`: custom resources: a file, a directory, a URL, or - for standard input; can be repeated")
	flags.BoolVarP(&o.sources.Recursive, "recursive", "R", false, "with directories: also their subdirectories")
	flags.StringVarP(&o.sources.Namespace, "namespace", "n", "default",
		"`NAMESPACE`: namespace of custom resources that do not set one")
	flags.StringVarP(&o.output, "output", "o", "yaml", "`FORMAT`: the objects as yaml or json, or the application")
}

func (o *renderOptions) options([]string) (_ command.Run, err error) {
	if len(o.sources.Files) == 0 && !o.sources.Set.Changed("filename") {
		return nil, errors.New("no custom resource given: give its file with -f, or -f - for standard input")
	}
	o.application = o.output == "application"
	if err = o.sources.Check(o.streams); err == nil && !o.application {
		o.print, err = terminal.PrinterFor(o.output, "application")
	}
	return o.run, err
}

// run prints nothing if any custom resource is invalid. The error joins the validation errors of all of
// them.
func (o *renderOptions) run(ctx context.Context) error {
	documents, err := o.sources.Input.Read(ctx, o.sources.Files)
	if err != nil {
		return err
	}
	if len(documents) == 0 {
		return fmt.Errorf("there is no custom resource in %s", strings.Join(o.sources.Names(), ", "))
	}
	var all []any
	var faults []error
	for _, document := range documents {
		printed, err := o.render(document)
		all, faults = append(all, printed...), append(faults, err)
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	return o.print(o.streams.Out, all...)
}

// render returns the objects to print for one custom resource.
func (o *renderOptions) render(document manifest.Document) ([]any, error) {
	t, err := templateOf(document)
	if err != nil {
		return nil, err
	}
	object := inNamespace(document.Value, o.sources.Namespace)
	rendered, err := t.Render(template.Input{Object: object})
	faults := append(template.ValidationErrors(err), rendered.Unknown...)
	if len(faults) > 0 {
		return nil, faultsAt(document, faults)
	}
	if o.application {
		app, err := rendered.Application(object)
		if err != nil {
			return nil, err
		}
		content, err := files.ToObject(app)
		delete(content, "status") // a user would not write it
		return []any{content}, err
	}
	printed := make([]any, len(rendered.Manifests))
	for i, object := range rendered.Manifests {
		printed[i] = object
	}
	return printed, nil
}

// templateOf returns the template for the kind of a document. The version must be equal: a template renders one
// version of its kind.
func templateOf(document manifest.Document) (template.Template, error) {
	apiVersion, kind := manifest.NestedString(document.Value, "apiVersion"), manifest.NestedString(document.Value, "kind")
	var known []string
	for _, t := range builtin.Templates() {
		want := t.Kind()
		if apiVersion == want.GroupVersion().String() && kind == want.Kind {
			return t, nil
		}
		known = append(known, fmt.Sprintf("%s of %s", want.Kind, want.GroupVersion()))
	}
	return nil, files.FaultAt(document, nil, fmt.Sprintf("there is no template for kind %q of %q, only for %s", kind, apiVersion, strings.Join(known, ", ")))
}

// inNamespace sets the namespace of an object that does not name one, and returns the object. It changes the object.
// An empty namespace in the file counts as set: only a missing field or null gets the default.
func inNamespace(object map[string]any, namespace string) map[string]any {
	metadata, isMap := object["metadata"].(map[string]any)
	if !isMap || metadata["namespace"] != nil {
		return object
	}
	metadata["namespace"] = namespace
	return object
}

// faultsAt adds a line and column to each validation error.
func faultsAt(document manifest.Document, faults []*template.ValidationError) error {
	all := make([]error, len(faults))
	for i, fault := range faults {
		all[i] = files.FaultAt(document, fault.Path, fault.Error())
	}
	return errors.Join(all...)
}
