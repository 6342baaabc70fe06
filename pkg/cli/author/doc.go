// Package author contains the commands of the authors of Applications. They print and check what an author writes:
// observer schemas, custom resources with a built-in template, and TOSCA templates. Only some of them read a cluster,
// and none writes to it.
//
//	root.AddCommand(author.NewCommand("holdfast", streams))
package author
