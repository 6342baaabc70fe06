package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// formerCommands returns the commands with their former names. They keep their flags and their output, and run
// the code of the commands that replace them. They are hidden, and will be removed in the next version.
func formerCommands(name string, streams Streams) []*cobra.Command {
	all := []*cobra.Command{
		newPlanCommand(name, streams), newReleaseCommand(name, streams), newObserveCommand(name, streams),
		group("schema", "", deprecation(name, "author schema"),
			newSchemaDefaultCommand(name, streams), newSchemaRenderCommand(name, streams),
			newSchemaValidateCommand(name, streams), newSchemaSuggestCommand(name, streams)),
		renderCommand(streams).formerly("author render").build(name),
		translateCommand(streams).formerly("author translate").build(name),
		group("tosca", "", deprecation(name, "author tosca"),
			toscaCommand(streams).renamed("validate").formerly("author tosca").build(name)),
	}
	for _, cmd := range all {
		cmd.Hidden = true
	}
	return all
}

// formerly returns a command that is replaced by another one.
func (c command) formerly(instead string) command {
	c.instead = instead
	return c
}

// renamed returns a command with another name.
func (c command) renamed(use string) command {
	_, arguments, _ := strings.Cut(c.use, " ")
	c.use = use + " " + arguments
	return c
}

// deprecation returns the help of a former command.
func deprecation(name, instead string) string {
	return fmt.Sprintf("Deprecated: use `%s %s`.", name, instead)
}

// hint prints the command that replaces a former one.
func hint(w io.Writer, former, name, instead string) {
	fmt.Fprintf(w, "note: `%s` is deprecated: use `%s %s`\n", former, name, instead)
}
