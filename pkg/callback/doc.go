// Package callback is the HTTP server for callbacks of workloads: to report that they are complete or have shut down,
// or to request a reconcile. Every replica of the controller runs it. It makes no decisions: an accepted call is
// recorded as an annotation of the Application. The leader acts on the annotation, so that no call is lost when a
// process dies.
//
//	server := callback.NewServer(callback.Options{Lookup: lookup, Annotate: client.Annotate, …})
//	err := server.Serve(ctx, listener, authority.TLS())
//
// Callers authenticate with a token. A token has 256 bits and is valid for one purpose of one Application. Only its
// SHA-256 digest is stored, in the status of the Application. Source: docs/hooks.md, docs/security.md.
//
// The server is reachable for all Pods of a cluster, so each caller can be hostile. These limits apply:
//
//	connections    in total and per address; a flood costs its own connections first (shares)
//	calls          per address, and for valid tokens per Application (limits)
//	writes         at the same time; calls for one purpose of one Application share a write
//	responses      constant texts; the same for an unknown Application and a wrong token
//
// The package also provides the certificates of the server: its own (ManagedCertificates), or those in files.
package callback
