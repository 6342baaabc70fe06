// Package worker is the work loop of a controller. Workers take keys from a queue, handle them, and handle them again
// after the requested time. Failures are retried with backoff. A panic does not stop the other workers.
//
// A workqueue gives a key to one worker at a time, and merges additions of a key that waits. So Handle needs no lock
// for the state of one key. A key that is added while it is handled is handled again afterwards, so no change is
// missed.
//
//	loop := worker.Loop[string]{Queue: worker.NewQueue[string]("names"), Workers: 4, Handle: handle, Logger: logger}
//	loop.Run(ctx)
package worker
