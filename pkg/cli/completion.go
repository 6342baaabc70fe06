package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/internal/suggest"
)

const completionLong = `Print a script that has a shell complete commands, flags, names of Applications
and KIND/NAME of their resources.

As a plugin of kubectl the program is completed by kubectl itself, if a link named
kubectl_complete-holdfast leads to it:

  ln -s "$(command -v kubectl-holdfast)" ~/bin/kubectl_complete-holdfast

It may also be a script that runs: kubectl holdfast __complete "$@"

Exit status:
  0  printed
  2  an error, also one in the flags`

const completionExample = `
  # In this bash (needs the package bash-completion)
  source <(holdfast completion bash)

  # In each bash to come
  holdfast completion bash > /etc/bash_completion.d/holdfast

  # In zsh
  holdfast completion zsh > "${fpath[1]}/_holdfast"

  # In fish
  holdfast completion fish > ~/.config/fish/completions/holdfast.fish
`

type completionOptions struct {
	streams Streams
	root    *cobra.Command
	shell   string
}

func newCompletionCommand(name string, streams Streams) *cobra.Command {
	var cmd *cobra.Command
	cmd = command{
		use: "completion bash|zsh|fish", short: "Print a script for the completion of a shell",
		long: completionLong, example: completionExample,
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

func knownShell(shell string) error {
	for _, known := range shells {
		if shell == known {
			return nil
		}
	}
	return fmt.Errorf("there is no script for %q%s: there is one for bash, zsh and fish", shell, suggest.DidYouMean(shell, shells))
}

func (o completionOptions) run(context.Context) error {
	switch o.shell {
	case "bash":
		return o.root.GenBashCompletionV2(o.streams.Out, true)
	case "zsh":
		return o.root.GenZshCompletion(o.streams.Out)
	default:
		return o.root.GenFishCompletion(o.streams.Out, true)
	}
}
