// Package reconcile reconciles one Application: it gathers, decides, acts and reports.
//
//	Reconciler.Reconcile    all steps of one reconciliation
//	Decide                  gathers and decides, and changes nothing: for `plan` and `diff`
//	Gather                  collects the input of the decision, a Snapshot
//	act                     executes the plan, request by request
//	report                  writes the status and an event, and returns when to reconcile again
//	finalize                the same for an Application that is being deleted
//
// The package accesses a cluster through Reader (reads) and Target (reads and writes), and the API server that stores
// the Applications through ApplicationClient. The controller implements these interfaces with stores and a writer.
// The command line implements them with the user's rights, or with files. The tests of this package implement them
// with a model of an API server in memory. So all of them share the code that decides and executes.
//
// Package plan alone decides what to write. This package has no queue and no watch: its caller calls Reconcile again
// when something has changed, or after the returned time.
//
// # Concurrency
//
// The caller must not reconcile one Application on two goroutines at the same time, because both would change its
// State. Different Applications may be reconciled in parallel: a Reconciler has no mutable fields. Within one
// reconciliation, only act and addDesired start goroutines. Both wait for them before they return. While act runs,
// outcomeRecorder.mu guards the State.
//
// # Order of writes
//
// The order in which a reconciliation writes makes a crash between any two requests harmless:
//
//  1. rememberOrphan    the annotation that requests orphaning
//  2. recordPostponed   a postponed status that this reconciliation depends on
//  3. protect           the finalizer, and the annotations with kinds, namespaces and new objects
//  4. recordAhead       the fields that patches are about to add
//  5. act               the objects, stage by stage; deletes are last
//  6. report            the status, and one event
//
// Source: docs/design.md, "Crashes".
package reconcile
