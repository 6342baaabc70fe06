package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/internal/suggest"
	"holdfast.dev/holdfast/pkg/cli/terminal"
)

// noArguments returns an error for any argument. The error names the flags for files.
var noArguments = atMost(0)

// atMost returns a check that allows at most n arguments. Its error names the flags for files.
//
//	diff web x          "x" is not a flag, and the command takes no other arguments: give each file with -f or --live
//	version x           "x" is not a flag, and the command takes no other arguments
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

// exactly returns a check that requires exactly these arguments. names are their names in the usage line, for
// the error.
//
//	mode           NAME and hold|observe is missing
//	mode web       hold|observe is missing
//	mode web a b   "b" is not a flag, and the command takes no other arguments
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := atLeast(names...)(cmd, args); err != nil {
			return err
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

// group returns a command that only has other commands. Without one of them, it prints its help.
func group(use, short, long string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long,
		Args: knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(commands...)
	return cmd
}

// elsewhere maps the command names of other tools to those of this program. They are names of kubectl, Helm, Flux
// and Argo CD with about the same purpose. A similar name is not enough to find them.
var elsewhere = map[string]string{
	"apply": "submit", "create": "submit", "list": "get", "ls": "get", "describe": "status", "remove": "delete",
	"rm": "delete", "pause": "suspend", "sync": "reconcile", "preview": "diff", "validate": "diff", "events": "history",
}

// knownCommand returns a usage error for an unknown command, with a suggestion: a similar name, or the name
// that other tools use. It suggests no hidden command.
//
//	holdfast apply   there is no command "apply": did you mean submit?
//	holdfast staus   there is no command "staus": did you mean status?
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	names := make([]string, 0, len(cmd.Commands()))
	for _, command := range cmd.Commands() {
		if command.IsAvailableCommand() {
			names = append(names, command.Name())
		}
	}
	hint := suggest.DidYouMean(args[0], names)
	if other := elsewhere[args[0]]; other != "" && !cmd.HasParent() {
		hint = ": did you mean " + other + "?"
	}
	return &terminal.UsageError{Command: cmd.CommandPath(), Err: fmt.Errorf("there is no command %q%s", args[0], hint)}
}
