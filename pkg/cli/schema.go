package cli

import (
	"github.com/spf13/cobra"
)

const schemaLong = `Create and check observer schemas.

An observer schema names the fields of an Application's resources that are held.
docs/semantics.md has its rules.`

func newSchemaCommand(name string, streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use: "schema", Short: "Create and check observer schemas", Long: schemaLong,
		Args: knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newSchemaDefaultCommand(name, streams),
		newSchemaRenderCommand(name, streams),
		newSchemaValidateCommand(name, streams),
		newSchemaSuggestCommand(name, streams),
	)
	return cmd
}
