package plan

import (
	"fmt"
	"math"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/manifest"
)

// Outcome is how the execution of one change went.
type Outcome struct {
	// Object is the API server's response to our own write, or what it turned
	// out to have; nil if the object is gone or the write did not happen.
	Object map[string]any
	// Action is what was really done. A create that finds its own object from
	// before a crash is Unchanged.
	Action Action
	// WithoutLearned is true if the object was created without learned values,
	// because the API server refused them; or may have been, if there is a Problem.
	WithoutLearned bool
	// Gone is true if the object no longer exists.
	Gone bool
	// Problem is why the change was not, or not wholly, made.
	Problem *Problem
}

// Result is what remains of a plan when its changes have been executed.
type Result struct {
	Status v1alpha1.ApplicationStatus
	// Event is one for all that was done; nil if nothing was.
	Event *Event
	// RetryAfter asks to decide again at that time; 0 if only a change does.
	RetryAfter time.Duration
	// Again asks to decide again at once: a response showed drift that was not
	// part of the plan.
	Again bool
}

// Event is what is told to people, once per change.
type Event struct {
	Warning bool
	// Reason is Created, Corrected, Deleted, Changed or a condition reason.
	Reason string
	Note   string
}

// Conclude says what the status is after the changes of a plan were executed.
// outcomes has those that were attempted. Without any, the status is the one
// that follows from the live objects alone.
//
// The Application's status moves on only as far as the cluster did: a resource
// whose change was not made keeps its record, so that what is still to be
// removed is not forgotten. It updates the memory that the plan was decided with.
func (p *Plan) Conclude(outcomes map[manifest.ID]Outcome, now time.Time) Result {
	if p.in.Memory == nil {
		p.in.Memory = &Memory{}
	}
	return p.conclude(&conclusion{plan: p, now: metav1.NewTime(now.UTC().Truncate(time.Second)), outcomes: outcomes})
}

func (p *Plan) conclude(c *conclusion) Result {
	c.result.Status = *p.in.Application.Status.DeepCopy()
	c.result.Status.ObservedGeneration = p.in.Application.Generation
	c.result.Status.ReconcileRequest = p.in.Application.Annotations[v1alpha1.AnnotationReconcile]
	if p.Refused == nil {
		c.status()
		c.source()
		c.reconciled()
	}
	c.completed()
	c.conditions()
	c.event()
	if !c.preview {
		c.result.Status = worthWriting(p.in.Application.Status, c.result.Status)
	}
	return c.result
}

type conclusion struct {
	plan     *Plan
	now      metav1.Time
	outcomes map[manifest.ID]Outcome
	// preview is true for what the status will be once all is done.
	preview bool
	result  Result

	tokens []string // digests of callback tokens that are in the cluster
	held   int      // leaves that are in place
	// problems keep resources from being held, unhealthy from being ready; both
	// in the order of the resources.
	problems  []placedProblem
	unhealthy []placedProblem
	warnings  []string
	notes     []string // what is told beside what was done
	done      []doneChange
	drifted   map[Leaf]bool
	extra     []extra
}

type placedProblem struct {
	id manifest.ID
	*Problem
}

func (c *conclusion) status() {
	s := &c.result.Status
	s.Resources, s.Accepted, s.Contested, s.Services = nil, nil, nil, nil
	s.MangledObserverSchema, s.LastAppliedManifest, s.LastObservedManifest = nil, nil, nil
	c.drifted = map[Leaf]bool{}
	before := statusByID(c.plan.in.Application.Status.Resources)
	for _, res := range c.plan.resources {
		c.resource(res, before[res.object.ID])
	}
	for _, l := range c.plan.leaving {
		c.leaving(l)
	}
	for _, l := range c.plan.gone {
		if outcome := c.outcomes[l.id]; outcome.Problem != nil {
			c.keep(l, nil, outcome.Problem)
		}
	}
	c.remember()
	c.hooks()
	if app := c.plan.in.Application; app.Generation != app.Status.ObservedGeneration {
		c.plan.in.Memory.forgive(c.drifted)
	}
	c.plan.in.Memory.accepts(c.drifted)
	c.result.RetryAfter = c.plan.in.Memory.settle(c.drifted, c.now.Time, c.plan.in.Rules)
	for _, res := range c.plan.resources {
		c.contested(res)
	}
	for _, p := range c.problems {
		if p.RetryAfter > 0 && (c.result.RetryAfter == 0 || p.RetryAfter < c.result.RetryAfter) {
			c.result.RetryAfter = p.RetryAfter
		}
	}
	s.Summary = fmt.Sprintf("%d/%d", c.ready(), len(c.plan.resources))
}

// ready counts the desired resources that are as they should be.
func (c *conclusion) ready() int {
	n := 0
	for _, r := range c.result.Status.Resources {
		if r.Reason == "" && r.Health == healthCurrent {
			n++
		}
	}
	return n
}

