package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/files"
)

// change is the common part of the commands that change one Application.
type change struct {
	connection connection.Flags
	wait       connection.WaitFlags
	streams    Streams
	name       string
}

// changing adds the arguments and flags of a change to a command. until describes the end of --wait; if it
// is empty, the command does not wait.
func changing(c command, streams Streams, o change, until string, run func(o change) runner) command {
	o.connection, o.streams = connection.NewFlags(), streams
	own := c.flags
	c.args, c.complete, c.connection = exactly("NAME"), o.connection.Named, o.connection
	c.flags = func(flags *pflag.FlagSet) {
		if own != nil {
			own(flags)
		}
		if until != "" {
			o.wait.Add(flags, until)
		}
		o.connection.Add(flags)
	}
	c.options = func(args []string) (runner, error) {
		o.name = args[0]
		err := files.ValidName(o.name)
		if until != "" {
			err = errors.Join(err, o.wait.Check())
		}
		return run(o), err
	}
	return c
}

// stored returns the Application in the cluster.
func (o change) stored(ctx context.Context) (*connection.Cluster, files.Subject, error) {
	c, err := o.connection.Connect()
	if err != nil {
		return nil, files.Subject{}, err
	}
	app, err := c.Application(ctx, o.name)
	return c, app, err
}

// printf prints the result for the Application.
func (o change) printf(what string) error {
	_, err := fmt.Fprintf(o.streams.Out, "application.%s/%s %s\n", v1alpha1.GroupVersion.Group, o.name, what)
	return err
}
