package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/internal/suggest"
	"holdfast.dev/holdfast/internal/version"
	"holdfast.dev/holdfast/pkg/cli/terminal"
)

const rootLong = `Holdfast holds exactly the fields you name, on any Kubernetes object, and leaves
everything else alone.

An Application lists manifests and, in its observer schema, the fields that are
to be held. A controller creates the objects, and corrects those fields when
somebody changes them. These commands submit Applications, show how they are,
and what the controller would do about them.`

// usageTemplate is cobra's with flags that are wrapped for 80 columns.
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
{{.LocalFlags.FlagUsagesWrapped 80 | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableSubCommands}}

Use "{{.CommandPath}} COMMAND --help" for more about a command.{{end}}{{if .HasFlags}}{{if .Flags.Lookup "kubeconfig"}}

kubectl's other flags for the connection (--server, --token, --user, --as-group,
...) work, too.{{end}}{{end}}
`

// Main runs the program that args call, as os.Args does, and returns the status
// to end with: 0, 1 for differences, 2 and more for errors.
func Main(ctx context.Context, args []string, streams Streams) int {
	name := programName(args[0])
	root := NewCommand(name, streams)
	root.SetArgs(argumentsOf(args))
	return terminal.Finish(root.ExecuteContext(ctx), name, streams.Err)
}

// completionProgram is what kubectl runs to complete the arguments of the plugin:
// a link to this program. Source: kubectl help plugin.
const completionProgram = "kubectl_complete-holdfast"

// argumentsOf are the arguments of the program. Under the name by which kubectl
// asks for completions they are what is to be completed.
func argumentsOf(args []string) []string {
	if strings.TrimSuffix(filepath.Base(args[0]), ".exe") == completionProgram {
		return append([]string{cobra.ShellCompRequestCmd}, args[1:]...)
	}
	return args[1:]
}

// programName is what people type. A program named kubectl-NAME is a plugin and
// is called as `kubectl NAME`.
func programName(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), ".exe")
	if plugin, ok := strings.CutPrefix(name, "kubectl-"); ok {
		return "kubectl " + plugin
	}
	return "holdfast"
}

// NewCommand is the whole command line. name is how it calls itself in texts.
func NewCommand(name string, streams Streams) *cobra.Command {
	root := &cobra.Command{
		Use:               "holdfast",
		Annotations:       map[string]string{cobra.CommandDisplayNameAnnotation: name},
		Short:             "Hold exactly the fields you name on any Kubernetes object",
		Long:              rootLong,
		Version:           version.String(),
		Args:              knownCommand,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors:     true, // terminal.Finish tells them
		SilenceUsage:      true, // it would hide them
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	root.SetUsageTemplate(usageTemplate)
	root.Flags().Bool("version", false, "print which version this is") // cobra's own takes -v
	root.SetFlagErrorFunc(flagError)
	addCommands(root, name, streams)
	return root
}

// Commands are in the order in which people need them, and not of the alphabet.
func init() { cobra.EnableCommandSorting = false }

// newCommand makes a command of the program called name.
type newCommand func(name string, streams Streams) *cobra.Command

// addCommands adds every command, those of one purpose together.
func addCommands(root *cobra.Command, name string, streams Streams) {
	for _, group := range []struct {
		id, title string
		commands  []newCommand
	}{
		{"see", "See what is", []newCommand{newGetCommand, newStatusCommand, newExplainCommand, newTreeCommand}},
		{"foresee", "See what would be", []newCommand{newPlanCommand, newDiffCommand, newSchemaCommand, newRenderCommand, newTranslateCommand, newToscaCommand}},
		{"change", "Change it", []newCommand{
			newSubmitCommand, newSuspendCommand, newResumeCommand, newReconcileCommand, newDeleteCommand,
		}},
		{"set-up", "Set up", []newCommand{newInstallCommand, newCompletionCommand, newVersionCommand}},
	} {
		root.AddGroup(&cobra.Group{ID: group.id, Title: group.title})
		for _, newOne := range group.commands {
			cmd := newOne(name, streams)
			cmd.GroupID = group.id
			root.AddCommand(cmd)
		}
	}
}

// knownCommand refuses what is no command, and suggests one.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	names := make([]string, 0, len(cmd.Commands()))
	for _, command := range cmd.Commands() {
		names = append(names, command.Name())
	}
	return &terminal.UsageError{Command: cmd.CommandPath(), Err: fmt.Errorf("there is no command %q%s", args[0], suggest.DidYouMean(args[0], names))}
}

// flagError says which flag a mistyped one may have been.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		var names []string
		cmd.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
		typed := unknown.GetSpecifiedName()
		err = fmt.Errorf("there is no flag --%s%s", typed, suggest.DidYouMean("--"+typed, withPrefix("--", names)))
	}
	return &terminal.UsageError{Command: cmd.CommandPath(), Err: err}
}

func withPrefix(prefix string, names []string) []string {
	prefixed := make([]string, len(names))
	for i, name := range names {
		prefixed[i] = prefix + name
	}
	return prefixed
}