// resource adds what is to be known of one desired resource.
func (c *conclusion) resource(res *resource, before *v1alpha1.ResourceStatus) {
	f := c.find(res, before)
	if f.wrote {
		c.corrected(res)
	}
	c.record(res, f)
	c.inventory(res, before, f)
	if f.live != nil {
		c.seen(res, f.live)
	}
	c.accepted(res, f.compared)
	for _, d := range f.compared.Differences {
		c.drifted[Leaf{res.object.ID, d.Path}] = true
	}
	c.held += max(f.compared.Held-c.plan.marks(), 0)
}

// seen adds what the hooks made of a live object.
func (c *conclusion) seen(res *resource, live map[string]any) {
	s := res.seen
	if s == nil || s.Observed == nil {
		s = &hooks.Seen{Entry: res.entry, Type: res.kind, Desired: res.desired, Live: live}
		_ = observe(s) // a hook has failed before its turn, or nobody has looked
	}
	status := &c.result.Status
	status.LastObservedManifest = append(status.LastObservedManifest, encode(s.Observed))
	if s.Address != "" {
		if status.Services == nil {
			status.Services = map[string]string{}
		}
		status.Services[c.nameOf(res.object.ID)] = s.Address
	}
	c.tokens = append(c.tokens, s.Tokens...)
}

// nameOf is the name of an object, with its namespace if that is not the
// Application's.
func (c *conclusion) nameOf(id manifest.ID) string {
	if id.Namespace == c.plan.in.Application.Namespace {
		return id.Name
	}
	return id.Namespace + "/" + id.Name
}

// hooks writes the state of the hooks.
func (c *conclusion) hooks() {
	app, state := c.plan.in.Application, v1alpha1.HooksStatus{}
	if app.Status.Hooks != nil {
		state = *app.Status.Hooks
	}
	c.result.Status.Hooks = nil
	if len(hooks.Purposes(app)) == 0 {
		return
	}
	state.Tokens = hooks.KeepTokens(state.Tokens, c.tokens)
	if len(state.Tokens) > 0 || state.Shutdown != nil {
		c.result.Status.Hooks = &state
	}
}

// source writes what the manifests were translated from, and into.
func (c *conclusion) source() {
	s, source := &c.result.Status, c.plan.in.Source
	if !translated(c.plan.in.Application) || source == nil || c.plan.retiring {
		s.SourceDigest, s.ManifestDigest, s.Outputs = "", "", nil
		return
	}
	if source.Restored {
		return // they are what it was restored with
	}
	s.SourceDigest, s.ManifestDigest, s.Outputs = source.Digest, source.ManifestDigest(), nil
	if len(source.Outputs) > 0 {
		outputs := encode(source.Outputs)
		s.Outputs = &outputs
	}
}

// reconciled runs the hooks that come last.
func (c *conclusion) reconciled() {
	if c.plan.retiring || c.preview {
		return
	}
	event := &hooks.Reconciled{Application: c.plan.in.Application, Status: &c.result.Status}
	if err := c.plan.hooks.ApplicationPostReconcile.Run(event); err != nil {
		c.problems = append(c.problems, placedProblem{Problem: HookProblem(err)})
	}
}

// leaving keeps a resource in the inventory until it is gone.
func (c *conclusion) leaving(l *leaving) {
	outcome, attempted := c.outcomes[l.id]
	if l.change.Action == Unchanged && l.change.Problem == nil && outcome.Problem == nil && !outcome.Gone {
		return // found to be gone, or not ours any more
	}
	if attempted && outcome.Action == Update && outcome.Problem == nil {
		c.done = append(c.done, doneChange{action: release, id: l.id}) // our marks are off
		return
	}
	if outcome.Gone {
		c.done = append(c.done, doneChange{action: Delete, id: l.id})
		if outcome.Problem != nil {
			c.keep(l, nil, outcome.Problem)
		}
		return
	}
	problem := l.change.Problem
	live := l.live
	if attempted {
		if outcome.Object != nil {
			live = outcome.Object
		}
		problem = outcome.Problem
		if problem == nil {
			problem = c.plan.terminating(l.id, live)
			c.done = append(c.done, doneChange{action: Delete, id: l.id})
		}
	} else if problem == nil {
		problem = &Problem{Reason: v1alpha1.ReasonDeleting, Message: l.id.String() + " is to be deleted when all else is in place"}
	}
	c.keep(l, live, problem)
}

// keep keeps a resource that is no longer desired in the inventory; and, as long as its
// deletion has not begun, on record: should it be desired again, what it was given
// before and is not given any more is to be removed.
func (c *conclusion) keep(l *leaving, live map[string]any, problem *Problem) {
	if r := l.previous; r != nil && r.entry != nil && text(live, "metadata", "deletionTimestamp") == "" {
		c.extra = append(c.extra, extra{math.MaxInt, r})
	}
	status := l.status
	status.Reason, status.Message = v1alpha1.ReasonDeleting, problem.Error()
	status.Health, _ = healthOf(live)
	if Marked(c.plan.in.Application, l.id, live) {
		status.UID = types.UID(text(live, "metadata", "uid"))
	}
	c.problems = append(c.problems, placedProblem{l.id, problem})
	c.result.Status.Resources = append(c.result.Status.Resources, status)
}
