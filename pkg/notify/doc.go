// Package notify sends events about the controller's actions to another system over HTTP: as CloudEvents 1.0 in
// structured mode, one per request, signed if a key is set.
//
// An event is sent until the receiver responds with status 2xx, always with the same ID, so that receivers can ignore
// duplicates. It is dropped and counted if the receiver rejects its content (400, 413 or 422) five times. Requests are sequential, with a bounded queue. Events that do not fit into the queue are dropped and
// counted. On shutdown, queued events are sent for some more seconds. Events that wait are lost if the process dies.
//
// Because requests are sequential, a receiver gets the events in their order, and a failure delays all later ones.
//
// Redirects are not followed, and proxies and cookies are not used. Errors do not contain the URL, which can contain
// a token.
//
//	s, err := notify.New(notify.Options{URL: "https://example.com/hook", Key: key})
//	go s.Run(ctx)
//	s.Send("dev.holdfast.corrected", "/applications/shop/web", "Deployment/web", data)
package notify
