package cli

import "github.com/spf13/cobra"

// Group is the commands of one purpose.
type Group struct {
	// Title is what they are for; Commands are their names.
	Title    string
	Commands []string
}

// Groups are all commands by purpose, in the order of the help.
func Groups() []Group {
	root := NewCommand("holdfast", Streams{})
	var groups []Group
	for _, group := range root.Groups() {
		groups = append(groups, Group{group.Title, commandsOf(root, group.ID)})
	}
	return groups
}

func commandsOf(root *cobra.Command, group string) []string {
	var names []string
	for _, cmd := range root.Commands() {
		if cmd.GroupID == group && cmd.IsAvailableCommand() {
			names = append(names, cmd.Name())
		}
	}
	return names
}
