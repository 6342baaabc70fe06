package command

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/pkg/cli/connection"
)

// UsageTemplate is cobra's template, with the flags wrapped at 80 columns.
const UsageTemplate = `Usage:
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

// These functions are global in cobra, so they are registered once.
func init() {
	cobra.AddTemplateFunc("ownFlags", func(flags *pflag.FlagSet) string { return flagUsages(flags, false) })
	cobra.AddTemplateFunc("connectionFlags", func(flags *pflag.FlagSet) string { return flagUsages(flags, true) })
}

// flagUsages returns the help of the connection flags, or of the other flags. The help lists connection flags last,
// because they are the same in all commands.
func flagUsages(flags *pflag.FlagSet, ofConnection bool) string {
	shown := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.VisitAll(func(flag *pflag.Flag) {
		if connection.IsConnection(flag) != ofConnection {
			return
		}
		// The copy has other texts; the flag itself must keep them for parsing and completion.
		flag = new(*flag)
		if name, usage, standard := FlagUsage(flag); name != "" {
			if flag.DefValue = standard; standard != "" && flag.Value.Type() == "string" {
				flag.DefValue = strconv.Quote(standard)
			}
			flag.Value, flag.Usage = namedValue{flag.Value, name}, usage
		}
		shown.AddFlag(flag)
	})
	return strings.TrimRight(shown.FlagUsagesWrapped(80), " \n")
}

// namedValue is the value of a flag whose type is the placeholder in the help.
type namedValue struct {
	pflag.Value

	name string
}

// Type returns the placeholder.
func (n namedValue) Type() string { return n.name }

// FlagUsage returns the name of a flag's value, its usage, and its default if the help shows it. A usage that begins
// with a name in backquotes and a colon does not use the name. Defaults that mean "not set" are not shown.
//
//	usage                            name       usage of the result
//	`FILE`: kubeconfig to use        FILE       kubeconfig to use
//	`yaml|json`: print for programs  yaml|json  print for programs
//	do not ask (a boolean)           ""         do not ask
func FlagUsage(flag *pflag.Flag) (name, usage, standard string) {
	name, usage = pflag.UnquoteUsage(flag)
	if !slices.Contains([]string{"false", "[]", "0", "none"}, flag.DefValue) {
		standard = flag.DefValue
	}
	return name, strings.TrimPrefix(usage, name+": "), standard
}
