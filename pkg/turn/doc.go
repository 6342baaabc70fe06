// Package turn is one turn of an Application: gather, decide, act, conclude.
//
//	Turns.Take    the table of contents
//	Decide        gather and decide, and nothing more: what `plan` and `diff` do
//	Gather        what is known before anything is decided, a Snapshot
//	act           execute the plan, request by request
//	report        what came of it: status, event, and when to look again
//	finalize      the same for an Application that is being deleted
//
// It reaches a cluster through View (reads) and Target (reads and writes), and the
// API server that has the Applications through Home. The controller implements them
// with stores and a writer, the command line with reads that have the user's rights,
// or with files; the law of this package's tests with a model of an API server in
// memory. So whatever decides, or executes, is written here, once.
//
// What to do is decided in package plan, and nowhere else.
package turn
