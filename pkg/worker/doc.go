// Package worker is the work loop of a controller. Workers take keys from a queue, handle them, and handle them again
// after the requested time. Failures are retried with backoff. A panic does not stop the other workers.
//
// A workqueue gives a key to one worker at a time, and merges additions of a key that waits. So Handle needs no lock
// for the state of one key. A key that is added while it is handled is handled again afterwards, so no change is
// missed.
//
// Groups of keys, such as namespaces, take turns, and a group whose keys run for a long time leaves places to the others.
//
//	loop := worker.Loop[string]{Queue: worker.NewQueue("names", group), Group: group, Workers: 4, Handle: handle, Logger: logger}
//	loop.Run(ctx)
package worker
