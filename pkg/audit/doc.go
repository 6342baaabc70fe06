// Package audit receives audit events from API servers and records which user wrote which version of an object.
// Versions are identified by the UID and the resourceVersion in the response.
//
// From an event it reads the user, the source address, the verb, and the metadata of the response. It ignores events
// about Secrets. The tables are bounded in size and age. An event can arrive before or after its version is looked
// up: early events are kept for a while, and for late events the Application is notified.
//
// Any client that can send events can put names into the history of an Application. Therefore the server needs TLS
// and must authenticate its clients by certificate, by token, or both. The result is only information for users: no
// decision depends on it.
//
//	users := audit.NewUsers(time.Now)
//	users.SetNotify(func(application types.UID) { … })
//	err := audit.Serve(ctx, listener, config, &audit.Handler{Users: users})
package audit
