package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
)

func TestProgramName(t *testing.T) {
	for path, want := range map[string]string{
		"holdfast":                    "holdfast",
		"/usr/bin/holdfast-v1":        "holdfast",
		"/usr/bin/kubectl-holdfast":   "kubectl holdfast",
		"kubectl-holdfast.exe":        "kubectl holdfast",
		"/home/me/go/bin/holdfast.go": "holdfast",
	} {
		assert.Equal(t, want, programName(path), path)
	}
}

// shownBelow returns the commands below a command, without hidden ones.
func shownBelow(command *cobra.Command) (all []*cobra.Command) {
	for _, below := range command.Commands() {
		if below.IsAvailableCommand() {
			all = append(append(all, below), shownBelow(below)...)
		}
	}
	return all
}

func TestHelpFitsAnOldTerminal(t *testing.T) {
	root := NewCommand("kubectl holdfast", Streams{})
	for _, command := range append(shownBelow(root), root) {
		var help strings.Builder
		command.SetOut(&help)
		assert.NoError(t, command.Help())
		for line := range strings.Lines(help.String()) {
			assert.LessOrEqual(t, len([]rune(strings.TrimSuffix(line, "\n"))), 80, "%s: %s", command.Name(), line)
		}
		if command.Parent() == root && command.Name() != "author" {
			assert.NotEmpty(t, command.GroupID, "%s is in the help of the program", command.Name())
		}
		if !command.HasSubCommands() {
			assert.Contains(t, help.String(), "\nExit status:\n", command.Name())
			assert.NotEmpty(t, command.Example, command.Name())
		}
	}
}

// Users find a command faster if there are few.
func TestFewCommands(t *testing.T) {
	root := NewCommand("holdfast", Streams{})
	top, leaves := 0, 0
	for _, command := range shownBelow(root) {
		if command.Parent() == root && command.Name() != "author" {
			top++
		}
		if !command.HasSubCommands() {
			leaves++
		}
	}
	assert.Equal(t, 19, top, "commands in the help of the program")
	assert.LessOrEqual(t, leaves, 23)
}

func TestFlagHelpOmitsPlaceholder(t *testing.T) {
	for _, command := range shownBelow(NewCommand("holdfast", Streams{})) {
		command.Flags().VisitAll(func(flag *pflag.Flag) {
			if name, usage, _ := FlagUsage(flag); name != "" && !flag.Hidden {
				assert.False(t, strings.HasPrefix(usage, name), "%s --%s: %s", command.Name(), flag.Name, usage)
			}
		})
	}
}
