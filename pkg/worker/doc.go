// Package worker is the work loop of a controller. Workers take keys from a queue, handle them, and handle
// them again after the requested time. Failures are retried with backoff. A panic does not stop the other
// workers.
package worker
