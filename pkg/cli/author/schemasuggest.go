package author

import (
	"bytes"
	"cmp"
	"context"
	"errors"

	"holdfast.dev/holdfast/pkg/cli/command"
	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/report"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/suggestion"
)

// schemaSuggestOptions are the options to propose schemas for live objects.
//
//	KIND/NAME or -l    a schema for each object
//	-f manifests       a schema for the live object of each manifest
//	-f Application     the Application, with a schema for each resource that has none
type schemaSuggestOptions struct {
	streams    terminal.Streams
	connection connection.Flags
	live       connection.LiveFlags
	manifests  files.ManifestFlags
}

// options adds the objects that arguments name, and returns an error if they are invalid.
func (o *schemaSuggestOptions) options(args []string) (command.Run, error) {
	if err := errors.Join(o.manifests.Check(), o.live.Named(args)); err != nil {
		return o.run, err
	}
	if !o.live.Given() && !o.manifests.Given() {
		return nil, errors.New("no object given: give KIND/NAME, for example deployment/web, files with -f, or labels with -l")
	}
	return o.run, nil
}

// run prints nothing if a schema cannot be made, because the default schema would apply instead. If the file
// is an Application, it prints the Application with the schemas that it lacks.
func (o *schemaSuggestOptions) run(ctx context.Context) error {
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
		c.Namespace = cmp.Or(manifest.NestedString(app.Value, "metadata", "namespace"), c.Namespace)
	}
	objects, notes, err := c.Live(ctx, o.connection, o.live, documents)
	if err != nil {
		return err
	}
	terminal.Note(o.streams.Err, notes...)
	if len(objects) == 0 && app == nil {
		return connection.ErrNothingLive
	}
	if app != nil {
		for _, object := range objects {
			app.AddEntry(object.Suggest().Entry)
		}
		return terminal.PrintObjects(o.streams.Out, app.Value)
	}
	var text []byte
	for i, object := range objects {
		if i > 0 {
			text = append(text, "---\n"...)
		}
		text = append(text, suggestionText(object.Suggest(), o.streams)...)
	}
	return terminal.Write(o.streams.Out, text)
}

// suggestionText returns a schema as YAML, with comments about the fields that it leaves out.
//
//	# Omitted, because other clients write it:
//	#   spec.replicas  kube-controller-manager, 2h ago
//	apiVersion: apps/v1
//	kind: Deployment
//	...
func suggestionText(s suggestion.Proposal, streams terminal.Streams) []byte {
	var b bytes.Buffer
	if len(s.LeftOut) > 0 {
		b.WriteString("# Omitted, because other clients write it:\n")
		rows := make([][]string, len(s.LeftOut))
		for i, f := range s.LeftOut {
			rows[i] = []string{"#   " + terminal.Visible(f.Path), report.WriterText(f.Writer, streams.Now())}
		}
		_ = terminal.WriteLines(&b, terminal.Aligned(rows)) // a buffer cannot fail
	}
	b.WriteString(terminal.ObjectYAML(s.Entry))
	return b.Bytes()
}
