// Package audit takes the audit events of API servers, and says who wrote which version of
// which object: by the UID and the resourceVersion of the object in the response.
//
// Of an event it reads who, from where, what kind of request, and of the response the
// metadata alone; of one about Secrets not even that. What it keeps is bounded, in number
// and time. A name that comes before it is asked for is kept for a while, and one that
// comes later is told.
//
// Whoever may send events can put names into the history: the server is to be given TLS,
// with certificates of clients, a token, or both.
//
//	users := audit.NewUsers(time.Now)
//	users.Tell(func(application types.UID) { … })
//	err := audit.Serve(ctx, listener, config, &audit.Handler{Users: users})
package audit
