package cli

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/terminal"
)

// command is the specification of a command. Its options are set by its flags, and do not depend on cobra. The
// constructors of the commands fill it, and build makes the cobra command. The fields are not changed later.
type command struct {
	use, short, long, example string
	// statuses are the meanings of the exit statuses 0, 1 and 2, for the help. Without a meaning, the help leaves
	// out the status 1, and the status 2 has the meaning that most commands share.
	statuses []string
	args     cobra.PositionalArgs // checks the number of arguments; nil: any number
	// flags registers the flags other than those of connection, which are registered before.
	flags func(*pflag.FlagSet)
	// options validates flags and arguments without sending any request.
	options func(args []string) (runner, error)
	// complete completes arguments; nil if there is nothing to complete.
	complete completer
	// takesFiles is set if the arguments are files, which the shell completes.
	takesFiles bool
	// connection has the flags that select the cluster, if the command uses one.
	connection connection.Flags
	// completeFlags completes the values of flags, by the name of the flag. Flags whose usage lists the
	// values, as in `yaml|json`, are completed without an item here.
	completeFlags map[string]completer
}

// runner is a command with parsed flags. Validation and execution are separate, so that an invalid flag is reported
// before any request, file or prompt.
type runner interface {
	run(ctx context.Context) error
}

// runnerFunc is a function as a runner.
type runnerFunc func(ctx context.Context) error

func (f runnerFunc) run(ctx context.Context) error { return f(ctx) }

// completer is a function that returns the possible values of an argument or a flag. args are the preceding
// arguments.
type completer func(ctx context.Context, args []string, typed string) []string

// build returns the cobra command. name is the name of the program. cobra calls, in this order: Args for the number
// of arguments, then RunE with options and run. An error of options is a UsageError, whose message refers to --help.
// An error of run is not.
func (c command) build(name string) *cobra.Command {
	cmd := &cobra.Command{
		Use: c.use, Short: c.short, Long: reflow(examples(name, c.long) + exitStatuses(c.statuses)), Args: c.args,
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
	if c.connection.ConfigFlags != nil {
		c.connection.Add(cmd.Flags())
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

// exitStatuses returns the end of a help text, with a line for each exit status.
//
//	{"ready", "not ready"}    0  ready / 1  not ready / 2  an error, also one in the flags
//	{"printed"}               0  printed / 2  an error, also one in the flags
//	{"printed", "", "error"}  0  printed / 2  error
func exitStatuses(meanings []string) string {
	text := "\n\nExit status:"
	for status, meaning := range meanings {
		if meaning != "" {
			text += fmt.Sprintf("\n  %d  %s", status, meaning)
		}
	}
	if len(meanings) <= terminal.StatusFailed {
		text += fmt.Sprintf("\n  %d  an error, also one in the flags", terminal.StatusFailed)
	}
	return text
}

// flagCompleters returns the completers of all flags that have one.
//
//	-o, with the usage `yaml|json`  yaml, json
//	--context, --namespace          from the kubeconfig, and from the cluster
//	--dry-run                       client, server, none
//	completeFlags                   takes precedence
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
	if flags.Lookup("dry-run") != nil {
		all["dry-run"] = oneOf("client", "server", "none")
	}
	maps.Copy(all, c.completeFlags)
	return all
}

// cobra returns the completions that begin with the typed text. It never completes files, because no completer is
// for files. A nil completer completes nothing. A completer may return other words, too, so that it needs no filter.
// A word that ends in "=" or "/" gets no space after it, because the user continues it.
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
			return fitting, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace // the value continues
		}
		return fitting, cobra.ShellCompDirectiveNoFileComp
	}
}

// oneOf returns a completer for fixed words.
func oneOf(words ...string) completer {
	return func(context.Context, []string, string) []string { return words }
}

// reflow wraps the paragraphs of a help text. Indented lines are unchanged. The texts in the source have line breaks
// for readers of the source. After PROGRAM is replaced, lines have other lengths.
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

// examples inserts the name of the program into the examples of a command.
func examples(name, text string) string {
	return strings.ReplaceAll(strings.Trim(text, "\n"), "PROGRAM", name)
}
