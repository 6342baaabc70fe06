package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/pkg/cli/terminal"
)

// noArguments refuses arguments and says where files belong.
func noArguments(cmd *cobra.Command, args []string) error {
	return atMost(0)(cmd, args)
}

// atMost refuses more than n arguments, and says where files belong.
func atMost(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= n {
			return nil
		}
		hint := ""
		if cmd.Flags().Lookup("filename") != nil {
			hint = ": give each file with -f"
			if cmd.Flags().Lookup("live") != nil {
				hint += " or --live"
			}
		}
		return &terminal.UsageError{Command: cmd.CommandPath(), Err: fmt.Errorf("%q is not a flag, and the command takes nothing else%s", args[n], hint)}
	}
}

// exactly wants these arguments, which are named as in the usage line.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return &terminal.UsageError{Command: cmd.CommandPath(), Err: fmt.Errorf("%s is missing", strings.Join(names[len(args):], " and "))}
		}
		return atMost(len(names))(cmd, args)
	}
}

// atLeast wants these arguments and takes more.
func atLeast(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return &terminal.UsageError{Command: cmd.CommandPath(), Err: fmt.Errorf("%s is missing", strings.Join(names[len(args):], " and "))}
		}
		return nil
	}
}
