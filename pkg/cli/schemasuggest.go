package cli

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/report"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

const schemaSuggestLong = `Propose an observer schema for live objects, which need not belong to an
Application: an entry for each. It has the fields that people and their tools wrote, and leaves out
those that controllers and autoscalers write, with a comment that says who does.
Read it before you use it: it is made from metadata.managedFields, and knows only
who wrote what, not what you want.

Exit status:
  0  printed
  2  an error, also one in the flags`

const schemaSuggestExample = `
  # What to hold of a Deployment that an autoscaler scales
  PROGRAM schema suggest deployment/web > schema.yaml

  # The same of its Service, too
  PROGRAM schema suggest deployment/web service/web > schema.yaml
`

type schemaSuggestOptions struct {
	connection connection.Flags
	streams    Streams
	objects    [][2]string // kind and name
}

func newSchemaSuggestCommand(name string, streams Streams) *cobra.Command {
	flags := connection.NewFlags()
	return command{
		use: "suggest KIND/NAME...", short: "Propose an observer schema from live objects",
		long: schemaSuggestLong, example: schemaSuggestExample,
		args: atLeast("KIND/NAME"), flags: flags.Add,
		options: func(args []string) (runner, error) {
			o := schemaSuggestOptions{connection: flags, streams: streams}
			for _, arg := range args {
				kind, name, both := strings.Cut(arg, "/")
				if !both || kind == "" || name == "" || strings.Contains(name, "/") {
					return nil, fmt.Errorf("%q is not KIND/NAME, as deployment/web is", arg)
				}
				o.objects = append(o.objects, [2]string{kind, name})
			}
			return o, nil
		},
		complete: func(ctx context.Context, _ []string, typed string) []string {
			return flags.Objects(ctx, nil, typed)
		},
		connection: flags,
	}.build(name)
}

// run is all or nothing: an entry that is missing would be a default one.
func (o schemaSuggestOptions) run(ctx context.Context) error {
	c, err := o.connection.Connect()
	if err != nil {
		return err
	}
	var text []byte
	for i, object := range o.objects {
		suggested, err := o.suggest(ctx, c, object[0], object[1])
		if err != nil {
			return err
		}
		if i > 0 {
			text = append(text, "---\n"...)
		}
		text = append(text, suggested...)
	}
	return terminal.Write(o.streams.Out, text)
}

// suggest is the schema that is proposed for one object.
func (o schemaSuggestOptions) suggest(ctx context.Context, c *connection.Cluster, kind, name string) ([]byte, error) {
	gvk, err := o.connection.KindFor(kind)
	if err != nil {
		return nil, c.Unresolved(err, kind)
	}
	mapping, err := c.Kinds.Mapping(ctx, gvk)
	if err != nil {
		return nil, c.Explained(err, "get", kind)
	}
	id := manifest.ID{Group: gvk.Group, Kind: gvk.Kind, Name: name}
	if mapping.Namespaced {
		id.Namespace = c.Namespace
	}
	live, err := c.Get(ctx, cluster.Location{ID: id, Mapping: mapping})
	if apierrors.IsNotFound(err) {
		return nil, c.NoSuchObject(ctx, id, mapping.Resource)
	}
	if err != nil {
		return nil, c.Explained(err, "get", id.String())
	}
	return suggestionText(plan.Suggest(live, mapping.Type), o.streams), nil
}

// suggestionText is a schema with comments that say what was left out.
func suggestionText(s plan.Suggestion, streams Streams) []byte {
	var b bytes.Buffer
	if len(s.LeftOut) > 0 {
		b.WriteString("# Left out, because others keep writing it:\n")
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
