package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/internal/suggest"
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

type completionOptions struct {
	streams Streams
	// root is the entire command line, whose completion is printed.
	root  *cobra.Command
	shell string
}

func newCompletionCommand(name string, streams Streams) *cobra.Command {
	// cmd gets its parent later, so only the options, which run then, can find the root.
	var cmd *cobra.Command
	cmd = command{
		use: "completion bash|zsh|fish", short: "Print a shell completion script",
		long: completionLong, example: completionExample, statuses: []string{"printed"},
		args: exactly("the name of a shell"),
		options: func(args []string) (runner, error) {
			return completionOptions{streams, cmd.Root(), args[0]}, knownShell(args[0])
		},
		complete: func(_ context.Context, args []string, _ string) []string {
			if len(args) > 0 {
				return nil
			}
			return shells
		},
	}.build(name)
	return cmd
}

var shells = []string{"bash", "zsh", "fish"}

// knownShell returns an error with a suggestion unless there is a completion script for a shell.
func knownShell(shell string) error {
	if slices.Contains(shells, shell) {
		return nil
	}
	return fmt.Errorf("no completion script for %q%s: use bash, zsh or fish", shell, suggest.DidYouMean(shell, shells))
}

func (o completionOptions) run(context.Context) error {
	switch o.shell {
	case "bash":
		return o.root.GenBashCompletionV2(o.streams.Out, true)
	case "zsh":
		return o.root.GenZshCompletion(o.streams.Out)
	}
	return o.root.GenFishCompletion(o.streams.Out, true)
}
