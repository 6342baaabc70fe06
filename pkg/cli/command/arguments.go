package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/internal/suggest"
	"holdfast.dev/holdfast/pkg/cli/terminal"
)

// AtMost returns a check that allows at most n arguments. Its error names the flags for files.
//
//	diff web x          "x" is not a flag, and the command takes no other arguments: give each file with -f or --live
//	version x           "x" is not a flag, and the command takes no other arguments
func AtMost(n int) cobra.PositionalArgs {
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

// Exactly returns a check that requires exactly these arguments. names are their names in the usage line, for
// the error.
//
//	mode           NAME and hold|observe is missing
//	mode web       hold|observe is missing
//	mode web a b   "b" is not a flag, and the command takes no other arguments
func Exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := AtLeast(names...)(cmd, args); err != nil {
			return err
		}
		return AtMost(len(names))(cmd, args)
	}
}

// AtLeast returns a check that requires these arguments and allows more.
func AtLeast(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return &terminal.UsageError{Command: cmd.CommandPath(), Err: fmt.Errorf("%s is missing", strings.Join(names[len(args):], " and "))}
		}
		return nil
	}
}

// Group returns a command that only has other commands. Without one of them, it prints its help.
func Group(use, short, long string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Long: reflow(long),
		Args: KnownCommand,
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

// KnownCommand returns a usage error for an unknown command, with a suggestion: a similar name, or the name
// that other tools use. It suggests no hidden command.
//
//	holdfast apply   there is no command "apply": did you mean submit?
//	holdfast staus   there is no command "staus": did you mean status?
func KnownCommand(cmd *cobra.Command, args []string) error {
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

// FlagError returns an error that describes an invalid flag, and suggests a name for a mistyped one.
//
//	--filname       there is no flag --filname: did you mean --filename?
//	-z              there is no flag -z
//	--namespace     --namespace needs a value: NAMESPACE
//	--timeout=soon  --timeout takes a duration such as 30s or 5m, not "soon"
func FlagError(cmd *cobra.Command, err error) error {
	if typed := cmd.Flags().Args(); cmd.HasSubCommands() && len(typed) > 0 {
		return KnownCommand(cmd, typed) // the flag belongs to an unknown command
	}
	var unknown *pflag.NotExistError
	var bare *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		err = fmt.Errorf("there is no flag -%s", unknown.GetSpecifiedName())
	case errors.As(err, &unknown):
		var names []string
		cmd.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, "--"+flag.Name) })
		typed := "--" + unknown.GetSpecifiedName()
		err = fmt.Errorf("there is no flag %s%s", typed, suggest.DidYouMean(typed, names))
	case errors.As(err, &bare):
		value, _, _ := FlagUsage(bare.GetFlag())
		text := flagAsTyped(bare.GetFlag(), bare.GetSpecifiedShortnames()) + " needs a value: " + value
		err = errors.New(strings.TrimSuffix(text, ": "))
	case errors.As(err, &invalid):
		err = refusedValue(invalid)
	}
	return &terminal.UsageError{Command: cmd.CommandPath(), Err: err}
}

// refusedValue returns an error that describes the values of a flag.
func refusedValue(err *pflag.InvalidValueError) error {
	takes := map[string]string{"duration": "a duration such as 30s or 5m", "bool": "true or false"}[err.GetFlag().Value.Type()]
	if takes == "" {
		return err
	}
	return fmt.Errorf("--%s takes %s, not %q", err.GetFlag().Name, takes, err.GetValue())
}

// flagAsTyped returns the long or the short name of a flag.
func flagAsTyped(flag *pflag.Flag, shortnames string) string {
	if shortnames != "" {
		return "-" + flag.Shorthand
	}
	return "--" + flag.Name
}
