package author

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// schemaValidateOptions are the options to check schemas. schema and manifests are the flags -O and -f.
type schemaValidateOptions struct {
	streams           terminal.Streams
	schema, manifests files.ManifestFlags
	strict, cluster   bool
	connection        connection.Flags
}

// addStrict registers the flags about the fields of kinds.
func (o *schemaValidateOptions) addStrict(flags *pflag.FlagSet) {
	flags.BoolVar(&o.strict, "strict", false, "treat unknown fields as errors")
	flags.BoolVar(&o.cluster, "cluster", false, "get the fields of the kinds from the API server")
}

// check returns an error if the files are not given.
func (o *schemaValidateOptions) check() error {
	if err := errors.Join(o.schema.Check(), o.manifests.Check()); err != nil {
		return err
	}
	switch {
	case !o.manifests.Given():
		return errors.New("no manifests given: give their files with -f, or a kustomization with -k")
	case o.schema.FromStdin() && o.manifests.FromStdin():
		return errors.New("standard input can be read only once: give a file to -O or -f")
	}
	return nil
}

// run validates the schemas as the controller would, without an Application. Unknown fields are warnings unless strict
// is set.
//
//  1. parse the manifests and the schemas; null leaves are valid in files
//  2. assign each schema to its manifest
//  3. report all errors of both at once; nothing is printed to the standard output
//  4. compare the fields with the types of the kinds
func (o *schemaValidateOptions) run(ctx context.Context) error {
	in := files.Input{In: o.streams.In}
	schemas, err := o.schema.Read(ctx, in)
	manifests, manifestErr := o.manifests.Read(ctx, in)
	if err = errors.Join(err, manifestErr); err != nil {
		return err
	}
	objects, err := files.Normalized(manifests)
	raw := make([]map[string]any, len(schemas))
	for i, document := range schemas {
		raw[i] = observer.ReplaceNulls(document.Value)
	}
	// All validation errors are collected: of the manifests, of the schemas, and of their assignment.
	entries, schemaErr := observer.ParseAll(raw)
	assigned, unfit := observer.Assign(entries, objects)
	for _, fault := range terminal.Each(unfit) {
		if of, is := errors.AsType[*observer.ValidationError](fault); err == nil || is && of.Path != "" {
			schemaErr = errors.Join(schemaErr, fault) // the object of an invalid manifest is unknown
		}
	}
	if err = errors.Join(err, inSchemas(schemas, schemaErr)); err != nil {
		return err
	}
	known, err := o.kinds(ctx, objects)
	if err != nil {
		return err
	}
	misspelt := inSchemas(schemas, errors.Join(intent.UnknownFields(objects, assigned, known, nil)...))
	if misspelt != nil && o.strict {
		return misspelt
	}
	if misspelt != nil {
		terminal.Warn(o.streams.Err, strings.Split(misspelt.Error(), "\n")...)
	}
	_, err = fmt.Fprintf(o.streams.Out, "%s for %s: no errors\n", entriesText(len(entries)), terminal.Plural(len(objects), "manifest"))
	return err
}

// kinds returns the known kinds for the manifests.
func (o *schemaValidateOptions) kinds(ctx context.Context, objects []manifest.Object) (intent.Kinds, error) {
	if !o.cluster {
		return files.KindsIn(objects), nil
	}
	c, err := o.connection.Connect()
	if err != nil {
		return nil, err
	}
	return c.Kinds.KindsOf(ctx, objects)
}

// entriesText returns a number of schemas, because the plural of "entry" is irregular.
func entriesText(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

// inSchemas adds the file and the position to each validation error of a schema, and sorts the errors by
// schema. Other errors are first, and unchanged.
//
//	schema.yaml:4:5: spec.replcas: unknown field: did you mean replicas?
func inSchemas(documents []manifest.Document, err error) error {
	if err == nil {
		return nil
	}
	faults := terminal.Each(err)
	slices.SortStableFunc(faults, func(a, b error) int { return cmp.Compare(entryIn(a), entryIn(b)) })
	for i, fault := range faults {
		if of, is := errors.AsType[*observer.ValidationError](fault); is && of.Entry < len(documents) {
			faults[i] = files.FaultAt(documents[of.Entry], files.ParsePath(of.Path), fault.Error())
		}
	}
	return errors.Join(faults...)
}

// entryIn returns the index of the schema that a validation error belongs to, or -1.
func entryIn(err error) int {
	if of, is := errors.AsType[*observer.ValidationError](err); is {
		return of.Entry
	}
	return -1
}
