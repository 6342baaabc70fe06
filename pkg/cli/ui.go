package cli

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/pkg/cli/command"
	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/page"
)

const uiLong = `Serve web pages with live updates: all Applications with their state; each with its
resources, remedies and plan; and each object line by line, with the state of every
field, its last writer, and the desired value if that differs.

The pages are read-only, and values of Secrets are masked. They are served only on
the loopback address of this machine, and read with your rights, like the other
commands. The printed address contains a token: any user who knows it can open the
pages until the command ends. If you may list the Applications of all namespaces,
all are shown; otherwise those of your namespace, or of the namespace of -n.`

const uiExample = `
  # All Applications
  PROGRAM ui

  # One namespace, on a port that ssh -L forwards
  PROGRAM ui -n shop --port 8123
`

// uiOptions are the options of `ui`. The server has the rights of the kubeconfig, so any program that can open the
// address has them for reading.
type uiOptions struct {
	streams    Streams
	connection connection.Flags
	port       int    // to listen on; 0 for any free port
	program    string // the name by which the user called this program, for commands on the pages
}

// newUICommand returns the command `ui`. It takes no files: the pages follow a cluster.
func newUICommand(name string, streams Streams) *cobra.Command {
	o := &uiOptions{streams: streams, connection: connection.NewFlags(), program: name}
	return command.Spec{
		Use: "ui", Short: "Serve web pages about Applications, on this machine",
		Long: uiLong, Example: uiExample, Statuses: []string{"ended, by Ctrl-C"},
		Args: command.Exactly(),
		Flags: func(flags *pflag.FlagSet) {
			flags.IntVar(&o.port, "port", 0, "`PORT`: port of 127.0.0.1; 0: any free port")
		},
		Options: func([]string) (command.Run, error) {
			if o.port < 0 || o.port > 65535 {
				return nil, fmt.Errorf("--port must be 1 to 65535, or 0 for any free port, not %d", o.port)
			}
			return o.run, nil
		},
		Connection: o.connection,
	}.Build(name)
}

// run listens only on the loopback address, because the pages show objects with the rights of the user.
func (o *uiOptions) run(ctx context.Context) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(o.port)))
	if err != nil {
		return fmt.Errorf("serving the page: %w", err)
	}
	defer func() { _ = listener.Close() }() // Serve has already closed it
	s := page.Server{Connect: o.connection.Connect, Namespace: *o.connection.Namespace, Program: o.program, Now: o.streams.Now}
	return s.Serve(ctx, listener, func(address string) {
		fmt.Fprintln(o.streams.Out, address)
		fmt.Fprintln(o.streams.Err, "Open this address. Any user who knows it can read the pages until you press Ctrl-C.")
	})
}
