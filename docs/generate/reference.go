package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/pkg/cli"
	"holdfast.dev/holdfast/pkg/cli/command"
	"holdfast.dev/holdfast/pkg/cli/connection"
)

// referenceIntro is the beginning of docs/cli.md.
const referenceIntro = `<!-- Generated from the commands by ` + "`make generate`" + `: do not edit. -->

# The command line

Install ` + "`holdfast`" + ` as ` + "`kubectl-holdfast`" + ` to call it as ` + "`kubectl holdfast`" + `. Data is written to standard output, and messages to standard error.
Output has colors on a terminal only, and not if ` + "`NO_COLOR`" + ` is set. Values of Secrets are masked.

Exit status 0 is success, and 2 an error, for example in the flags. A section lists the other statuses of its command. ` + "`holdfast help COMMAND`" + ` has
more examples. The flags ` + "`--filename` and `--observer-schema`" + ` take a file, a directory, a URL, or ` + "`-`" + ` for standard input. You can repeat them.

Without a cluster, as in ` + "`diff -f` and `--dry-run=client`" + `, the commands know the kinds of Kubernetes 1.36. They also know the kinds that
CustomResourceDefinitions in the files define. For these kinds they know the scope, the [list types](semantics.md#lists) and the fields. They report no
unknown fields of other kinds. In a cluster they get other kinds and newer fields from the API server; ` + "`author schema -O` needs `--cluster`" + ` for that.

An unknown field is a warning. ` + "`submit` and `author schema -O`" + ` have ` + "`--strict`" + `, which makes it an error. A field of the live object is always known.

`

// filesUsage begins the part of the help of flags for files that referenceIntro describes. The reference omits
// that part.
const filesUsage = ": a file, a directory, a URL, or - for standard input"

