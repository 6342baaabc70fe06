package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/pkg/cli/terminal"
)

// noArguments returns an error for any argument. The error names the flags for files.
func noArguments(cmd *cobra.Command, args []string) error {
	return atMost(0)(cmd, args)
}

// atMost returns a check that allows at most n arguments. Its error names the flags for files.
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
		return &terminal.UsageError{Command: cmd.CommandPath(), Err: fmt.Errorf("%q is not a flag, and the command takes no other arguments%s", args[n], hint)}
	}
}

// exactly returns a check that requires exactly these arguments. names are their names in the usage line.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return &terminal.UsageError{Command: cmd.CommandPath(), Err: fmt.Errorf("%s is missing", strings.Join(names[len(args):], " and "))}
		}
		return atMost(len(names))(cmd, args)
	}
}

// atLeast returns a check that requires these arguments and allows more.
func atLeast(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return &terminal.UsageError{Command: cmd.CommandPath(), Err: fmt.Errorf("%s is missing", strings.Join(names[len(args):], " and "))}
		}
		return nil
	}
}
