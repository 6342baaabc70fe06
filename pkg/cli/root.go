package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/internal/version"
)

const rootLong = `Holdfast holds exactly the fields you name, on any Kubernetes object, and leaves
everything else alone.

An Application lists manifests and, in its observer schema, the fields that are
to be held. These commands show what the controller would do about it.`

// usageTemplate is cobra's with flags that are wrapped for 80 columns.
const usageTemplate = `Usage:
  {{if .HasAvailableSubCommands}}{{.CommandPath}} COMMAND{{else}}{{.UseLine}}{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}

Commands:{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsagesWrapped 80 | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableSubCommands}}

Use "{{.CommandPath}} COMMAND --help" for more about a command.{{end}}
`

// Main runs the program that args call, as os.Args does, and returns the status
// to end with: 0, 1 for differences, 2 and more for errors.
func Main(args []string, streams Streams) int {
	root := NewCommand(programName(args[0]), streams)
	root.SetArgs(args[1:])
	return finish(root.Execute(), streams.Err)
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
		SilenceErrors:     true, // finish tells them
		SilenceUsage:      true, // it would hide them
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	root.SetUsageTemplate(usageTemplate)
	root.Flags().Bool("version", false, "print which version this is") // cobra's own takes -v
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(
		newPlanCommand(name, streams),
		newDiffCommand(name, streams),
		newVersionCommand(name, streams),
	)
	return root
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
	return &usageError{cmd.CommandPath(), fmt.Errorf("there is no command %q%s", args[0], didYouMean(args[0], names))}
}

// flagError says which flag a mistyped one may have been.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		var names []string
		cmd.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
		typed := unknown.GetSpecifiedName()
		err = fmt.Errorf("there is no flag --%s%s", typed, didYouMean("--"+typed, withPrefix("--", names)))
	}
	return &usageError{cmd.CommandPath(), err}
}

// noArguments refuses arguments and says where files belong.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	if cmd.Flags().Lookup("filename") != nil {
		hint = ": give each file with -f or --live"
	}
	return &usageError{cmd.CommandPath(), fmt.Errorf("%q is not a flag, and the command takes nothing else%s", args[0], hint)}
}

// examples puts the name of the program into the examples of a command.
func examples(name, text string) string {
	return strings.ReplaceAll(strings.Trim(text, "\n"), "PROGRAM", name)
}
