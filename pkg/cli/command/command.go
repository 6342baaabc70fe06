package command

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

// Spec is the specification of a command. Its options are set by its flags, and do not depend on cobra. The
// constructors of the commands fill it, and Build makes the cobra command. The fields are not changed later.
type Spec struct {
	Use, Short, Long, Example string
	// Statuses are the meanings of the exit statuses 0, 1 and 2, for the help. Without a meaning, the help leaves
	// out the status 1, and the status 2 has the meaning that most commands share.
	Statuses []string
	Args     cobra.PositionalArgs // checks the number of arguments; nil: any number
	// Flags registers the flags other than those of Connection, which are registered before.
	Flags func(*pflag.FlagSet)
	// Options validates flags and arguments without sending any request.
	Options func(args []string) (Run, error)
	// Complete completes arguments; nil if there is nothing to complete.
	Complete Completer
	// TakesFiles is set if the arguments are files, which the shell completes.
	TakesFiles bool
	// Connection contains the flags that select the cluster, if the command uses one.
	Connection connection.Flags
	// CompleteFlags completes the values of flags, by the name of the flag. Flags whose usage lists the
	// values, as in `yaml|json`, are completed without an item here.
	CompleteFlags map[string]Completer
}

// Constructor is the constructor of a command. name is the name of the program. Constructors only register flags:
// they read no file and send no request, because all of them run for each command.
type Constructor func(name string, streams terminal.Streams) *cobra.Command

// Run runs a command with parsed flags. Validation and execution are separate, so that an invalid flag is reported
// before any request, file or prompt.
type Run func(ctx context.Context) error

// Completer is a function that returns the possible values of an argument or a flag. args are the preceding
// arguments.
type Completer func(ctx context.Context, args []string, typed string) []string

// Build returns the cobra command. name is the name of the program. cobra calls, in this order: Args for the number
// of arguments, then RunE with Options and its Run. An error of Options is a UsageError, whose message refers to --help.
// An error of Run is not.
func (c Spec) Build(name string) *cobra.Command {
	cmd := &cobra.Command{
		Use: c.Use, Short: c.Short, Long: reflow(examples(name, c.Long) + exitStatuses(c.Statuses)), Args: c.Args,
		Example: examples(name, c.Example),
		RunE: func(cmd *cobra.Command, args []string) error {
			run, err := c.Options(args)
			if err != nil {
				return &terminal.UsageError{Command: cmd.CommandPath(), Err: err}
			}
			return run(cmd.Context())
		},
		ValidArgsFunction:     c.Complete.cobra(),
		DisableFlagsInUseLine: true,
	}
	if c.TakesFiles {
		cmd.ValidArgsFunction = nil
	}
	if c.Connection.ConfigFlags != nil {
		c.Connection.Add(cmd.Flags())
	}
	if c.Flags != nil {
		c.Flags(cmd.Flags())
	}
	for flag, complete := range c.flagCompleters(cmd.Flags()) {
		if cmd.RegisterFlagCompletionFunc(flag, complete.cobra()) != nil {
			panic("the command " + c.Use + " has no flag --" + flag)
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
//	CompleteFlags                   takes precedence
func (c Spec) flagCompleters(flags *pflag.FlagSet) map[string]Completer {
	all := map[string]Completer{}
	flags.VisitAll(func(flag *pflag.Flag) {
		if takes, _ := pflag.UnquoteUsage(flag); strings.Contains(takes, "|") {
			all[flag.Name] = OneOf(strings.Split(takes, "|")...)
		}
	})
	if c.Connection.ConfigFlags != nil {
		all["context"], all["namespace"] = c.Connection.Contexts, c.Connection.Namespaces
	}
	if flags.Lookup("dry-run") != nil {
		all["dry-run"] = OneOf("client", "server", "none")
	}
	maps.Copy(all, c.CompleteFlags)
	return all
}

// cobra returns the completions that begin with the typed text. It never completes files, because no Completer is
// for files. A nil Completer completes nothing. A Completer may return other words, too, so that it needs no filter.
// A word that ends in "=" or "/" gets no space after it, because the user continues it.
func (c Completer) cobra() cobra.CompletionFunc {
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

// OneOf returns a Completer for fixed words.
func OneOf(words ...string) Completer {
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
