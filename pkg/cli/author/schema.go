package author

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/pkg/cli/command"
	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/explain"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/observer"
)

const schemaLong = `Print or check an observer schema, which names the fields of resources that are held.

Without another flag, it prints the default schema of the manifests in -f, which
applies to a resource without a schema. It holds every field of the manifest. Start
with it, and remove the fields that other clients may write. -f can also name an
Application, which is used for its manifests.

-O checks a schema against the manifests. It reports every validation error with
file, line, column and field path. An unknown field is a warning, or an error with
--strict. With --cluster, the API server provides the fields of its kinds. To check
an entire Application, use "PROGRAM diff -f FILE".

--from-live proposes a schema for live objects, selected by KIND/NAME, by manifests,
or by labels. It contains the fields that users and their tools have written. It
omits known defaults, and fields that controllers and autoscalers write; a comment
names the writer. If -f names an Application, the output is that Application, with a
schema for each resource that has none. Check the result before you use it: it is
derived from metadata.managedFields.

--effective prints the schemas that apply to an Application: its own, those from
spec.fields, the default schemas, and the additions of hooks.`

const schemaExample = `
  # A schema to start with
  PROGRAM author schema -f manifests.yaml > schema.yaml

  # Does the schema fit its manifests, and does the cluster know all fields?
  PROGRAM author schema -f manifests.yaml -O schema.yaml --cluster

  # What to hold of a Deployment that an autoscaler scales, and of its Service
  PROGRAM author schema --from-live deploy/web svc/web > schema.yaml

  # Which fields do the paths of spec.fields select?
  PROGRAM author schema --effective -f application.yaml
`

// schemaFlags are the flags of all that `author schema` does with a schema.
//
//	flags        task                                     options of
//	-f           print the default schemas of manifests   schemaDefaultOptions
//	-f and -O    check a schema                           schemaValidateOptions
//	--from-live  propose schemas                          schemaSuggestOptions
//	--effective  print the schemas of an Application      schemaRenderOptions
type schemaFlags struct {
	// target contains the flags -f and -R for all tasks, and the connection.
	target connection.Target
	// live contains -l. The arguments are added to it later.
	live      connection.LiveFlags
	manifests files.ManifestFlags
	// check contains the flags of -O; the other fields select the other tasks.
	check schemaValidateOptions
	// They select a task; at most one of them and -O is given.
	fromLive, effective bool
}

// newSchemaCommand returns one command for four tasks. The flags of all tasks are registered together, so options
// must reject those of another task.
func newSchemaCommand(name string, streams terminal.Streams) *cobra.Command {
	f := &schemaFlags{target: connection.NewTarget()}
	return command.Spec{
		Use: "schema [-O FILE] -f FILE | --from-live | --effective", Short: "Print, propose or check an observer schema",
		Long: schemaLong, Example: schemaExample,
		Statuses: []string{"printed, or the schema is valid", "", "an error, also one in the flags, the schema or the manifests"},
		// The task decides which arguments are allowed, and options knows the task.
		Flags:   f.add,
		Options: func(args []string) (command.Run, error) { return f.options(streams, args) },
		Complete: func(ctx context.Context, args []string, typed string) []string {
			switch {
			case f.fromLive:
				return f.target.Connection.Objects(ctx, nil, typed)
			case f.effective:
				return f.target.Named(ctx, args, typed)
			}
			return nil
		},
		Connection: f.target.Connection,
	}.Build(name)
}

// add registers the flags of all tasks. The target registers -f for Applications, so the usage is replaced: here -f
// can also name manifests.
func (f *schemaFlags) add(flags *pflag.FlagSet) {
	f.target.Add(flags)
	f.manifests.AddKustomize(flags)
	f.check.schema.Add(flags, "observer-schema", "O", "observer schema to check")
	f.check.addStrict(flags)
	f.live.Add(flags)
	flags.BoolVar(&f.fromLive, "from-live", false, "propose a schema for live objects")
	flags.BoolVar(&f.effective, "effective", false, "print the schemas that apply to an Application")
	flags.Lookup("filename").Usage = "`FILE`: manifests or an Application: a file, a directory, a URL, or - for standard input; can be repeated"
}

// options returns the task that the flags select: to render, propose, check or print a schema. The
// flags of -f and -R belong to the target, so they are copied to the options of the other tasks first.
func (f *schemaFlags) options(streams terminal.Streams, args []string) (command.Run, error) {
	f.manifests.Use(f.target.Sources)
	f.check.schema.Recurse(f.target.Sources)
	checks := f.check.schema.Given()
	switch {
	case f.fromLive && f.effective, checks && (f.fromLive || f.effective):
		return nil, errors.New("-O, --from-live and --effective are different tasks: use one of them")
	case f.effective:
		return schemaRendering(f.target, streams, args)
	case f.fromLive:
		return (&schemaSuggestOptions{streams, f.target.Connection, f.live, f.manifests}).options(args)
	case f.live.Selector != "":
		return nil, errors.New("-l selects live objects: add --from-live")
	case len(args) > 0:
		return nil, fmt.Errorf("%q: for a live object, add --from-live; for an Application, add --effective; for manifests, use -f", args[0])
	case checks:
		o := &f.check
		o.streams, o.manifests, o.connection = streams, f.manifests, f.target.Connection
		err := o.check()
		return o.run, err
	}
	o := &schemaDefaultOptions{streams: streams, manifests: f.manifests}
	return o.run, errors.Join(f.check.schema.Check(), o.check())
}

// schemaDefaultOptions are the options to print default schemas.
type schemaDefaultOptions struct {
	streams   terminal.Streams
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

// schemaRenderOptions are the options to print the effective schemas of an Application. The next
// reconciliation writes them to status.mangledObserverSchema.
type schemaRenderOptions struct {
	streams terminal.Streams
	target  connection.Target
}

// schemaRendering returns the task for one Application.
func schemaRendering(target connection.Target, streams terminal.Streams, args []string) (command.Run, error) {
	rest, err := target.Parse(streams, args)
	if err == nil && len(rest) > 0 {
		err = connection.ErrNameAndFile
	}
	return schemaRenderOptions{streams, target}.run, err
}

// run prints the effective schemas, separated by ---.
func (o schemaRenderOptions) run(ctx context.Context) error {
	d, _, err := o.target.Decided(ctx)
	if err != nil {
		return err
	}
	if err := files.NotDecided(d); err != nil {
		return err
	}
	return terminal.PrintObjects(o.streams.Out, explain.Schemas(d.Plan)...)
}
