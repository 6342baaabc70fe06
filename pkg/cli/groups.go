package cli

// Group is a set of commands with the same purpose.
type Group struct {
	// Title describes the purpose. Commands are the names of the commands.
	Title    string
	Commands []string
}

// Groups returns all commands by purpose, in the order of the help. The README lists the commands in this way;
// `author` has no group.
func Groups() []Group {
	root := NewCommand("holdfast", Streams{})
	var groups []Group
	for _, group := range root.Groups() {
		var names []string
		for _, cmd := range root.Commands() {
			if cmd.GroupID == group.ID && cmd.IsAvailableCommand() {
				names = append(names, cmd.Name())
			}
		}
		groups = append(groups, Group{group.Title, names})
	}
	return groups
}
