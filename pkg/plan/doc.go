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
// Its rooms, from the top down; what is in one knows only what stands below it:
//
//	for people   view.go is a plan as it is printed, explain.go (explainwalk.go, explainshare.go,
//	             explainfield.go) says of each field what it is, notheld.go
//	             which free ones differ from the manifest, suggest.go proposes a schema
//	             (defaults.go: what nobody has to write), taken.go whether a change is
//	             of our marks alone, editfields.go writes and takes away paths of
//	             spec.fields, editschema.go those of an entry
//	conclude     conclude.go writes the parts of the status, one after the other:
//	             response.go says what an answer of the API server means,
//	             remember.go what is written down to be remembered,
//	             spelling.go whether that says anything new,
//	             conditions.go the conditions, event.go the event, history.go what
//	             has happened, observe.go what would be done by an Application that
//	             only observes; conclusion.go has its values. shutdown.go is a
//	             status without a plan
//	the plan     policy.go has the table of what may be done with an object; decide.go decides
//	             an Application, retire.go one that is deleted: desired.go one resource,
//	             gone.go one whose object is gone, prune.go one that is no longer desired,
//	             release.go (branch.go, merge.go) what released fields get back; newelement.go finds
//	             elements that a shared object lacks; compareonly.go compares what is only
//	             observed; again.go decides a resource again; ahead.go and creating.go say
//	             what is written down before requests are sent
//	what it      render.go makes objects (objects.go, selected.go those that
//	             selection.go says are meant) and schema entries of the
//	             spec, fields.go those of its paths, profiles.go what the cluster's
//	             owner says before them, restored.go
//	reads        of the status, if a template cannot be had; listeners.go has the
//	             engine's own steps among the hooks; record.go reads what the status
//	             remembers, baseline.go what fields were before us, heldvalue.go
//	             what they are while they are held, own.go the tracking
//	             metadata, holders.go who
//	             holds fields of it, claims.go what of it others hold, managers.go who
//	             wrote which field of it, authors.go who has changed one, users.go who
//	             that is; size.go says whether the status will fit, incomplete.go
//	             whether something is in slices still
//	contests     memory.go the fights for leaves, refusal.go what the API
//	             server refuses, rejection.go whole changes of that, unit.go what is
//	             written together, sibling.go the fields that may be why, kept.go
//	             those that it does not let go
//	its values   plan.go, problem.go, source.go
//
// mask.go hides values of Secrets, writerclass.go tells people from programs, misspelt.go
// finds fields that do not exist; faults.go, health.go, json.go and offline.go are small
// helps.
package plan
