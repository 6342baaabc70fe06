package cli

import (
	"context"

	"holdfast.dev/holdfast/pkg/cli/command"
	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/explain"
)

// schemaRenderOptions are the options to print the effective schemas of an Application. The effective schemas are
// those in status.mangledObserverSchema after the next reconciliation.
type schemaRenderOptions struct {
	streams Streams
	target  connection.Target
}

// schemaRendering returns the task for one Application.
func schemaRendering(target connection.Target, streams Streams, args []string) (command.Run, error) {
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
