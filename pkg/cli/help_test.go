package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/pkg/cli/command"
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
func shownBelow(cmd *cobra.Command) (all []*cobra.Command) {
	for _, below := range cmd.Commands() {
		if below.IsAvailableCommand() {
			all = append(append(all, below), shownBelow(below)...)
		}
	}
	return all
}

func TestHelpFitsAnOldTerminal(t *testing.T) {
	root := NewCommand("kubectl holdfast", Streams{})
	for _, cmd := range append(shownBelow(root), root) {
		var help strings.Builder
		cmd.SetOut(&help)
		assert.NoError(t, cmd.Help())
		for line := range strings.Lines(help.String()) {
			assert.LessOrEqual(t, len([]rune(strings.TrimSuffix(line, "\n"))), 80, "%s: %s", cmd.Name(), line)
		}
		if cmd.Parent() == root && cmd.Name() != "author" {
			assert.NotEmpty(t, cmd.GroupID, "%s is in the help of the program", cmd.Name())
		}
		if !cmd.HasSubCommands() {
			assert.Contains(t, help.String(), "\nExit status:\n", cmd.Name())
			assert.NotEmpty(t, cmd.Example, cmd.Name())
		}
	}
}

// Users find a command faster if there are few.
func TestFewCommands(t *testing.T) {
	root := NewCommand("holdfast", Streams{})
	top, leaves := 0, 0
	for _, cmd := range shownBelow(root) {
		if cmd.Parent() == root && cmd.Name() != "author" {
			top++
		}
		if !cmd.HasSubCommands() {
			leaves++
		}
	}
	assert.Equal(t, 19, top, "commands in the help of the program")
	assert.LessOrEqual(t, leaves, 23)
}

func TestFlagHelpOmitsPlaceholder(t *testing.T) {
	for _, cmd := range shownBelow(NewCommand("holdfast", Streams{})) {
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			if name, usage, _ := command.FlagUsage(flag); name != "" && !flag.Hidden {
				assert.False(t, strings.HasPrefix(usage, name), "%s --%s: %s", cmd.Name(), flag.Name, usage)
			}
		})
	}
}
