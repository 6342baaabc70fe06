// Package callback is the HTTP server for callbacks of workloads: to report that they are complete or have
// shut down, or to request a reconcile. Every replica of the controller runs it. It makes no decisions: an
// accepted call is recorded as an annotation of the Application. The leader acts on the annotation, so that
// no call is lost when a process dies.
//
//	server := callback.NewServer(callback.Options{Lookup: lookup, Accept: accept, …})
//	err := server.Serve(ctx, listener, authority.TLS())
//
// Callers authenticate with a token. A token has 256 bits and is valid for one purpose of one Application.
// Only its SHA-256 digest is stored, in the status of the Application. Source: docs/hooks.md,
// docs/security.md.
package callback
