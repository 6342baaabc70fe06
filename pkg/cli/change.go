package cli

import (
	"context"
	"errors"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/cli/command"
	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/delta"
)

// change is the common part of the commands that change one Application.
//
//	command       waits until
//	suspend       -
//	resume        the Application is ready
//	reconcile     the controller acknowledges the request (by default)
//	delete        the Application is deleted
//	mode          -
type change struct {
	connection connection.Flags
	wait       connection.WaitFlags
	write      connection.WriteFlags
	streams    Streams
	// name is the name of the Application; it is in the namespace of the connection.
	name string
}

// changing adds the arguments and flags of a change to a command. until describes the end of --wait; if it is empty,
// the command does not wait. run returns the function to run, from the parsed flags. It is called even if they are invalid, so
// it must not use them. All errors of the flags are joined, so that a user sees them at once. The function gets a copy
// of o with the values of the flags, because o is changed when they are parsed.
func changing(c command.Spec, streams Streams, o change, until string, run func(o change) command.Run) command.Spec {
	o.connection, o.streams = connection.NewFlags(), streams
	own := c.Flags
	c.Args, c.Complete, c.Connection = command.Exactly("NAME"), o.connection.Named, o.connection
	c.Flags = func(flags *pflag.FlagSet) {
		if own != nil {
			own(flags)
		}
		if until != "" {
			o.wait.Add(flags, until)
		}
		o.write.Add(flags, "the Application")
	}
	c.Options = func(args []string) (command.Run, error) {
		o.name = args[0]
		err := errors.Join(files.ValidName(o.name), o.write.Parse())
		if until != "" {
			err = errors.Join(err, o.wait.Check(), o.write.Waitable(o.wait))
		}
		return run(o), err
	}
	return c
}

// stored returns the Application in the cluster. The Application is read before it is changed, so that the error for
// a mistyped name suggests another one.
func (o change) stored(ctx context.Context) (*connection.Cluster, files.Subject, error) {
	c, err := o.connection.Connect()
	if err != nil {
		return nil, files.Subject{}, err
	}
	app, err := c.Application(ctx, o.name)
	return c, app, err
}

// patch changes the Application with a JSON Patch, and prints the result: done is a word such as "suspended". An
// empty patch changes nothing, but the Application is read and printed.
func (o change) patch(ctx context.Context, c *connection.Cluster, done string, patch ...delta.Op) error {
	dryRun := o.write.DryRun
	if len(patch) == 0 {
		patch, dryRun = []delta.Op{}, connection.DryRunClient
	}
	app, err := c.Patch(ctx, o.name, types.JSONPatchType, patch, dryRun)
	if err != nil {
		return err
	}
	return o.write.Print(o.streams, app, done)
}
