package controller

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

const (
	// inFlight is how many requests are sent at a time for one Application.
	inFlight = 16
	// attempts is how often a change is decided again at once, because somebody
	// was faster.
	attempts = 4
	// requestTimeout bounds one request.
	requestTimeout = 30 * time.Second
	// recheckConflict is how long an object that is in the way is not read again.
	recheckConflict = 5 * time.Minute
)

// freeing are the waits between tries to create an object with what was learned. An API
// server tells everybody that a Service is gone a moment before it frees its address.
var freeing = []time.Duration{50 * time.Millisecond, 150 * time.Millisecond, 450 * time.Millisecond}

// action executes the changes of one plan.
type action struct {
	c      *Controller
	g      *gathered
	plan   *plan.Plan
	now    time.Time
	mu     sync.Mutex // guards what follows
	result map[manifest.ID]plan.Outcome
	// refused has the leaves that the API server has refused.
	refused map[manifest.ID][]plan.Refused
}

// act executes a plan, stage by stage, several requests at a time inside a
// stage, begun in manifest order. Deletes come last, and only if all else
// succeeded. A failing resource does not stop the others.
func (c *Controller) act(ctx context.Context, g *gathered, p *plan.Plan) map[manifest.ID]plan.Outcome {
	a := &action{c: c, g: g, plan: p, now: c.options.Now(), result: map[manifest.ID]plan.Outcome{}, refused: map[manifest.ID][]plan.Refused{}}
	var stage, deletes []plan.Change
	for _, change := range p.Changes {
		if change.Leaves && change.Action != plan.Update {
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
	if g.untold == nil && !a.troubled() {
		a.runDeletes(ctx, deletes)
	}
	for _, id := range p.Gone() {
		a.record(plan.Change{ID: id}, plan.Outcome{Action: plan.Delete, Gone: true, Problem: a.postDelete(id)})
	}
	return a.result
}

// troubled tells whether anything that should exist does not, or is not as it
// should be.
func (a *action) troubled() bool {
	for _, change := range a.plan.Changes {
		if change.Problem != nil && !change.Leaves {
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

// runDeletes deletes stage by stage, and stops before a stage as long as one
// before it still has objects: those that wait for something else among them.
func (a *action) runDeletes(ctx context.Context, changes []plan.Change) {
	for len(changes) > 0 {
		n := 1
		for n < len(changes) && manifest.Stage(changes[n].ID.GroupKind()) == manifest.Stage(changes[0].ID.GroupKind()) {
			n++
		}
		a.run(ctx, changes[:n])
		for _, change := range changes[:n] {
			outcome, attempted := a.result[change.ID]
			isSomebodyElses := attempted && outcome.Action == plan.Unchanged && outcome.Problem == nil
			if !outcome.Gone && !isSomebodyElses {
				return
			}
		}
		changes = changes[n:]
	}
}

// runStage runs a stage of creates and updates. Before the first one that may have
// workloads, the tokens that these get are told.
func (a *action) runStage(ctx context.Context, changes []plan.Change) {
	if len(changes) > 0 && manifest.Stage(changes[0].ID.GroupKind()) > manifest.StageConfiguration &&
		a.g.untold == nil && slices.ContainsFunc(changes, plan.Change.Writes) {
		a.g.untold = a.tellTokens(ctx)
	}
	if a.g.untold == nil {
		a.run(ctx, changes)
	}
}

func (a *action) run(ctx context.Context, changes []plan.Change) {
	var group errgroup.Group
	group.SetLimit(inFlight)
	for _, change := range changes {
		if !change.Writes() && !change.ReadFirst {
			continue
		}
		if len(changes) == 1 {
			a.one(ctx, change)
			continue
		}
		group.Go(func() error {
			a.one(ctx, change)
			return nil
		})
	}
	_ = group.Wait()
}

// one executes one change and records how it went.
func (a *action) one(ctx context.Context, change plan.Change) {
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
	for range attempts {
		if change.ReadFirst && !read {
			object, problem := a.readFirst(ctx, at)
			if object != nil {
				if fresh := a.found(change.ID, object); fresh.Action == change.Action || !change.Writes() {
					change = fresh
				} // or else its guards will see that somebody was faster
			}
			if read = true; !change.Writes() {
				a.record(change, plan.Outcome{Action: change.Action, Object: object, Problem: cmp.Or(problem, change.Problem)})
				return
			}
		}
		outcome, again := a.try(ctx, at, change)
		if !again {
			a.record(change, outcome)
			return
		}
		change = a.found(change.ID, outcome.Object)
		if !change.Writes() {
			a.record(change, plan.Outcome{Action: change.Action, Object: outcome.Object, Problem: change.Problem})
			return
		}
	}
	a.record(change, plan.Outcome{Action: change.Action, Problem: &plan.Problem{
		Reason: v1alpha1.ReasonRetrying, Message: change.ID.String() + " keeps changing while it is being written",
	}})
}

// recovered turns a panic into the failure of one resource: it happens on a
// goroutine of its own, where nobody else would catch it.
func (a *action) recovered(ctx context.Context, id manifest.ID) {
	if r := recover(); r != nil {
		a.record(plan.Change{ID: id}, plan.Outcome{Problem: &plan.Problem{
			Reason: v1alpha1.ReasonRetrying, Message: fmt.Sprintf("%s: %v", id, panicked(ctx, r)),
		}})
	}
}

// readFirst reads the whole object, managedFields included.
func (a *action) readFirst(ctx context.Context, at cluster.Location) (map[string]any, *plan.Problem) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	object, err := a.g.writer.Get(ctx, at)
	if err != nil {
		return nil, problemOf(err, at, "get", a.g.writer)
	}
	return object, nil
}

func (a *action) locate(change plan.Change) (cluster.Location, *plan.Problem) {
	kind := a.g.kinds.known[change.ID.GroupKind()]
	if kind == nil {
		return cluster.Location{}, &plan.Problem{Reason: v1alpha1.ReasonRetrying, Message: "the kind of " + change.ID.String() + " is not known yet"}
	}
	return cluster.Location{ID: change.ID, Mapping: kind.Mapping}, kind.problem
}

// try sends the request of a change. again asks to decide anew with the object
// of the outcome, which is what the cluster really has; nil if it has none.
func (a *action) try(ctx context.Context, at cluster.Location, change plan.Change) (outcome plan.Outcome, again bool) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	switch change.Action {
	case plan.Create:
		return a.create(ctx, at, change)
	case plan.Update:
		return a.update(ctx, at, change)
	default:
		return a.delete(ctx, at, change)
	}
}

func (a *action) create(ctx context.Context, at cluster.Location, change plan.Change) (plan.Outcome, bool) {
	outcome := plan.Outcome{Action: plan.Create}
	body, err := a.preCreate(at, change.Manifest)
	if err != nil {
		outcome.Problem = plan.HookProblem(err)
		return outcome, false
	}
	object, err := a.g.writer.Create(ctx, at, body)
	refusesLearned := func() bool { return change.Fallback != nil && code(err) == http.StatusUnprocessableEntity }
	for i := 0; i < len(freeing) && refusesLearned(); i++ {
		<-time.After(freeing[i])
		object, err = a.g.writer.Create(ctx, at, body)
	}
	if refusesLearned() {
		// Somebody else has the address: without it, then.
		outcome.WithoutLearned = true
		if body, err = a.preCreate(at, change.Fallback); err == nil {
			object, err = a.g.writer.Create(ctx, at, body)
		}
	}
	switch {
	case err == nil:
		a.wrote(at, object)
		outcome.Object = object
		return outcome, false
	case apierrors.IsAlreadyExists(err):
		return a.reread(ctx, at, change)
	}
	outcome.WithoutLearned = a.unsure(at.ID, err) && outcome.WithoutLearned
	outcome.Problem = problemOf(err, at, "create", a.g.writer)
	return outcome, false
}

// unsure remembers an object that may have been created all the same, and tells whether
// it may: the answer was lost, or is that of a server that stumbled.
func (a *action) unsure(id manifest.ID, err error) bool {
	if status := code(err); status != 0 && status < http.StatusInternalServerError {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.g.memory.unsure[id] = true
	return true
}

func (a *action) update(ctx context.Context, at cluster.Location, change plan.Change) (plan.Outcome, bool) {
	outcome := plan.Outcome{Action: plan.Update}
	if err := a.c.options.Hooks.ResourcePreUpdate.Run(a.changing(at.ID)); err != nil {
		outcome.Problem = plan.HookProblem(err)
		return outcome, false
	}
	ops := slices.Concat(change.Guards, change.Patch)
	object, err := a.g.writer.Patch(ctx, at, ops)
	switch {
	case err == nil:
		a.wrote(at, object)
		outcome.Object = object
		return outcome, false
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return a.reread(ctx, at, change)
	case guardFailed(err):
		fresh, again := a.reread(ctx, at, change)
		if again && fresh.Object != nil && applies(ops, fresh.Object) {
			break // the guards hold: it is the change itself that is refused
		}
		return fresh, again
	}
	outcome.Problem = problemOf(err, at, "patch", a.g.writer)
	if !refused(err) {
		return outcome, false
	}
	accepted, problem := a.tryParts(ctx, at, change, outcome.Problem)
	if problem == nil {
		return outcome, false
	}
	if accepted == 0 {
		outcome.Problem = problem
		return outcome, false
	}
	return a.reread(ctx, at, change) // and the other leaves are corrected
}

func (a *action) delete(ctx context.Context, at cluster.Location, change plan.Change) (plan.Outcome, bool) {
	outcome := plan.Outcome{Action: plan.Delete}
	if err := a.c.options.Hooks.ResourcePreDelete.Run(a.changing(at.ID)); err != nil {
		outcome.Problem = plan.HookProblem(err)
		return outcome, false
	}
	remaining, err := a.g.writer.Delete(ctx, at, change.UID, change.ResourceVersion)
	switch {
	case err == nil && remaining == nil:
		a.gone(at, change.UID)
		outcome.Gone, outcome.Problem = true, a.postDelete(at.ID)
		return outcome, false
	case err == nil:
		a.wrote(at, remaining)
		outcome.Object = remaining
		return outcome, false
	case apierrors.IsConflict(err):
		fresh, again := a.reread(ctx, at, change)
		if !again || fresh.Object != nil {
			return fresh, again // another object has the name now
		}
		outcome.Gone, outcome.Problem = true, a.postDelete(at.ID)
		return outcome, false
	}
	outcome.Problem = problemOf(err, at, "delete", a.g.writer)
	return outcome, false
}

// reread reads what the cluster really has.
func (a *action) reread(ctx context.Context, at cluster.Location, change plan.Change) (plan.Outcome, bool) {
	object, err := a.g.writer.Get(ctx, at)
	switch {
	case err == nil:
		return plan.Outcome{Object: object}, true
	case apierrors.IsNotFound(err):
		a.gone(at, change.UID)
		return plan.Outcome{}, true
	}
	return plan.Outcome{Action: change.Action, Problem: problemOf(err, at, "get", a.g.writer)}, false
}

// found decides a resource anew.
func (a *action) found(id manifest.ID, object map[string]any) plan.Change {
	a.mu.Lock()
	defer a.mu.Unlock()
	change := a.plan.Found(id, object, a.refused[id]...)
	if object != nil {
		a.g.memory.found[id] = found{object: object, until: a.now.Add(recheckConflict)}
	} else {
		delete(a.g.memory.found, id)
	}
	return change
}

func (a *action) record(change plan.Change, outcome plan.Outcome) {
	a.mu.Lock()
	defer a.mu.Unlock()
	id := change.ID
	outcome.Change, outcome.Refused = change, a.refused[id]
	a.result[id] = outcome
	if outcome.Problem == nil {
		delete(a.g.memory.failures, id)
		return
	}
	if outcome.Problem.Partial {
		return
	}
	problem := a.g.memory.failed(id, outcome.Problem, a.now)
	if f, ok := a.g.memory.found[id]; ok {
		f.until = a.now.Add(problem.RetryAfter) // what is in the way is read again then
		a.g.memory.found[id] = f
	}
	outcome.Problem = problem
	a.result[id] = outcome
}

// wrote has the store know our own write before the watch does.
func (a *action) wrote(at cluster.Location, object map[string]any) {
	if store, _ := a.c.watches.Store(a.g.input.Application.UID, at.Mapping.Resource); store != nil {
		store.Wrote(object)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.g.memory.found, at.ID)
	delete(a.g.memory.unsure, at.ID)
}

// gone has the store know that an object is no more.
func (a *action) gone(at cluster.Location, uid string) {
	if uid == "" {
		return
	}
	if store, _ := a.c.watches.Store(a.g.input.Application.UID, at.Mapping.Resource); store != nil {
		store.Deleted(types.NamespacedName{Namespace: at.ID.Namespace, Name: at.ID.Name}, types.UID(uid))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.g.memory.gone[types.UID(uid)] = true
	delete(a.g.memory.found, at.ID)
}

// applies tells whether a patch, guards included, fits an object.
func applies(ops []delta.Op, object map[string]any) bool {
	raw, err := json.Marshal(ops)
	if err != nil {
		return false
	}
	patch, err := jsonpatch.DecodePatch(raw)
	if err != nil {
		return false
	}
	document, err := json.Marshal(object)
	if err != nil {
		return false
	}
	_, err = patch.Apply(document)
	return err == nil
}
