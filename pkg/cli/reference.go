package cli

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// referenceIntro begins docs/cli.md.
const referenceIntro = `<!-- Generated from the commands by ` + "`make generate`" + `: do not edit. -->

# The command line

` + "`holdfast`" + ` submits Applications, shows how they are, and what the controller would do about them, with the engine of the controller. Installed as
` + "`kubectl-holdfast`" + ` it answers ` + "`kubectl holdfast`" + `. Data is written to standard output and messages to standard error; colours are used on a terminal only,
never alone, and not where ` + "`NO_COLOR`" + ` is set. Values of Secrets are masked.

`

// Reference is docs/cli.md: every command with its help.
func Reference() []byte {
	root := NewCommand("holdfast", Streams{})
	var b bytes.Buffer
	b.WriteString(referenceIntro)
	commandTable(&b, root)
	for _, cmd := range commandsBelow(root) {
		if cmd.HasSubCommands() {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n", cmd.CommandPath())
		fmt.Fprintf(&b, "```text\n%s\n```\n", strings.TrimSpace(cmd.Long))
		fmt.Fprintf(&b, "\n```sh\n%s\n```\n\n", strings.TrimSpace(undented(usageLines(cmd))))
		flagTable(&b, cmd)
	}
	b.WriteString("\nkubectl's other flags for the connection (`--server`, `--token`, `--user`, `--as-group`, …) work with every command that asks a cluster.\n")
	return b.Bytes()
}

func usageLines(cmd *cobra.Command) string {
	return cmd.UseLine() + "\n\n" + undented(cmd.Example)
}

// undented takes two spaces off each line.
func undented(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(line, "  ")
	}
	return strings.Join(lines, "\n")
}

// commandTable has a row for each command, and leads to it.
func commandTable(b *bytes.Buffer, root *cobra.Command) {
	b.WriteString("| command | what it does |\n|---|---|\n")
	for _, row := range CommandTable(root) {
		anchor := strings.ReplaceAll(row[0], " ", "-")
		fmt.Fprintf(b, "| [`%s`](#%s) | %s |\n", row[0], anchor, row[1])
	}
}

// CommandTable is every command and what it does, in the order of the help.
func CommandTable(root *cobra.Command) [][2]string {
	var rows [][2]string
	for _, cmd := range commandsBelow(root) {
		if !cmd.HasSubCommands() {
			rows = append(rows, [2]string{cmd.CommandPath(), cmd.Short})
		}
	}
	return rows
}

// commandsBelow are all commands that a program has and shows, those of one
// purpose together.
func commandsBelow(cmd *cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	add := func(group string) {
		for _, below := range cmd.Commands() {
			if below.GroupID == group && below.IsAvailableCommand() {
				all = append(append(all, below), commandsBelow(below)...)
			}
		}
	}
	for _, group := range cmd.Groups() {
		add(group.ID)
	}
	add("")
	return all
}

func flagTable(b *bytes.Buffer, cmd *cobra.Command) {
	b.WriteString("| flag | |\n|---|---|\n")
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if flag.Hidden || flag.Name == "help" {
			return
		}
		value, usage := pflag.UnquoteUsage(flag)
		name := "`--" + flag.Name
		if flag.Shorthand != "" {
			name = "`-" + flag.Shorthand + "`, " + name
		}
		if value != "" {
			name += " " + strings.ReplaceAll(value, "|", "\\|")
		}
		if isShown(flag.DefValue) {
			usage += " (default " + flag.DefValue + ")"
		}
		fmt.Fprintf(b, "| %s` | %s |\n", name, strings.ReplaceAll(usage, "|", "\\|"))
	})
}

// isShown reports whether a default says something.
func isShown(value string) bool {
	return value != "" && value != "false" && value != "[]" && value != "0" && value != "none"
}
