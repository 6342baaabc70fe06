// Package controller holds Applications: it watches them and their objects, has
// package plan decide, executes what it decided, and reports.
//
// It decides nothing itself but when to try again. One worker handles one
// Application at a time; everything it needs to know survives a restart in the
// Application's status and in the marks on the objects.
//
//	c := controller.New(client, controller.Options{Concurrency: 16})
//	err := c.Run(ctx)
package controller
