package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/worker"
)

// act executes a plan stage by stage. Within a stage, it sends several requests at a time, and starts them in
// manifest order. Deletes are last, and run only if everything else succeeded. A failing resource does not stop the
// others.
//
// act returns when all requests have ended. It returns no error: the outcomes contain the problems. It uses the plan
// and the snapshot, and changes neither. The next stage starts only when the previous one has ended, so the code
// between stages needs no lock. Source: docs/semantics.md, "Who writes", "Order".
func (r *Reconciler) act(ctx context.Context, target Target, s *Snapshot, p *plan.Plan) *executor {
	outcomes := &outcomeRecorder{target: target, s: s, plan: p, now: r.Now(), result: map[manifest.ID]plan.Outcome{}, refused: map[manifest.ID][]plan.RejectedLeaf{}}
	a := &executor{sender: &sender{outcomeRecorder: outcomes, reconciler: r, gates: map[string]*namespaceGate{}}}
	// A release of an object is an update, and need not wait for the other changes.
	isDelete := func(change plan.Change) bool { return change.Prune && change.Action != plan.Update }
	for _, stage := range stages(slices.DeleteFunc(slices.Clone(p.Changes), isDelete)) {
		a.runStage(ctx, stage)
	}
	deletes := slices.DeleteFunc(slices.Clone(p.Changes), func(change plan.Change) bool { return !isDelete(change) })
	if a.tokensErr == nil && !a.hasFailures() {
		a.runDeletes(ctx, deletes)
	}
	// These objects are gone already, so only their hooks are due. A failed hook keeps them in the inventory.
	for _, id := range p.Removed() {
		a.record(plan.Change{ID: id}, plan.Outcome{Action: plan.Delete, Gone: true, Problem: a.postDelete(id)})
	}
	return a
}

// stages divides changes into runs of the same stage.
func stages(changes []plan.Change) (all [][]plan.Change) {
	for len(changes) > 0 {
		n := 1
		for n < len(changes) && manifest.Stage(changes[n].ID.GroupKind()) == manifest.Stage(changes[0].ID.GroupKind()) {
			n++
		}
		all, changes = append(all, changes[:n]), changes[n:]
	}
	return all
}

// hasFailures reports whether a change of a desired object has a problem, or an executed change has failed. Then
// nothing is deleted, because a deleted object may be the predecessor of one that could not be created.
func (a *executor) hasFailures() bool {
	for _, outcome := range a.result {
		if outcome.Problem != nil {
			return true
		}
	}
	return slices.ContainsFunc(a.plan.Changes, func(change plan.Change) bool { return change.Problem != nil && !change.Prune })
}

// runDeletes deletes stage by stage. It stops after a stage that still has objects, including those that wait for
// something, such as a finalizer. The next reconciliation continues. An object that belongs to another owner by now
// does not count.
func (a *executor) runDeletes(ctx context.Context, changes []plan.Change) {
	for _, stage := range stages(changes) {
		a.run(ctx, stage)
		for _, change := range stage {
			outcome, attempted := a.result[change.ID]
			isAnothers := attempted && outcome.Action == plan.Unchanged && outcome.Problem == nil
			if !outcome.Gone && !isAnothers {
				return
			}
		}
	}
}

// runStage executes the creates and updates of a stage. Before the first stage that may have workloads, it records
// the tokens of these workloads. If the tokens cannot be recorded, this stage and all later ones are skipped, and
// nothing is deleted.
func (a *executor) runStage(ctx context.Context, changes []plan.Change) {
	if manifest.Stage(changes[0].ID.GroupKind()) > manifest.StageConfiguration &&
		a.tokensErr == nil && slices.ContainsFunc(changes, plan.Change.Writes) {
		a.tokensErr = a.recordTokens(ctx)
	}
	if a.tokensErr == nil {
		a.run(ctx, changes)
	}
}

