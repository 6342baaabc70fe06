package cli

import (
	"context"
	"maps"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/terminal"
)

// command is what a command is made of. Its options come from its flags, and
// know nothing of cobra.
type command struct {
	use, short, long, example string
	args                      cobra.PositionalArgs
	// flags adds its flags.
	flags func(*pflag.FlagSet)
	// options says what is wrong with flags and arguments, and asks nobody.
	options func(args []string) (runner, error)
	// complete completes arguments; nil: there is nothing to complete.
	complete completer
	// takesFiles: arguments are files, which the shell completes.
	takesFiles bool
	// connection has the flags that say which cluster is meant, if one is asked.
	connection connection.Flags
	// completeFlags completes values of flags, by the name of the flag. Those of which
	// the usage says what they take, as in `yaml|json`, complete themselves.
	completeFlags map[string]completer
}

// runner is a command whose flags have been understood.
type runner interface {
	run(ctx context.Context) error
}

// completer returns what an argument or a flag may become. args are those before
// it.
type completer func(ctx context.Context, args []string, typed string) []string

// build makes it a command of the program called name.
func (c command) build(name string) *cobra.Command {
	cmd := &cobra.Command{
		Use: c.use, Short: c.short, Long: reflow(examples(name, c.long)), Args: c.args,
		Example: examples(name, c.example),
		RunE: func(cmd *cobra.Command, args []string) error {
			options, err := c.options(args)
			if err != nil {
				return &terminal.UsageError{Command: cmd.CommandPath(), Err: err}
			}
			return options.run(cmd.Context())
		},
		ValidArgsFunction:     c.complete.cobra(),
		DisableFlagsInUseLine: true,
	}
	if c.takesFiles {
		cmd.ValidArgsFunction = nil
	}
	if c.flags != nil {
		c.flags(cmd.Flags())
	}
	for flag, complete := range c.flagCompleters(cmd.Flags()) {
		if cmd.RegisterFlagCompletionFunc(flag, complete.cobra()) != nil {
			panic("the command " + c.use + " has no flag --" + flag)
		}
	}
	return cmd
}

// flagCompleters are the completers of all flags that have one.
func (c command) flagCompleters(flags *pflag.FlagSet) map[string]completer {
	all := map[string]completer{}
	flags.VisitAll(func(flag *pflag.Flag) {
		if takes, _ := pflag.UnquoteUsage(flag); strings.Contains(takes, "|") {
			all[flag.Name] = oneOf(strings.Split(takes, "|")...)
		}
	})
	if c.connection.ConfigFlags != nil {
		all["context"], all["namespace"] = c.connection.Contexts, c.connection.Namespaces
	}
	maps.Copy(all, c.completeFlags)
	return all
}

func (c completer) cobra() cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if c == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var fitting []cobra.Completion
		for _, one := range c(cmd.Context(), args, typed) {
			if strings.HasPrefix(one, typed) {
				fitting = append(fitting, one)
			}
		}
		if len(fitting) == 1 && (strings.HasSuffix(fitting[0], "=") || strings.HasSuffix(fitting[0], "/")) {
			return fitting, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace // it goes on
		}
		return fitting, cobra.ShellCompDirectiveNoFileComp
	}
}

// oneOf completes fixed words.
func oneOf(words ...string) completer {
	return func(context.Context, []string, string) []string { return words }
}

// reflow wraps the paragraphs of a help text; lines that are indented stay.
func reflow(text string) string {
	var lines, paragraph []string
	flush := func() {
		if len(paragraph) > 0 {
			lines = append(lines, terminal.Wrap(strings.Join(paragraph, " "), terminal.PlainWidth)...)
		}
		paragraph = nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" && !strings.HasPrefix(line, " ") {
			paragraph = append(paragraph, line)
			continue
		}
		flush()
		lines = append(lines, line)
	}
	flush()
	return strings.Join(lines, "\n")
}

// examples puts the name of the program into the examples of a command.
func examples(name, text string) string {
	return strings.ReplaceAll(strings.Trim(text, "\n"), "PROGRAM", name)
}
