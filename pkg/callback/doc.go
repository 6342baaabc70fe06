// Package callback is the server that workloads call: to say that their work is
// done, that they have shut down, or to ask for a reconcile. Every replica of the
// controller runs it. It decides nothing: a call that is accepted becomes an
// annotation of the Application, which the controller that leads acts on, so that
// nothing is lost when a process dies in between.
//
//	server := callback.NewServer(callback.Options{Lookup: lookup, Accept: accept, …})
//	err := server.Serve(ctx, listener, authority.TLS())
//
// Who calls shows a token. Tokens have 256 bits, are good for one purpose of one
// Application, and are known here by their SHA-256 digests in its status.
// Source: docs/hooks.md, docs/security.md.
package callback
