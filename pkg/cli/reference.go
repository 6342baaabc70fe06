package cli

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// referenceIntro is the beginning of docs/cli.md.
const referenceIntro = `<!-- Generated from the commands by ` + "`make generate`" + `: do not edit. -->

# The command line

` + "`holdfast`" + ` submits Applications, shows how they are, and what the controller would do about them, with the engine of the controller. Installed as
` + "`kubectl-holdfast`" + ` it answers ` + "`kubectl holdfast`" + `. Data is written to standard output and messages to standard error; colours are used on a terminal only,
never alone, and not where ` + "`NO_COLOR`" + ` is set. Values of Secrets are masked.

`

// Reference returns docs/cli.md: every command with its help. Flags that several commands have are
// described only once.
func Reference() []byte {
	root := NewCommand("holdfast", Streams{})
	var b bytes.Buffer
	b.WriteString(referenceIntro)
	commandTable(&b, root)
	common := commonFlags(root)
	for _, cmd := range commandsBelow(root) {
		if cmd.HasSubCommands() {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n", cmd.CommandPath())
		fmt.Fprintf(&b, "```text\n%s\n```\n", strings.TrimSpace(cmd.Long))
		fmt.Fprintf(&b, "\n```sh\n%s\n```\n\n", strings.TrimSpace(undented(usageLines(cmd))))
		flagTable(&b, cmd, common)
	}
	b.WriteString("\n## Common flags\n\n| flag | |\n|---|---|\n")
	for _, row := range slices.Sorted(maps.Keys(common)) {
		b.WriteString(row)
	}
	b.WriteString("\nkubectl's other flags for the connection (`--server`, `--token`, `--user`, `--as-group`, …) work with every command that asks a cluster.\n")
	return b.Bytes()
}

func usageLines(cmd *cobra.Command) string {
	return cmd.UseLine() + "\n\n" + undented(cmd.Example)
}

// undented removes two spaces of indentation from each line.
func undented(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(line, "  ")
	}
	return strings.Join(lines, "\n")
}

// commandTable writes a row for each command, with a link to its section.
func commandTable(b *bytes.Buffer, root *cobra.Command) {
	b.WriteString("| command | what it does |\n|---|---|\n")
	for _, row := range CommandTable(root) {
		anchor := strings.ReplaceAll(row[0], " ", "-")
		fmt.Fprintf(b, "| [`%s`](#%s) | %s |\n", row[0], anchor, row[1])
	}
}

// CommandTable returns every command and its short description, in the order of the help.
func CommandTable(root *cobra.Command) [][2]string {
	var rows [][2]string
	for _, cmd := range commandsBelow(root) {
		if !cmd.HasSubCommands() {
			rows = append(rows, [2]string{cmd.CommandPath(), cmd.Short})
		}
	}
	return rows
}

// commandsBelow returns all visible commands of a program, grouped by purpose.
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

// commonFlags returns the rows of the flags that at least three commands have, with the names of the flags.
func commonFlags(root *cobra.Command) map[string]string {
	commands, common := map[string]int{}, map[string]string{}
	for _, cmd := range commandsBelow(root) {
		shownFlags(cmd, func(flag *pflag.Flag) {
			row := flagRow(flag)
			if commands[row]++; commands[row] == 3 {
				common[row] = "`--" + flag.Name + "`"
			}
		})
	}
	return common
}

// shownFlags calls a function for each flag that the help of a command shows.
func shownFlags(cmd *cobra.Command, each func(*pflag.Flag)) {
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden && flag.Name != "help" {
			each(flag)
		}
	})
}

// flagTable writes the flags of a command. It only names the common ones.
func flagTable(b *bytes.Buffer, cmd *cobra.Command, common map[string]string) {
	var rows, names []string
	shownFlags(cmd, func(flag *pflag.Flag) {
		if name, is := common[flagRow(flag)]; is {
			names = append(names, name)
		} else {
			rows = append(rows, flagRow(flag))
		}
	})
	if len(rows) > 0 {
		b.WriteString("| flag | |\n|---|---|\n" + strings.Join(rows, "") + "\n")
	}
	if len(names) > 0 {
		b.WriteString("[Common flags](#common-flags): " + strings.Join(names, ", ") + "\n")
	}
}

// flagRow returns the row of a flag in a table.
func flagRow(flag *pflag.Flag) string {
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
	return fmt.Sprintf("| %s` | %s |\n", name, strings.ReplaceAll(usage, "|", "\\|"))
}

// isShown reports whether the help shows a default value.
func isShown(value string) bool {
	return value != "" && value != "false" && value != "[]" && value != "0" && value != "none"
}
