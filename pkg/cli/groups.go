package cli

import "github.com/spf13/cobra"

// Group is a set of commands with the same purpose.
type Group struct {
	// Title describes the purpose. Commands are the names of the commands.
	Title    string
	Commands []string
}

// Groups returns all commands by purpose, in the order of the help.
func Groups() []Group {
	root := NewCommand("holdfast", Streams{})
	var groups []Group
	for _, group := range root.Groups() {
		groups = append(groups, Group{group.Title, commandsOf(root, group.ID)})
	}
	return groups
}

// commandsOf returns the names of the visible commands in a group.
func commandsOf(root *cobra.Command, group string) []string {
	var names []string
	for _, cmd := range root.Commands() {
		if cmd.GroupID == group && cmd.IsAvailableCommand() {
			names = append(names, cmd.Name())
		}
	}
	return names
}
