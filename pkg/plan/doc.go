// Package plan decides. Decide takes an Application, the live objects and what
// is known of their kinds, and says what to do; Conclude takes how that went
// and says what the status is then. The controller executes plans, the command
// line prints them, golden files freeze them: they cannot disagree.
//
// It knows no cluster and no clock.
//
//	p := plan.Decide(plan.Input{Application: &app, Live: live, Kinds: plan.Offline()})
//	for _, change := range p.Changes {
//		fmt.Println(change.Action, change.ID)
//	}
//	// Output:
//	// update ConfigMap default/settings
//	// create ConfigMap default/more
//
// Which file has what, in the order of a decision:
//
//	plan.go               what goes in and what comes out
//	render.go             the spec becomes objects and schema entries; source.go and
//	                      restored.go if it is a template, listeners.go the engine's
//	                      own steps among the hooks, faults.go the mistakes one by one,
//	                      misspelt.go fields that do not exist
//	record.go             what the status remembers
//	decide.go             each desired resource: create, correct, or why not; found.go
//	                      the same for an object that was found on the way
//	leave.go              what is no longer desired, and the order of all changes;
//	                      retire.go when the whole Application goes
//	own.go                whose an object is; managers.go who wrote which field of it
//	ahead.go, creating.go what is written down before requests are sent
//	size.go               whether the status will fit
//
// and of a conclusion:
//
//	conclude.go           the parts of the status, one after the other
//	response.go           what an answer of the API server says: learned values,
//	                      accepted forms, what it added
//	remember.go           what is written into the status to be remembered; spelling.go
//	                      whether that says anything new
//	conditions.go         conditions; health.go what kstatus says, event.go the event,
//	                      shutdown.go an Application whose workload is to end first
//	memory.go, refusal.go fights, and leaves that the API server refuses
//
// For people: view.go is a plan as it is printed, explain.go (explainwalk.go,
// explainfield.go) says of each field what it is, notheld.go which free ones differ
// from the manifest, suggest.go proposes a schema.
// mask.go hides values of Secrets, json.go and offline.go are small helps.
package plan