// run executes changes of one stage, and returns when all have ended. It skips changes that need no request. A single
// change, and all changes with InFlight 1, are executed on the caller's goroutine.
func (a *executor) run(ctx context.Context, changes []plan.Change) {
	var group errgroup.Group
	group.SetLimit(a.reconciler.inFlight())
	for _, change := range changes {
		// The patch may have been applied, or may still be. Its fields are not in the status if the spec has changed
		// since, so only a read shows them.
		change.ReadFirst = change.ReadFirst || !change.Prune && a.hasUnansweredPatch(change.ID)
		if !change.Writes() && !change.ReadFirst {
			continue
		}
		if len(changes) == 1 || a.reconciler.inFlight() == 1 {
			a.execute(ctx, change)
			continue
		}
		group.Go(func() error {
			a.execute(ctx, change)
			return nil
		})
	}
	_ = group.Wait()
}

// execute executes one change and records its outcome. It sends the request, and decides again with the current
// object if the request met another state than expected. It gives up after a number of attempts at which another
// client was faster. The changes of a stage are executed on several goroutines, but each resource has only one
// change.
func (a *executor) execute(ctx context.Context, change plan.Change) {
	defer a.recovered(ctx, change.ID)
	if ctx.Err() != nil {
		// Running requests end, but no further ones are sent.
		a.record(change, plan.Outcome{Problem: &plan.Problem{Reason: v1alpha1.ReasonRetrying, Message: "the controller is stopping"}})
		return
	}
	at, problem := a.locate(change)
	if problem != nil {
		a.record(change, plan.Outcome{Action: change.Action, Problem: problem})
		return
	}
	read := false
	for tries := 0; tries < attempts; {
		// If the number of rejected leaves has grown after the request, the attempt has made progress and does not
		// count.
		known := a.known(change.ID)
		if change.ReadFirst && !read {
			object, problem := a.readFirst(ctx, at)
			if object != nil {
				change = a.decideAgain(change.ID, object)
			}
			if read = true; !change.Writes() {
				a.record(change, plan.Outcome{Action: change.Action, Object: object, Problem: cmp.Or(problem, change.Problem)})
				return
			}
		}
		outcome, again := a.send(ctx, at, change)
		if !again {
			a.record(change, outcome)
			return
		}
		if a.known(change.ID) == known {
			tries++ // another client was faster
		}
		change = a.decideAgain(change.ID, outcome.Object)
		if !change.Writes() {
			a.record(change, plan.Outcome{Action: change.Action, Object: outcome.Object, Problem: change.Problem})
			return
		}
	}
	a.record(change, plan.Outcome{Action: change.Action, Problem: &plan.Problem{
		Reason: v1alpha1.ReasonRetrying, Message: change.ID.String() + " keeps changing while it is being written",
	}})
}

// recovered records a panic as the failure of one resource. It must be deferred directly. The panic happens on a
// separate goroutine, where no other function recovers it.
func (a *executor) recovered(ctx context.Context, id manifest.ID) {
	if r := recover(); r != nil {
		a.record(plan.Change{ID: id}, plan.Outcome{Problem: &plan.Problem{
			Reason: v1alpha1.ReasonRetrying, Message: fmt.Sprintf("%s: %v", id, worker.PanicError(ctx, r)),
		}})
	}
}

// readFirst reads the object, including managedFields, which the store may not have. It returns nil and a problem if
// the object cannot be read or does not exist.
func (a *sender) readFirst(ctx context.Context, at cluster.Location) (map[string]any, *plan.Problem) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	object, err := a.target.Get(ctx, at)
	if err != nil {
		return nil, a.target.Problem(err, at, "get")
	}
	a.recordRead(at, object)
	return object, nil
}

// locate returns where the object of a change is. It returns a problem if its kind is not resolved, because a hook
// added it, or cannot be used.
func (a *executor) locate(change plan.Change) (cluster.Location, *plan.Problem) {
	kind := a.s.kinds.find(change.GVK())
	if kind == nil {
		return cluster.Location{}, &plan.Problem{Reason: v1alpha1.ReasonRetrying, Message: "the kind of " + change.ID.String() + " is not known yet"}
	}
	return cluster.Location{ID: change.ID, Mapping: kind.Mapping, Shared: change.Shared}, kind.problem
}
