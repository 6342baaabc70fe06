// Package command makes commands. A Spec describes one without cobra: its texts, flags, arguments and completions. The
// package also writes the help of flags, and the errors about arguments and flags.
//
// A command validates all flags before it runs:
//
//	o := &versionOptions{streams: streams}
//	cmd := command.Spec{
//		Use: "version", Short: "Print the version", Statuses: []string{"printed"},
//		Args: command.AtMost(0), Flags: o.add, Options: o.options,
//	}.Build("holdfast")
package command
