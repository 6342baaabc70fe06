package cli

import "github.com/spf13/cobra"

// formerCommands returns the commands with their former names. They keep their flags and their output, and run
// the code of the commands that replace them. They are hidden, and will be removed in the next version.
//
//	plan                     diff -o yaml
//	release                  free --restore|--leave
//	observe NAME             mode NAME observe
//	schema default           author schema -f
//	schema render            author schema --effective
//	schema validate          author schema -O
//	schema suggest           author schema --from-live
//	render, translate        author render, author translate
//	tosca validate           author tosca
func formerCommands(name string, streams Streams) []*cobra.Command {
	tosca := toscaCommand(streams).deprecate("author tosca")
	tosca.use = "validate FILE|URL|-..."
	all := []*cobra.Command{
		newPlanCommand(name, streams), newReleaseCommand(name, streams), newObserveCommand(name, streams),
		group("schema", "", deprecation(name, "author schema"),
			newSchemaDefaultCommand(name, streams), newSchemaRenderCommand(name, streams),
			newSchemaValidateCommand(name, streams), newSchemaSuggestCommand(name, streams)),
		renderCommand(streams).deprecate("author render").build(name),
		translateCommand(streams).deprecate("author translate").build(name),
		group("tosca", "", deprecation(name, "author tosca"), tosca.build(name)),
	}
	for _, cmd := range all {
		cmd.Hidden = true
	}
	return all
}
