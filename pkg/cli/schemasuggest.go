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

const schemaSuggestLong = `Propose an observer schema for a live object, which need not belong to an
Application. It has the fields that people and their tools wrote, and leaves out
those that controllers and autoscalers write, with a comment that says who does.
Read it before you use it: it is made from metadata.managedFields, and knows only
who wrote what, not what you want.

Exit status:
  0  printed
  2  an error, also one in the flags`

const schemaSuggestExample = `
  # What to hold of a Deployment that an autoscaler scales
  PROGRAM schema suggest deployment/web > schema.yaml
`

type schemaSuggestOptions struct {
	connection connection.Flags
	streams    Streams
	kind, name string
}

func newSchemaSuggestCommand(name string, streams Streams) *cobra.Command {
	flags := connection.NewFlags()
	return command{
		use: "suggest KIND/NAME", short: "Propose an observer schema from a live object",
		long: schemaSuggestLong, example: schemaSuggestExample,
		args: exactly("KIND/NAME"), flags: flags.Add,
		options: func(args []string) (runner, error) {
			kind, name, both := strings.Cut(args[0], "/")
			if !both || kind == "" || name == "" || strings.Contains(name, "/") {
				return nil, fmt.Errorf("%q is not KIND/NAME, as deployment/web is", args[0])
			}
			return schemaSuggestOptions{flags, streams, kind, name}, nil
		},
		complete:   flags.Objects,
		connection: flags,
	}.build(name)
}

func (o schemaSuggestOptions) run(ctx context.Context) error {
	c, err := o.connection.Connect()
	if err != nil {
		return err
	}
	gvk, err := o.connection.KindFor(o.kind)
	if err != nil {
		return c.Unresolved(err, o.kind)
	}
	mapping, err := c.Kinds.Mapping(ctx, gvk)
	if err != nil {
		return c.Explained(err, "get", o.kind)
	}
	id := manifest.ID{Group: gvk.Group, Kind: gvk.Kind, Name: o.name}
	if mapping.Namespaced {
		id.Namespace = c.Namespace
	}
	live, err := c.Get(ctx, cluster.Location{ID: id, Mapping: mapping})
	if apierrors.IsNotFound(err) {
		return c.NoSuchObject(ctx, id, mapping.Resource)
	}
	if err != nil {
		return c.Explained(err, "get", id.String())
	}
	return terminal.Write(o.streams.Out, suggestionText(plan.Suggest(live, mapping.Type), o.streams))
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
