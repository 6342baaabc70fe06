// Package hooks is what takes part in the life of an Application: the points at
// which listeners are called, and the listeners that Holdfast brings along.
//
//   - complete: the workload says that its work is done (Callback.Mangle)
//   - shutdown: the workload finishes its work before it is deleted (NextShutdown)
//   - generate: keys of a Secret that are filled once, with random text (Generate)
//   - services: the address of each Service (Endpoint)
//
// Everything here is pure: a listener gets an event with all that it may know,
// randomness and time included, and changes the event. Calling a workload,
// listening for its answer and writing to the cluster are the controller's.
//
//	h := hooks.New()
//	h.ApplicationMangling.Listen("label", func(m *hooks.Mangling) error {
//		for i := range m.Objects { … }
//		return nil
//	})
//
// Source: docs/hooks.md.
package hooks
