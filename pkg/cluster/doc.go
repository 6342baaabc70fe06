// Package cluster is the only package that talks to an API server: it finds
// kinds, watches the objects of Applications, and writes in the name of a
// ServiceAccount.
//
// It decides nothing. What it offers to the controller is a Store per kind that
// is never older than our own last write, so that a watch that lags behind
// cannot make us write twice.
//
//	kinds := cluster.NewMapper(client)
//	watches := cluster.NewWatches(client.Own, handler, cluster.Patience{})
//	writer, err := client.As("default", "holdfast-applier")
package cluster
