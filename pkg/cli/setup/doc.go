// Package setup contains the commands with which an administrator installs, checks and uninstalls Holdfast. It finds
// out how Holdfast is installed in a cluster, so that each remedy is a command for that way.
//
// It also knows the rights that an Application needs: check prints them as roles, and submit reports missing ones.
//
//	for _, construct := range setup.Commands() {
//		root.AddCommand(construct("holdfast", streams))
//	}
package setup
