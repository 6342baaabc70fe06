// Package notify tells another system, over HTTP, what the controller does: as
// CloudEvents 1.0 in structured mode, one request each, signed if there is a key.
//
// An event is sent until the receiver answers with a status of 2xx, the same event
// with the same ID; a receiver that gets one twice leaves the second out. There is
// one request at a time, and a queue before it that is bounded: what does not fit is
// dropped and counted. When it is to end, what waits is sent for a few seconds more.
//
// Redirects are not followed, and no proxy or cookies are used. Errors do not have
// the URL, which may have a token in it.
//
//	s, err := notify.New(notify.Options{URL: "https://example.com/hook", Key: key})
//	go s.Run(ctx)
//	s.Send("dev.holdfast.corrected", "/applications/shop/web", "Deployment/web", data)
package notify
