// Package controller holds Applications: it watches them and their objects, calls package plan to decide,
// executes the plan, and reports the outcome.
//
// The package itself decides only when to retry. One worker reconciles one Application at a time. All state
// that it needs after a restart is in the Application's status and in the tracking metadata of the objects.
//
//	c := controller.New(client, controller.Options{Concurrency: 16})
//	err := c.Run(ctx)
package controller
