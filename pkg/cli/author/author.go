package author

import (
	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/pkg/cli/command"
	"holdfast.dev/holdfast/pkg/cli/terminal"
)

const authorLong = `Print and check what the authors of Applications write: observer schemas, custom
resources with a built-in template, and TOSCA templates.`

// NewCommand returns the command author, with the commands for authors. They are not in the help of the program, because
// other users do not need them.
func NewCommand(name string, streams terminal.Streams) *cobra.Command {
	return command.Group("author", "Print and check schemas and templates", authorLong,
		newSchemaCommand(name, streams),
		newRenderCommand(name, streams),
		newTranslateCommand(name, streams),
		newTOSCACommand(name, streams),
	)
}
