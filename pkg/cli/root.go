package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/internal/version"
	"holdfast.dev/holdfast/pkg/cli/author"
	"holdfast.dev/holdfast/pkg/cli/command"
	"holdfast.dev/holdfast/pkg/cli/setup"
	"holdfast.dev/holdfast/pkg/cli/terminal"
)

const rootLong = `Holdfast holds exactly the fields you name, on any Kubernetes object. It writes
no other fields.

An Application lists manifests and, in its observer schema, the fields to hold.
A controller creates the objects, and corrects those fields when another client
changes them. These commands submit Applications, and show their state and the
changes that the controller would make.

Exit status, unless the help of a command states otherwise:
  0    done
  1    something differs, is not ready, or was not ready in time
  2    an error
  130  interrupted`

// Run runs the program until it ends or is interrupted, and returns the exit status.
//
//	first SIGINT or SIGTERM   ctx ends, and the command returns within stopTime
//	second one                the default action of the operating system: the process ends
func Run(ctx context.Context, args []string) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt ends the process immediately
	return Main(ctx, args, Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Now: time.Now})
}

// Main runs the command in args, which has the form of os.Args. It returns the exit status: 0, 1 for differences, 2
// or more for errors. The command is interrupted when ctx ends. It does not exit the process, and uses no other
// input, output or clock than those of streams, so that tests can call it. An error after the end of ctx is a
// consequence of the interrupt, and is replaced by "interrupted".
func Main(ctx context.Context, args []string, streams Streams) int {
	name := programName(args[0])
	streams.In = terminal.Interruptible(ctx, streams.In)
	root := NewCommand(name, streams)
	arguments := argumentsOf(args)
	root.SetArgs(arguments)
	if len(arguments) > 0 && arguments[0] == cobra.ShellCompRequestCmd {
		unquoteUsages(root)
	}
	err := interruptible(ctx, func() error { return root.ExecuteContext(ctx) })
	if _, isExit := errors.AsType[*terminal.Exit](err); err != nil && ctx.Err() != nil && !isExit {
		err = terminal.Interrupted("") // the interrupt caused the error
	}
	return terminal.Finish(err, name, streams.Err)
}

// stopTime is the maximum time that a command may take to stop after an interrupt.
const stopTime = 700 * time.Millisecond

// interruptible runs a command and returns its error. It does not wait for a command that keeps running after an
// interrupt, such as one that waits for a terminal or computes. The goroutine of such a command remains. The process
// ends soon, so it is not stopped.
func interruptible(ctx context.Context, run func() error) error {
	done := make(chan error, 1)
	go func() { done <- run() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(stopTime):
		return terminal.Interrupted("")
	}
}

// unquoteUsages removes the backquotes from the usages of flags, because a shell shows them literally.
func unquoteUsages(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(flag *pflag.Flag) { _, flag.Usage, _ = command.FlagUsage(flag) })
	for _, below := range cmd.Commands() {
		unquoteUsages(below)
	}
}

// completionProgram is the program that kubectl runs to complete the arguments of the plugin: a link to
// this program. Source: kubectl help plugin.
const completionProgram = "kubectl_complete-holdfast"

// argumentsOf returns the arguments of the program. If kubectl runs the program for completions, the
// arguments to complete are passed to cobra's completion command.
//
//	kubectl_complete-holdfast get w  __complete get w
//	kubectl-holdfast get web         get web
func argumentsOf(args []string) []string {
	if strings.TrimSuffix(filepath.Base(args[0]), ".exe") == completionProgram {
		return append([]string{cobra.ShellCompRequestCmd}, args[1:]...)
	}
	return args[1:]
}

// programName returns the name that users type. A program named kubectl-NAME is a plugin, and is called as
// `kubectl NAME`.
//
//	/usr/bin/kubectl-holdfast  kubectl holdfast
//	kubectl-hf.exe             kubectl hf
//	/tmp/holdfast-1.2          holdfast
func programName(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), ".exe")
	if plugin, ok := strings.CutPrefix(name, "kubectl-"); ok {
		return "kubectl " + plugin
	}
	return "holdfast"
}

// NewCommand returns the entire command line. name is the name of the program in messages. Each call returns new
// commands with flags of their own. Tests and the reference therefore need no program.
func NewCommand(name string, streams Streams) *cobra.Command {
	root := &cobra.Command{
		Use:               "holdfast",
		Annotations:       map[string]string{cobra.CommandDisplayNameAnnotation: name},
		Short:             "Hold exactly the fields you name on any Kubernetes object",
		Long:              rootLong,
		Version:           version.String(),
		Args:              command.KnownCommand,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors:     true, // terminal.Finish prints them
		SilenceUsage:      true, // the usage would hide the errors
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	root.SetUsageTemplate(command.UsageTemplate)
	root.Flags().Bool("version", false, "print the version of this program") // cobra's own flag also takes -v
	root.SetFlagErrorFunc(command.FlagError)
	root.SetHelpCommand(newHelpCommand())
	addCommands(root, name, streams)
	return root
}

// Commands are listed in the order in which users need them, and not alphabetically.
func init() { cobra.EnableCommandSorting = false }

// addCommands adds all commands, grouped by purpose. Constructors get the name, because examples and remedies
// contain it.
func addCommands(root *cobra.Command, name string, streams Streams) {
	for _, group := range []struct {
		id, title string
		commands  []command.Constructor
	}{
		{"see", "Inspect", []command.Constructor{newGetCommand, newStatusCommand, newExplainCommand, newHistoryCommand, newUICommand}},
		{"foresee", "Preview", []command.Constructor{newDiffCommand}},
		{"change", "Change", []command.Constructor{
			newSubmitCommand, newHoldCommand, newFreeCommand, newModeCommand, newSuspendCommand, newResumeCommand,
			newReconcileCommand, newDeleteCommand,
		}},
		{"set-up", "Set up", append(setup.Commands(), newCompletionCommand, newVersionCommand)},
	} {
		root.AddGroup(&cobra.Group{ID: group.id, Title: group.title})
		for _, newOne := range group.commands {
			cmd := newOne(name, streams)
			cmd.GroupID = group.id
			root.AddCommand(cmd)
		}
	}
	root.AddCommand(author.NewCommand(name, streams))
}

// newHelpCommand returns cobra's help command with another error for unknown commands.
//
//	help                 the help of the program
//	help submit          the help of submit
//	help author schema   the help of a command below another one
//	help submti          there is no command "submti": did you mean submit?
func newHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Help about a command", Hidden: true, DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil {
				return err
			}
			if about.HasSubCommands() {
				if err := command.KnownCommand(about, rest); err != nil {
					return err
				}
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
			about, _, err := cmd.Root().Find(args)
			if err != nil {
				about = cmd.Root()
			}
			var names []cobra.Completion
			for _, below := range about.Commands() {
				if below.IsAvailableCommand() && strings.HasPrefix(below.Name(), typed) {
					names = append(names, cobra.CompletionWithDesc(below.Name(), below.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}
