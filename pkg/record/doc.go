// Package record knows in which form an Application stores what its next reconcile depends on. Only the status is
// trusted; the annotation holdfast.dev/creating names objects until the status has them.
//
//	status.lastAppliedManifest, status.mangledObserverSchema    record.go: the last-applied state of each resource
//	status.resources[].baseline, .unrecorded                    baseline.go: original values; held.go: held ones
//	status.accepted                                             accepted.go: the forms that the API server stored
//	holdfast.dev/creating                                       creating.go: objects about to be created
//
// capacity.go adds records while they fit, and translation.go reads a translation back. Package v1alpha1 compresses a
// large status, and package slice moves it to ApplicationSlices. The record of an object is read with its UID: it
// never applies to another object of the same name. A part that cannot be read is skipped.
//
// Package plan decides what is recorded. No function here writes to a cluster or decides about an object.
package record
