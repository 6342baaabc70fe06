// Package reconcile reconciles one Application: it gathers, decides, acts and reports.
//
//	Reconciler.Reconcile    all steps of one reconciliation
//	Decide                  gathers and decides, and changes nothing: for `plan` and `diff`
//	Gather                  collects the input of the decision, a Snapshot
//	act                     executes the plan, request by request
//	report                  writes the status and an event, and returns when to reconcile again
//	finalize                the same for an Application that is being deleted
//
// The package accesses a cluster through Reader (reads) and Target (reads and writes), and the API server
// that stores the Applications through ApplicationClient. The controller implements these interfaces with
// stores and a writer. The command line implements them with the user's rights, or with files. The tests of
// this package implement them with a model of an API server in memory. So all of them share the code that
// decides and executes.
//
// Package plan alone decides what to write.
package reconcile
