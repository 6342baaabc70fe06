// Package controller holds Applications: it watches them and their objects, calls package plan to decide, executes
// the plan, and reports the outcome.
//
// The package itself decides only when to retry. One worker reconciles one Application at a time. All state that it
// needs after a restart is in the Application's status and in the tracking metadata of the objects.
//
//	c := controller.New(client, controller.Options{Concurrency: 16})
//	err := c.Run(ctx)
//
// # Goroutines
//
//	watches       one reflector per ApplicationStore and namespace, and per kind of objects
//	workers       Options.Concurrency goroutines take Applications from registry.queue
//	templates     4 workers for custom resources, if there are templates
//	profiles      1 worker for HoldProfiles
//	objectEvents  1 goroutine sends events on held objects
//	sources       one goroutine per template or archive that is being fetched
//	calls         one goroutine per workload that is being called for a shutdown
//
// Only the workers change objects and statuses of Applications. The goroutines of watches only update stores, and
// queue Applications. The queue gives an Application to one worker at a time, so a worker needs no lock for the State
// of its Application. The registry stores the state that several goroutines use.
//
// # Locks
//
// Several types have a mutex of their own. They are acquired in this order only:
//
//	Profiles.mu, Namespaces.mu, kindWaits.mu, Watches.mu  →  registry.mu, Mapper.mu, Store.mu
//
// Code that holds registry.mu calls only the queue. Callbacks of stores run without the lock of the store.
//
// # Start and stop
//
// Run starts the watches, and waits for the lists of Applications and slices. It then waits until this process leads,
// and only then starts the workers. When its context ends, running reconciles have Options.Drain to finish. Then the
// postponed reports are written, and Run waits for the watches. If another process leads (ErrNotLeading), the running
// reconciles are canceled at once, and no report is written.
package controller
