package cli

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/page"
)

const uiLong = `Serve a page to look at: all Applications with their state, live; each with its
resources, what to do and the plan; and each object line by line, with what every
field is, who wrote it, and what is desired where that differs.

The page is read-only. It is served on the loopback address of this machine only,
and reads with your rights, as the other commands do. Whoever has the address that
is printed can look until the command ends: it has a token. Values of Secrets are
masked. Applications of all namespaces are listed if you may list them, or else
those of your namespace, or of the one that -n names.

Exit status:
  0  ended, by Ctrl-C
  2  an error, also one in the flags`

const uiExample = `
  # Look at everything
  PROGRAM ui

  # At one namespace, on a port that an ssh -L leads to
  PROGRAM ui -n shop --port 8123
`

type uiFlags struct {
	connection connection.Flags
	port       int
}

type uiOptions struct {
	uiFlags
	streams Streams
	program string
}

func newUICommand(name string, streams Streams) *cobra.Command {
	f := &uiFlags{connection: connection.NewFlags()}
	return command{
		use: "ui", short: "Serve a page to look at, on this machine",
		long: uiLong, example: uiExample,
		args: exactly(), flags: f.add,
		options: func([]string) (runner, error) {
			if f.port < 0 || f.port > 65535 {
				return nil, fmt.Errorf("--port takes 1 to 65535, or 0 for any that is free, not %d", f.port)
			}
			return uiOptions{*f, streams, name}, nil
		},
		connection: f.connection,
	}.build(name)
}

func (f *uiFlags) add(flags *pflag.FlagSet) {
	flags.IntVar(&f.port, "port", 0, "`PORT` of 127.0.0.1 to serve on; 0: any that is free")
	f.connection.Add(flags)
}

func (o uiOptions) run(ctx context.Context) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(o.port)))
	if err != nil {
		return fmt.Errorf("serving the page: %w", err)
	}
	defer func() { _ = listener.Close() }() // Serve has already closed it
	s := page.Server{Connect: o.connection.Connect, Namespace: *o.connection.Namespace, Program: o.program, Now: o.streams.Now}
	return s.Serve(ctx, listener, func(address string) {
		fmt.Fprintln(o.streams.Out, address)
		fmt.Fprintln(o.streams.Err, "Open this address. Whoever has it can look, until this ends: press Ctrl-C.")
	})
}
