package plan_test

import (
	"cmp"
	"encoding/json"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// process is what a controller remembers, and loses when it dies. It is that of
// pkg/controller (memory.go), and so is all that it does: gather.go, act.go, report.go
// and finalize.go without the I/O.
type process struct {
	plan       plan.Memory
	store      map[manifest.ID]map[string]any // what the watches have shown
	found      map[manifest.ID]inTheWay
	unsure     map[manifest.ID]bool
	gone       map[string]bool
	failures   map[manifest.ID]failure
	generation int64
	postponed  *v1alpha1.ApplicationStatus
}

// inTheWay is an object that is in no watch, as it was read, and until when that is
// believed.
type inTheWay struct {
	object map[string]any
	until  time.Time
}

type failure struct {
	problem *plan.Problem
	until   time.Time
}

// death is what a process panics with when it is killed.
type death struct{}

// start is a new process. Its watches begin with what there is.
func (c *cluster) start() {
	p := &process{unsure: map[manifest.ID]bool{}, gone: map[string]bool{}, found: map[manifest.ID]inTheWay{}, store: map[manifest.ID]map[string]any{}}
	p.plan.Fights = map[plan.Leaf]*plan.Fight{}
	for _, f := range c.app.Status.Contested {
		leaf := plan.Leaf{ID: plan.IDOf(f.Resource), Path: f.Path}
		p.plan.Fights[leaf] = &plan.Fight{Corrections: int(f.Corrections), Next: f.NextCorrection.Time, Manager: f.Manager}
	}
	c.process, c.lagging = p, map[manifest.ID]bool{}
}

// reconcile is one round of the controller. It tells whether there is more to be done
// at once.
func (c *cluster) reconcile() (again bool) {
	defer func() {
		if r := recover(); r != nil {
			if _, dead := r.(death); !dead {
				panic(r)
			}
			c.start()
			again = true
		}
	}()
	c.sync()
	in, ok := c.gather()
	if !ok {
		return true
	}
	c.decided, c.seen = c.wanted, maps.Clone(in.Live)
	c.seesLate()
	if c.deleted {
		return c.finalize(in)
	}
	app := in.Application
	if c.postponed != nil {
		in.Application = app.DeepCopy()
		in.Application.Status = *c.postponed.DeepCopy()
	}
	c.basis = in.Application.Status
	p := plan.Decide(in)
	if p.Suspended() || p.Refused != nil {
		return c.report(app, p, nil)
	}
	if p.HasWork() {
		c.point("before it says what it will create")
		c.finalizer = true
		if creating, changed := p.Creating(true); changed {
			c.forgetsCreated()
			c.app.Annotations = map[string]string{v1alpha1.AnnotationCreating: creating}
		}
		c.point("after it has said what it will create")
	}
	if status := p.Ahead(); status != nil {
		c.record(*status)
		app = c.app.DeepCopy()
		c.point("after it has said what it will write")
	}
	return c.report(app, p, c.act(p))
}

func (c *cluster) finalize(in plan.Input) bool {
	if !c.finalizer {
		c.over = true
		return false
	}
	c.decided, c.basis = desires{}, in.Application.Status
	p := plan.Retire(in)
	outcomes := c.act(p)
	if !released(p, outcomes) {
		return c.report(in.Application, p, outcomes)
	}
	c.over = true
	return false
}

func released(p *plan.Plan, outcomes map[manifest.ID]plan.Outcome) bool {
	for _, change := range p.Changes {
		outcome, attempted := outcomes[change.ID]
		switch {
		case !attempted && !change.Writes() && change.Problem == nil:
		case attempted && outcome.Problem == nil && (outcome.Gone || outcome.Action == plan.Update || outcome.Action == plan.Unchanged):
		default:
			return false
		}
	}
	return true
}

// sync has the store know what there is, where the watch does not lag.
func (c *cluster) sync() {
	for _, id := range c.names {
		if c.lagging[id] {
			continue
		}
		if object := c.server.watched(id, string(c.app.UID)); object != nil {
			c.process.store[id] = object
		} else {
			delete(c.process.store, id)
		}
	}
}

func (c *cluster) gather() (plan.Input, bool) {
	m := c.process
	if m.generation != c.app.Generation || m.failures == nil {
		m.generation, m.failures, m.plan.Refusals = c.app.Generation, map[manifest.ID]failure{}, nil
		m.found, m.gone = map[manifest.ID]inTheWay{}, map[string]bool{}
	}
	in := plan.Input{
		Application: c.app.DeepCopy(), Kinds: c.kinds, Memory: &m.plan, Now: c.now,
		Live: maps.Clone(m.store), Blocked: map[manifest.ID]*plan.Problem{},
	}
	for id, f := range m.failures {
		if c.now.Before(f.until) {
			in.Blocked[id] = f.problem
		}
	}
	for id, f := range m.found {
		if in.Live[id] != nil || !c.now.Before(f.until) {
			delete(m.found, id)
			continue
		}
		in.Live[id] = f.object
	}
	recorded := map[manifest.ID]bool{}
	for _, status := range c.app.Status.Resources {
		id := plan.IDOf(status.ResourceReference)
		recorded[id] = true
		existed := status.UID != "" || status.Reason == v1alpha1.ReasonRetrying
		if existed && !m.gone[string(status.UID)] && !m.unsure[id] {
			if problem := c.addLeft(in, id); problem != nil {
				in.Blocked[id] = problem
			}
		}
	}
	for _, id := range sortedIDs(maps.Keys(m.unsure)) {
		problem := c.addLeft(in, id)
		if problem != nil && !recorded[id] {
			return in, false
		}
		if problem != nil {
			in.Blocked[id] = problem
		}
	}
	return in, true
}

func (c *cluster) addLeft(in plan.Input, id manifest.ID) *plan.Problem {
	if in.Live[id] != nil {
		delete(c.unsure, id)
		return nil
	}
	if c.wanted.resources[id] != nil && !c.deleted {
		return nil
	}
	if blocked := in.Blocked[id]; blocked != nil {
		return blocked
	}
	object, err := c.get(id)
	switch {
	case err == nil:
		in.Live[id] = object
	case err.code == 404:
		delete(c.unsure, id)
	default:
		return c.failed(id, problemOf(err))
	}
	return nil
}

func problemOf(err *apiError) *plan.Problem {
	switch err.code {
	case 403:
		return &plan.Problem{Reason: v1alpha1.ReasonForbidden, Message: "forbidden", Stalled: true}
	case 404:
		return &plan.Problem{Reason: v1alpha1.ReasonWaiting, Message: "not found", RetryAfter: time.Second}
	case 422:
		return &plan.Problem{Reason: v1alpha1.ReasonRejected, Message: "refused", Stalled: true}
	}
	return &plan.Problem{Reason: v1alpha1.ReasonRetrying, Message: "failed"}
}

func (c *cluster) failed(id manifest.ID, problem *plan.Problem) *plan.Problem {
	again := *problem
	again.RetryAfter = max(problem.RetryAfter, time.Second)
	if problem.Stalled {
		again.RetryAfter = 2 * time.Minute
	}
	c.failures[id] = failure{problem, c.now.Add(again.RetryAfter)}
	return &again
}

// report concludes, and writes the status if it is another one. One that cannot be
// written stays in force for this process.
func (c *cluster) report(app *v1alpha1.Application, p *plan.Plan, outcomes map[manifest.ID]plan.Outcome) bool {
	result := p.Conclude(outcomes, c.now)
	c.process.plan = result.Memory
	c.told(c.basis, result)
	if c.postponed == nil && result.Event == nil && sameStatus(app.Status, result.Status) {
		return result.Again
	}
	c.postponed = result.Status.DeepCopy()
	c.point("before its status is stored")
	if c.storm && c.oneOf("status", 0, 0, 0, 0, 0, 1) == 1 {
		c.note("the status cannot be stored")
		return true
	}
	c.record(result.Status)
	c.postponed = nil
	c.point("after its status was stored")
	return result.Again
}

func sameStatus(a, b v1alpha1.ApplicationStatus) bool {
	var x, y any
	if json.Unmarshal([]byte(jsonOf(a)), &x) != nil || json.Unmarshal([]byte(jsonOf(b)), &y) != nil {
		return false
	}
	return reflect.DeepEqual(x, y)
}

// action executes one plan.
type action struct {
	*cluster
	plan    *plan.Plan
	result  map[manifest.ID]plan.Outcome
	refused map[manifest.ID][]plan.Refused
}

func (c *cluster) act(p *plan.Plan) map[manifest.ID]plan.Outcome {
	a := &action{c, p, map[manifest.ID]plan.Outcome{}, map[manifest.ID][]plan.Refused{}}
	deletes := slices.DeleteFunc(slices.Clone(p.Changes), func(change plan.Change) bool { return change.Action != plan.Delete })
	for _, change := range slices.Clone(p.Changes) {
		if change.Action != plan.Delete && (change.Writes() || change.ReadFirst) {
			a.one(change)
		}
	}
	for i, change := range deletes {
		if i == 0 && a.troubled() || i > 0 && manifest.Stage(deletes[i-1].ID.GroupKind()) != manifest.Stage(change.ID.GroupKind()) && !a.allGone(deletes[:i]) {
			break
		}
		a.one(change)
	}
	for _, id := range p.Gone() {
		a.end(plan.Change{ID: id}, plan.Outcome{Action: plan.Delete, Gone: true})
	}
	return a.result
}

func (a *action) allGone(changes []plan.Change) bool {
	return !slices.ContainsFunc(changes, func(change plan.Change) bool { return !a.result[change.ID].Gone })
}

func (a *action) troubled() bool {
	for _, change := range a.plan.Changes {
		if change.Problem != nil && change.Problem.Reason != v1alpha1.ReasonDeleting || a.result[change.ID].Problem != nil {
			return true
		}
	}
	return false
}

func (a *action) one(change plan.Change) {
	id, read := change.ID, false
	for range 4 {
		if change.ReadFirst && !read {
			object, err := a.get(id)
			var problem *plan.Problem
			if err != nil {
				problem = problemOf(err)
			} else if fresh := a.foundNow(id, object); fresh.Action == change.Action || !change.Writes() {
				change = fresh
			}
			if read = true; !change.Writes() {
				a.end(change, plan.Outcome{Action: change.Action, Object: object, Problem: cmp.Or(problem, change.Problem)})
				return
			}
		}
		outcome, again := a.try(change)
		if !again {
			a.end(change, outcome)
			return
		}
		if change = a.foundNow(id, outcome.Object); !change.Writes() {
			a.end(change, plan.Outcome{Action: change.Action, Object: outcome.Object, Problem: change.Problem})
			return
		}
	}
	a.end(change, plan.Outcome{Action: change.Action, Problem: &plan.Problem{Reason: v1alpha1.ReasonRetrying, Message: "keeps changing"}})
}

func (a *action) try(change plan.Change) (plan.Outcome, bool) {
	switch change.Action {
	case plan.Create:
		return a.create(change)
	case plan.Update:
		return a.update(change)
	default:
		return a.delete(change)
	}
}

func (a *action) create(change plan.Change) (plan.Outcome, bool) {
	outcome := plan.Outcome{Action: plan.Create}
	send := func(body map[string]any) (map[string]any, *apiError) {
		return a.request("create", change, func() (map[string]any, *apiError) { return a.server.create(change.ID, body) })
	}
	object, err := send(change.Manifest)
	if err != nil && err.code == 422 && change.Fallback != nil {
		outcome.WithoutLearned = true
		a.relearned[change.ID] = true
		object, err = send(change.Fallback)
	}
	switch {
	case err == nil:
		a.wrote(change.ID)
		outcome.Object = object
		return outcome, false
	case err.code == 409:
		return a.reread(change)
	case err.code == 0 || err.code >= 500:
		a.unsure[change.ID] = true
	}
	outcome.Problem = problemOf(err)
	return outcome, false
}

func (a *action) update(change plan.Change) (plan.Outcome, bool) {
	outcome := plan.Outcome{Action: plan.Update}
	object, err := a.request("patch", change, func() (map[string]any, *apiError) {
		return a.server.patch(change.ID, slices.Concat(change.Guards, change.Patch), false)
	})
	switch {
	case err == nil:
		a.wrote(change.ID)
		outcome.Object = object
		return outcome, false
	case err.code == 404 || err.code == 409 || err.guard:
		return a.reread(change)
	}
	outcome.Problem = problemOf(err)
	if err.code != 422 {
		return outcome, false
	}
	accepted, parts := 0, change.Parts()
	var problem *plan.Problem
	for _, part := range parts {
		if _, err := a.server.patch(change.ID, part.Ops, true); len(parts) == 1 || err != nil && err.code == 422 && !err.guard {
			refused := a.plan.Refuse(plan.Leaf{ID: change.ID, Path: part.Path}, outcome.Problem)
			a.refused[change.ID] = append(a.refused[change.ID], refused)
			problem = refused.Problem
			continue
		}
		accepted++
	}
	if problem != nil && accepted > 0 {
		return a.reread(change)
	}
	outcome.Problem = cmp.Or(problem, outcome.Problem)
	return outcome, false
}

func (a *action) delete(change plan.Change) (plan.Outcome, bool) {
	outcome := plan.Outcome{Action: plan.Delete}
	left, err := a.request("delete", change, func() (map[string]any, *apiError) { return a.server.delete(change.ID, change.UID) })
	switch {
	case err == nil && left == nil:
		a.isGone(change)
		outcome.Gone = true
	case err == nil:
		a.wrote(change.ID)
		outcome.Object = left
	case err.code == 409:
		fresh, again := a.reread(change)
		if !again || fresh.Object != nil {
			return fresh, again
		}
		outcome.Gone = true
	default:
		outcome.Problem = problemOf(err)
	}
	return outcome, false
}

func (a *action) reread(change plan.Change) (plan.Outcome, bool) {
	object, err := a.get(change.ID)
	switch {
	case err == nil:
		return plan.Outcome{Object: object}, true
	case err.code == 404:
		a.isGone(change)
		return plan.Outcome{}, true
	}
	return plan.Outcome{Action: change.Action, Problem: problemOf(err)}, false
}

func (a *action) foundNow(id manifest.ID, object map[string]any) plan.Change {
	change := a.plan.Found(id, object, a.refused[id]...)
	if delete(a.found, id); object != nil {
		a.found[id] = inTheWay{object, a.now.Add(5 * time.Minute)}
	}
	a.seen[id] = object
	return change
}

func (a *action) end(change plan.Change, outcome plan.Outcome) {
	id := change.ID
	outcome.Change, outcome.Refused = change, a.refused[id]
	switch {
	case outcome.Problem == nil:
		delete(a.failures, id)
	case !outcome.Problem.Partial:
		outcome.Problem = a.failed(id, outcome.Problem)
	}
	a.result[id] = outcome
}

// wrote has the store know our own write before the watch does.
func (a *action) wrote(id manifest.ID) {
	a.process.store[id] = a.server.watched(id, string(a.app.UID))
	if a.process.store[id] == nil {
		delete(a.process.store, id)
	}
	delete(a.found, id)
	delete(a.unsure, id)
}

func (a *action) isGone(change plan.Change) {
	if uidOf(a.process.store[change.ID]) == change.UID {
		delete(a.process.store, change.ID)
	}
	if change.UID != "" {
		a.gone[change.UID] = true
	}
}

func sortedIDs(ids iter.Seq[manifest.ID]) []manifest.ID {
	return slices.SortedFunc(ids, func(a, b manifest.ID) int { return strings.Compare(a.String(), b.String()) })
}
