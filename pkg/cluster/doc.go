// Package cluster is the only package that sends requests to an API server. It resolves kinds, watches the objects of
// Applications, and writes objects as a ServiceAccount.
//
// It makes no decisions. Its watches fill a store.Store per kind.
//
//	kinds := cluster.NewMapper(client)
//	watches := client.NewWatches(handler, cluster.StallTimeouts{})
//	writer, err := client.WriterFor("default", "holdfast-applier")
//
// # Identities
//
// Reads, watches, and writes of Applications use the identity of the controller. Writes of held objects use a Writer,
// which impersonates a ServiceAccount. Its transport rejects a request without a user, so no write of an object can
// have the permissions of the controller.
//
// # Concurrency
//
// Reflectors fill the stores on their own goroutines, one per watch. Workers of the controller read the stores, and
// add the responses to their writes. The lock of Watches is acquired before that of a Store, never after it. Callbacks,
// such as Handler, run without the lock of a Store, on the goroutine of the watch or of the writer. They must not block.
package cluster
