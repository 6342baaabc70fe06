package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/internal/suggest"
	"holdfast.dev/holdfast/internal/version"
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

// usageTemplate is cobra's template, with the flags wrapped at 80 columns.
const usageTemplate = `Usage:
  {{if .HasAvailableSubCommands}}{{.CommandPath}} COMMAND{{else}}{{.UseLine}}{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}

{{range $group := .Groups}}{{.Title}}:{{range $.Commands}}{{if and .IsAvailableCommand (eq .GroupID $group.ID)}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}

{{end}}{{if not .Groups}}Commands:{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}

{{end}}{{end}}{{if .HasAvailableLocalFlags}}{{if not .HasAvailableSubCommands}}

{{end}}Flags:
{{ownFlags .LocalFlags}}{{end}}{{if .HasAvailableSubCommands}}

Use "{{.CommandPath}} COMMAND --help" for more about a command.{{end}}{{if .HasFlags}}{{if .Flags.Lookup "kubeconfig"}}

Connection flags:
{{connectionFlags .LocalFlags}}

kubectl's other flags for the connection (--server, --token, --user, --as-group,
...) work, too.{{end}}{{end}}
`

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
	cmd.Flags().VisitAll(func(flag *pflag.Flag) { _, flag.Usage, _ = FlagUsage(flag) })
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
		Args:              knownCommand,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors:     true, // terminal.Finish prints them
		SilenceUsage:      true, // the usage would hide the errors
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	root.SetUsageTemplate(usageTemplate)
	root.Flags().Bool("version", false, "print the version of this program") // cobra's own flag also takes -v
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(newHelpCommand())
	addCommands(root, name, streams)
	return root
}

// Commands are listed in the order in which users need them, and not alphabetically.
func init() { cobra.EnableCommandSorting = false }

// newCommand is the constructor of a command. name is the name of the program. Constructors only register flags:
// they read no file and send no request, because all of them run for each command.
type newCommand func(name string, streams Streams) *cobra.Command

// addCommands adds all commands, grouped by purpose. Constructors get the name, because examples and remedies
// contain it.
func addCommands(root *cobra.Command, name string, streams Streams) {
	for _, group := range []struct {
		id, title string
		commands  []newCommand
	}{
		{"see", "Inspect", []newCommand{newGetCommand, newStatusCommand, newExplainCommand, newHistoryCommand, newUICommand}},
		{"foresee", "Preview", []newCommand{newDiffCommand}},
		{"change", "Change", []newCommand{
			newSubmitCommand, newHoldCommand, newFreeCommand, newModeCommand, newSuspendCommand, newResumeCommand,
			newReconcileCommand, newDeleteCommand,
		}},
		{"set-up", "Set up", []newCommand{newInstallCommand, newCheckCommand, newUninstallCommand, newCompletionCommand, newVersionCommand}},
	} {
		root.AddGroup(&cobra.Group{ID: group.id, Title: group.title})
		for _, newOne := range group.commands {
			cmd := newOne(name, streams)
			cmd.GroupID = group.id
			root.AddCommand(cmd)
		}
	}
	root.AddCommand(newAuthorCommand(name, streams))
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
				if err := knownCommand(about, rest); err != nil {
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
			for _, command := range about.Commands() {
				if command.IsAvailableCommand() && strings.HasPrefix(command.Name(), typed) {
					names = append(names, cobra.CompletionWithDesc(command.Name(), command.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// flagError returns an error that describes an invalid flag, and suggests a name for a mistyped one.
//
//	--filname       there is no flag --filname: did you mean --filename?
//	-z              there is no flag -z
//	--namespace     --namespace needs a value: NAMESPACE
//	--timeout=soon  --timeout takes a duration such as 30s or 5m, not "soon"
func flagError(cmd *cobra.Command, err error) error {
	if typed := cmd.Flags().Args(); cmd.HasSubCommands() && len(typed) > 0 {
		return knownCommand(cmd, typed) // the flag belongs to an unknown command
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
