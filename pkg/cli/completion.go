package cli

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/pkg/cli/command"
)

const completionLong = `Print a shell completion script for commands, flags, names of Applications and
KIND/NAME of their resources.

If the program is a kubectl plugin, kubectl completes its arguments. This needs a
link named kubectl_complete-holdfast:

  ln -s "$(command -v kubectl-holdfast)" ~/bin/kubectl_complete-holdfast

It may also be a script that runs: kubectl holdfast __complete "$@"`

const completionExample = `
  # In this session of bash (needs the package bash-completion)
  source <(holdfast completion bash)

  # In every new session of bash
  holdfast completion bash > /etc/bash_completion.d/holdfast

  # In zsh
  holdfast completion zsh > "${fpath[1]}/_holdfast"

  # In fish
  holdfast completion fish > ~/.config/fish/completions/holdfast.fish
`

// newCompletionCommand returns the command that prints completion scripts. The scripts call this program with the
// hidden command __complete, so they need no update with the program.
func newCompletionCommand(name string, streams Streams) *cobra.Command {
	// cmd gets its parent later, so only the options, which run then, can find the root.
	var cmd *cobra.Command
	cmd = command.Spec{
		Use: "completion bash|zsh|fish", Short: "Print a shell completion script",
		Long: completionLong, Example: completionExample, Statuses: []string{"printed"},
		Args: command.Exactly("the name of a shell"),
		Options: func(args []string) (command.Run, error) {
			run := func(context.Context) error { return writeCompletion(streams.Out, cmd.Root(), args[0]) }
			return run, knownShell(args[0])
		},
		Complete: func(_ context.Context, args []string, _ string) []string {
			if len(args) > 0 {
				return nil
			}
			return shells
		},
	}.Build(name)
	return cmd
}

var shells = []string{"bash", "zsh", "fish"}

// knownShell returns an error unless there is a completion script for a shell.
func knownShell(shell string) error {
	if slices.Contains(shells, shell) {
		return nil
	}
	return fmt.Errorf("no completion script for %q: use bash, zsh or fish", shell)
}

// writeCompletion writes the completion script of the entire command line for a known shell.
func writeCompletion(out io.Writer, root *cobra.Command, shell string) error {
	switch shell {
	case "bash":
		return root.GenBashCompletionV2(out, true)
	case "zsh":
		return root.GenZshCompletion(out)
	}
	return root.GenFishCompletion(out, true)
}
