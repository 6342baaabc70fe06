// Package cluster is the only package that sends requests to an API server. It resolves kinds, watches the
// objects of Applications, and writes objects as a ServiceAccount.
//
// It makes no decisions. It provides the controller with a Store per kind that is never older than the
// controller's last write, so that a lagging watch cannot cause a second write.
//
//	kinds := cluster.NewMapper(client)
//	watches := client.NewWatches(handler, cluster.StallTimeouts{})
//	writer, err := client.WriterFor("default", "holdfast-applier")
package cluster
