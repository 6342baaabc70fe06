// Package hooks contains the extension points in the lifecycle of an Application, and the listeners that
// are built in:
//
//   - complete: the workload reports that it is complete (Callback.Mangle)
//   - shutdown: the workload finishes its work before it is deleted (NextShutdown)
//   - generate: keys of a Secret are filled once with random text (Generate)
//   - services: the address of each Service (Endpoint)
//
// The package is pure: a listener gets an event with all its inputs, including randomness and time, and
// changes the event. The controller calls workloads, receives their callbacks and writes to the cluster.
//
//	h := hooks.New()
//	h.ApplicationMangling.Listen("label", func(m *hooks.Mangling) error {
//		for i := range m.Objects { … }
//		return nil
//	})
//
// Source: docs/hooks.md.
package hooks
