// Package plan decides what to do about an Application. Decide takes an Application, its live objects and
// the properties of their kinds, and returns a Plan. Plan.Summarize takes the outcomes of the changes and
// returns the new status. The controller executes plans, the command line prints them, and golden files
// record them, so the three always agree.
//
// The package does not access a cluster or a clock. It keeps these invariants:
//
//   - Replan and Summarize do not change a Plan. They return new values, so a retry starts from the same decision.
//   - Equal inputs give equal plans, and equal outcomes give equal statuses.
//   - A record of something to remove leaves the status only when the removal is done.
//   - Statuses, events, messages and views mask the values of Secrets. Only requests have them.
//
// For example:
//
//	p := plan.Decide(plan.Input{Application: &app, Live: live, Kinds: intent.Offline()})
//	for _, change := range p.Changes {
//		fmt.Println(change.Action, change.ID)
//	}
//	// Output:
//	// update ConfigMap default/settings
//	// create ConfigMap default/more
//
// Its layers, from the top down. A layer only uses the layers below it:
//
//	for users    visible.go chooses the differences to show; inspect.go has what package explain
//	             explains
//	summarize    conclude.go writes the parts of the status, one after the other:
//	             response.go interprets responses of the API server,
//	             deletioncount.go counts deletions,
//	             remember.go writes the last-applied state,
//	             selectionstatus.go counts the selected objects,
//	             conditions.go sets the conditions, event.go the event, history.go the
//	             history, observe.go the drift of an observe-only Application;
//	             conclusion.go has its types. shutdown.go returns a status without a plan
//	the plan     decide.go decides an Application, retire.go one that is deleted: desired.go one
//	             resource (gone.go one whose object is gone, ownership.go which claim.Policy applies,
//	             rejection.go a rejected change, newelement.go elements that a shared object
//	             lacks), prune.go one that is no longer desired, deletions.go whether it can be
//	             deleted, health.go whether it waits for an earlier stage; replan.go decides a
//	             resource again; writeahead.go and creating.go return the write-ahead records;
//	             restored.go renders from the status if a template is not available
//	passes       claims.go assigns the fields of shared objects, recordedclaims.go lists the claims
//	             in statuses; compare.go compares a resource with its object; releasepass.go decides
//	             which fields are released, and release.go
//	             (branch.go, merge.go) restores the values of released fields, unless handover.go
//	             leaves them to an Application with a pending claim; baseline.go
//	             records original values, original.go finds them in the object without the
//	             values of Applications and without defaults (defaults.go), heldvalue.go lists the
//	             values while fields are held. facts.go has what all of them depend on
//	the input    package intent makes the objects and schemas of the spec, and package
//	             record reads the records of the status. listeners.go contains the engine's own
//	             steps among the hooks, users.go the user of a change; size.go checks whether
//	             the status will fit
//	health       package health decides it; health.go makes it a Problem, and stops later stages
//	contests     refusal.go lists the rejected leaves, unit.go the fields that are written together,
//	             sibling.go the fields that may cause a rejection, aliases.go the fields that the
//	             API server does not remove
//	types        plan.go, memory.go, identity.go
//
// mask.go masks values of Secrets, and text.go has small helpers.
package plan
