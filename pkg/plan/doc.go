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
package plan