// reference returns docs/cli.md: every command with its help. It describes flags and paragraphs that several
// commands have only once, and omits examples that show no other flags. `make generate` writes the file, and a test
// compares it. The text is made from the commands, so it cannot be outdated.
func reference() []byte {
	root := cli.NewCommand("holdfast", cli.Streams{})
	var b bytes.Buffer
	b.WriteString(referenceIntro)
	commandList(&b, root)
	common, described := commonFlags(root), map[string]string{}
	for _, cmd := range commandsBelow(root) {
		if cmd.HasSubCommands() {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n", cmd.CommandPath())
		fmt.Fprintf(&b, "```text\n%s\n```\n", description(cmd, described))
		fmt.Fprintf(&b, "\n```sh\n%s\n```\n", strings.Join(append([]string{cmd.UseLine()}, usefulExamples(cmd)...), "\n\n"))
		flagList(&b, cmd, common)
	}
	b.WriteString("\n## Common flags\n\nConnection flags, as in kubectl:\n\n")
	var others []string
	for _, row := range slices.Sorted(maps.Keys(common)) {
		if common[row] == connectionGroup {
			b.WriteString(row)
		} else {
			others = append(others, row)
		}
	}
	b.WriteString("\nkubectl's other flags for the connection (`--server`, `--token`, `--user`, `--as-group`, …) work, too. The other common flags:\n\n")
	b.WriteString(strings.Join(others, ""))
	return b.Bytes()
}

// description returns the long help of a command without common exit statuses, and without paragraphs that described
// has from an earlier command. It adds the paragraphs to described.
//
//	Long of a command                      the reference
//	a paragraph of an earlier command      See "holdfast diff" for files and live objects.
//	Exit status: only 0 and 2              omitted
//	Exit status: 0, 1 and 2                without the line for 2
func description(cmd *cobra.Command, described map[string]string) string {
	var kept []string
	for paragraph := range strings.SplitSeq(strings.TrimSpace(cmd.Long), "\n\n") {
		if statuses, is := strings.CutPrefix(paragraph, "Exit status:\n"); is {
			if statuses = specialStatuses(statuses); statuses != "" {
				kept = append(kept, "Exit status:\n"+statuses)
			}
			continue
		}
		earlier, known := described[paragraph]
		if known {
			paragraph = fmt.Sprintf("See %q for files and live objects.", earlier)
		} else {
			described[paragraph] = cmd.CommandPath()
		}
		kept = append(kept, paragraph)
	}
	return strings.Join(kept, "\n\n")
}

// specialStatuses returns the lines of exit statuses that differ from the common ones: 0 is success, and 2 an error.
func specialStatuses(lines string) string {
	if !strings.Contains("\n"+lines, "\n  1  ") && strings.Contains(lines, "\n  2  an error") {
		return ""
	}
	lines, _, _ = strings.Cut(lines, "\n  2  an error")
	return lines
}

// usefulExamples returns the examples of a command that use a flag, or a number of arguments, that no earlier example
// uses. One argument is in the usage line.
//
//	# A comment        kept: the first example with -f
//	holdfast diff -f a.yaml
//
//	# Another          omitted: it shows no other flag
//	holdfast diff -f b.yaml
func usefulExamples(cmd *cobra.Command) []string {
	var found []string
	used := map[string]bool{"0": true, "1": true}
	for example := range strings.SplitSeq(strings.TrimSpace(strings.ReplaceAll("\n"+cmd.Example, "\n  ", "\n")), "\n\n") {
		_, line, _ := strings.Cut(example, "\n")
		arguments, isNew := 0, false
		for _, word := range strings.Fields(strings.TrimPrefix(line, cmd.CommandPath())) {
			if !strings.HasPrefix(word, "-") {
				arguments++
				continue
			}
			flag, _, _ := strings.Cut(word, "=")
			isNew = isNew || !used[flag]
			used[flag] = true
		}
		count := strconv.Itoa(arguments)
		if isNew || !used[count] {
			found = append(found, example)
		}
		used[count] = true
	}
	return found
}

// commandList writes an item for each group of commands, with links to their sections.
//
//   - Inspect: [`get`](#holdfast-get), [`status`](#holdfast-status), ...
func commandList(b *bytes.Buffer, root *cobra.Command) {
	for _, group := range append(root.Groups(), &cobra.Group{Title: "For authors of Applications"}) {
		var links []string
		for _, cmd := range root.Commands() {
			if cmd.GroupID != group.ID || !cmd.IsAvailableCommand() {
				continue
			}
			for _, leaf := range append(commandsBelow(cmd), cmd) {
				if path := leaf.CommandPath(); !leaf.HasSubCommands() {
					links = append(links, fmt.Sprintf("[%#q](#%s)", strings.TrimPrefix(path, root.Name()+" "), strings.ReplaceAll(path, " ", "-")))
				}
			}
		}
		fmt.Fprintf(b, "* %s: %s\n", group.Title, strings.Join(links, ", "))
	}
}

// commandsBelow returns all visible commands of a program, grouped by purpose. Commands without a group are last.
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

// connectionGroup is the name of all connection flags in the list of a command.
const connectionGroup = "connection"

// commonFlags returns the names of the flags that several commands have, by their line in the reference. The
// name of a connection flag is connectionGroup. If commands describe flags of one name differently, only a
// line of at least three commands is common.
//
//	flag         commands                        common
//	--wait       3, with the same usage          yes
//	--output     5 and 4, with two usages        both lines
//	--all        1                               no
func commonFlags(root *cobra.Command) map[string]string {
	lines, ofConnection := map[string]map[string]int{}, map[string]bool{} // by name, and by line
	for _, cmd := range commandsBelow(root) {
		shownFlags(cmd, func(flag *pflag.Flag) {
			if lines[flag.Name] == nil {
				lines[flag.Name] = map[string]int{}
			}
			lines[flag.Name][flagLine(flag)]++
			ofConnection[flagLine(flag)] = connection.IsConnection(flag)
		})
	}
	common := map[string]string{}
	for name, commands := range lines {
		for line, count := range commands {
			if count < 2 || count < 3 && len(commands) > 1 {
				continue
			}
			common[line] = "`--" + name + "`"
			if ofConnection[line] {
				common[line] = connectionGroup
			}
		}
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

// flagList writes the flags of a command. It only names the common ones.
func flagList(b *bytes.Buffer, cmd *cobra.Command, common map[string]string) {
	var lines, names []string
	shownFlags(cmd, func(flag *pflag.Flag) {
		name, is := common[flagLine(flag)]
		if !is {
			lines = append(lines, flagLine(flag))
		} else if !slices.Contains(names, name) {
			names = append(names, name)
		}
	})
	if len(lines) > 0 {
		b.WriteString("\n" + strings.Join(lines, ""))
	}
	if len(names) > 0 {
		b.WriteString("\n[Common flags](#common-flags): " + strings.Join(names, ", ") + "\n")
	}
}

// flagLine returns the item of a flag in a list.
//
//   - `-f`, `--filename FILE`: Applications
//   - `--timeout DURATION`: maximum time of --wait; 0: no limit (default 5m0s)
func flagLine(flag *pflag.Flag) string {
	value, usage, standard := command.FlagUsage(flag)
	name := "`--" + flag.Name
	if flag.Shorthand != "" {
		name = "`-" + flag.Shorthand + "`, " + name
	}
	if value != "" {
		name += " " + value
	}
	usage, _, _ = strings.Cut(usage, filesUsage)
	if standard != "" {
		usage += " (default " + standard + ")"
	}
	return fmt.Sprintf("* %s`: %s\n", name, usage)
}
