package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/report"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/plan"
)

const schemaSuggestLong = `Propose an observer schema for live objects, also without an Application. It contains
the fields that users and their tools have written. It omits known defaults, and
fields that controllers and autoscalers write; a comment names the writer. Select
objects by KIND/NAME, by manifests in files, or by labels; with labels, objects that
another object controls are omitted. If a file contains an Application, the output
is that Application, with a schema for each resource that has none. Check the result
before you use it: it is derived from metadata.managedFields.

Exit status:
  0  printed
  2  an error, also one in the flags`

const schemaSuggestExample = `
  # What to hold of a Deployment that an autoscaler scales
  PROGRAM schema suggest deployment/web > schema.yaml

  # Also for its Service
  PROGRAM schema suggest deployment/web service/web > schema.yaml

  # For all objects that kubectl has applied from a directory
  PROGRAM schema suggest -f manifests/ > schema.yaml

  # For all objects with a label
  PROGRAM schema suggest -l app=web > schema.yaml
`

type schemaSuggestFlags struct {
	connection connection.Flags
	live       connection.LiveFlags
	manifests  files.ManifestFlags
}

type schemaSuggestOptions struct {
	schemaSuggestFlags
	streams Streams
}

func newSchemaSuggestCommand(name string, streams Streams) *cobra.Command {
	f := &schemaSuggestFlags{connection: connection.NewFlags()}
	return command{
		use: "suggest (KIND/NAME... | -f FILE... | -l LABELS)", short: "Propose an observer schema from live objects",
		long: schemaSuggestLong, example: schemaSuggestExample,
		args: func(*cobra.Command, []string) error { return nil },
		flags: func(flags *pflag.FlagSet) {
			f.manifests.Add(flags, "filename", "f", "manifests of existing objects, or an Application")
			f.manifests.AddKustomize(flags)
			files.AddRecursive(flags, &f.manifests)
			f.live.Add(flags)
			f.connection.Add(flags)
		},
		options: func(args []string) (runner, error) {
			o := schemaSuggestOptions{schemaSuggestFlags: *f, streams: streams}
			if err := errors.Join(o.manifests.Check(), o.live.Named(args)); err != nil {
				return o, err
			}
			if !o.live.Given() && !o.manifests.Given() {
				return o, errors.New("no object given: give KIND/NAME, for example deployment/web, files with -f, or labels with -l")
			}
			return o, nil
		},
		complete: func(ctx context.Context, _ []string, typed string) []string {
			return f.connection.Objects(ctx, nil, typed)
		},
		connection: f.connection,
	}.build(name)
}

// run prints nothing if a schema cannot be made, because the default schema would apply instead.
func (o schemaSuggestOptions) run(ctx context.Context) error {
	documents, err := o.manifests.Read(ctx, files.Input{In: o.streams.In})
	if err != nil {
		return err
	}
	c, err := o.connection.Connect()
	if err != nil {
		return err
	}
	app, err := files.TheApplication(documents)
	if err != nil {
		return err
	}
	if app != nil && o.live.Given() {
		return errors.New("the file is an Application, so schemas are proposed for its own resources: omit KIND/NAME and -l")
	}
	if app != nil {
		documents = app.Unspoken()
		c.Namespace = app.NamespaceOr(c.Namespace)
	}
	objects, notes, err := c.Live(ctx, o.connection, o.live, documents)
	if err != nil {
		return err
	}
	for _, note := range notes {
		fmt.Fprintln(o.streams.Err, "note: "+terminal.Visible(note))
	}
	if len(objects) == 0 && app == nil {
		return connection.ErrNothingLive
	}
	if app != nil {
		for _, object := range objects {
			app.AddEntry(object.Suggestion().Entry)
		}
		return terminal.Write(o.streams.Out, []byte(terminal.ObjectYAML(app.Value)))
	}
	var text []byte
	for i, object := range objects {
		if i > 0 {
			text = append(text, "---\n"...)
		}
		text = append(text, suggestionText(object.Suggestion(), o.streams)...)
	}
	return terminal.Write(o.streams.Out, text)
}

// suggestionText returns a schema as YAML, with comments about the fields that it leaves out.
func suggestionText(s plan.Suggestion, streams Streams) []byte {
	var b bytes.Buffer
	if len(s.LeftOut) > 0 {
		b.WriteString("# Omitted, because other clients write it:\n")
		rows := make([][]string, len(s.LeftOut))
		for i, f := range s.LeftOut {
			e := report.Explanation{Now: streams.Now()}
			rows[i] = []string{"#   " + terminal.Visible(f.Path), e.Writer(f.Writer)}
		}
		for _, line := range terminal.Aligned(rows) {
			b.WriteString(line + "\n")
		}
	}
	b.WriteString(terminal.ObjectYAML(s.Entry))
	return b.Bytes()
}
