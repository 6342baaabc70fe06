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
// manifest order. Deletes are last, and run only if everything else succeeded. A failing resource does not
// stop the others.
func (r *Reconciler) act(ctx context.Context, target Target, s *Snapshot, p *plan.Plan) *executor {
	outcomes := &outcomeRecorder{target: target, s: s, plan: p, now: r.Now(), result: map[manifest.ID]plan.Outcome{}, refused: map[manifest.ID][]plan.RejectedLeaf{}}
	a := &executor{reconciler: r, sender: &sender{outcomeRecorder: outcomes, hooks: r.Hooks, sleep: r.sleep, doors: map[string]*namespaceGate{}}}
	var stage, deletes []plan.Change
	for _, change := range p.Changes {
		if change.Prune && change.Action != plan.Update {
			deletes = append(deletes, change)
			continue
		}
		if len(stage) > 0 && manifest.Stage(stage[0].ID.GroupKind()) != manifest.Stage(change.ID.GroupKind()) {
			a.runStage(ctx, stage)
			stage = nil
		}
		stage = append(stage, change)
	}
	a.runStage(ctx, stage)
	if a.tokensErr == nil && !a.hasFailures() {
		a.runDeletes(ctx, deletes)
	}
	for _, id := range p.Removed() {
		a.record(plan.Change{ID: id}, plan.Outcome{Action: plan.Delete, Gone: true, Problem: a.postDelete(id)})
	}
	return a
}

// hasFailures reports whether a change of a desired object has a problem, or an executed change has failed.
func (a *executor) hasFailures() bool {
	for _, change := range a.plan.Changes {
		if change.Problem != nil && !change.Prune {
			return true
		}
	}
	for _, outcome := range a.result {
		if outcome.Problem != nil {
			return true
		}
	}
	return false
}

// runDeletes deletes stage by stage. It stops after a stage that still has objects, including those that wait
// for something.
func (a *executor) runDeletes(ctx context.Context, changes []plan.Change) {
	for len(changes) > 0 {
		n := 1
		for n < len(changes) && manifest.Stage(changes[n].ID.GroupKind()) == manifest.Stage(changes[0].ID.GroupKind()) {
			n++
		}
		a.run(ctx, changes[:n])
		for _, change := range changes[:n] {
			outcome, attempted := a.result[change.ID]
			isAnothers := attempted && outcome.Action == plan.Unchanged && outcome.Problem == nil
			if !outcome.Gone && !isAnothers {
				return
			}
		}
		changes = changes[n:]
	}
}

// runStage executes the creates and updates of a stage. Before the first stage that may have workloads, it
// records the tokens of these workloads.
func (a *executor) runStage(ctx context.Context, changes []plan.Change) {
	if len(changes) > 0 && manifest.Stage(changes[0].ID.GroupKind()) > manifest.StageConfiguration &&
		a.tokensErr == nil && slices.ContainsFunc(changes, plan.Change.Writes) {
		a.tokensErr = a.recordTokens(ctx)
	}
	if a.tokensErr == nil {
		a.run(ctx, changes)
	}
}

func (a *executor) run(ctx context.Context, changes []plan.Change) {
	var group errgroup.Group
	group.SetLimit(a.reconciler.inFlight())
	for _, change := range changes {
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

// execute executes one change and records its outcome.
func (a *executor) execute(ctx context.Context, change plan.Change) {
	defer a.recovered(ctx, change.ID)
	if ctx.Err() != nil {
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
		known := a.known(change.ID)
		if change.ReadFirst && !read {
			object, problem := a.readFirst(ctx, at)
			if object != nil {
				if fresh := a.decideAgain(change.ID, object); fresh.Action == change.Action || !change.Writes() {
					change = fresh
				} // otherwise its guards detect that another client was faster
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

// recovered records a panic as the failure of one resource. The panic happens on a separate goroutine, where
// no other function recovers it.
func (a *executor) recovered(ctx context.Context, id manifest.ID) {
	if r := recover(); r != nil {
		a.record(plan.Change{ID: id}, plan.Outcome{Problem: &plan.Problem{
			Reason: v1alpha1.ReasonRetrying, Message: fmt.Sprintf("%s: %v", id, worker.PanicError(ctx, r)),
		}})
	}
}

// readFirst reads the object, including managedFields.
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

func (a *executor) locate(change plan.Change) (cluster.Location, *plan.Problem) {
	kind := a.s.kinds.find(change.GVK())
	if kind == nil {
		return cluster.Location{}, &plan.Problem{Reason: v1alpha1.ReasonRetrying, Message: "the kind of " + change.ID.String() + " is not known yet"}
	}
	return cluster.Location{ID: change.ID, Mapping: kind.Mapping, Shared: change.Shared}, kind.problem
}
