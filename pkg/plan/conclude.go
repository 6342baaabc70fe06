package plan

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
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
	// because the API server refused them.
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
	if p.Refused == nil {
		c.status()
	}
	c.conditions()
	c.event()
	return c.result
}

type conclusion struct {
	plan     *Plan
	now      metav1.Time
	outcomes map[manifest.ID]Outcome
	// preview is true for what the status will be once all is done.
	preview bool
	result  Result

	held int // leaves that are in place
	// problems keep resources from being held, unhealthy from being ready; both
	// in the order of the resources.
	problems  []placedProblem
	unhealthy []placedProblem
	warnings  []string
	done      []doneChange
	drifted   map[Leaf]bool
}

type placedProblem struct {
	id manifest.ID
	*Problem
}

func (c *conclusion) status() {
	s := &c.result.Status
	s.Resources, s.Accepted, s.Contested = nil, nil, nil
	s.MangledObserverSchema, s.LastAppliedManifest, s.LastObservedManifest = nil, nil, nil
	c.drifted = map[Leaf]bool{}
	before := statusByID(c.plan.in.Application.Status.Resources)
	for _, res := range c.plan.resources {
		c.resource(res, before[res.object.ID])
	}
	for _, l := range c.plan.leaving {
		c.leaving(l)
	}
	if app := c.plan.in.Application; app.Generation != app.Status.ObservedGeneration {
		c.plan.in.Memory.forgive(c.drifted)
	}
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
		observed := res.entry.Project(res.kind, res.desired, f.live)
		c.result.Status.LastObservedManifest = append(c.result.Status.LastObservedManifest, encode(manifest.Redact(observed)))
	}
	c.accepted(res, f.compared)
	for _, d := range f.compared.Differences {
		c.drifted[Leaf{res.object.ID, d.Path}] = true
	}
	c.held += max(f.compared.Held-c.plan.marks(), 0)
}

// leaving keeps a resource in the inventory until it is gone.
func (c *conclusion) leaving(l *leaving) {
	outcome, attempted := c.outcomes[l.id]
	if !attempted && l.change.Action == Unchanged && l.change.Problem == nil {
		return // found to be gone, or not ours any more
	}
	if attempted && outcome.Action == Update && outcome.Problem == nil {
		c.done = append(c.done, doneChange{action: release, id: l.id}) // our marks are off
		return
	}
	status := l.status
	status.Reason, status.Message = v1alpha1.ReasonDeleting, ""
	problem := l.change.Problem
	live := l.live
	if attempted {
		if outcome.Gone {
			c.done = append(c.done, doneChange{action: Delete, id: l.id})
			return
		}
		if outcome.Object != nil {
			live = outcome.Object
		}
		problem = outcome.Problem
		if problem == nil {
			problem = terminating(l.id, live)
			c.done = append(c.done, doneChange{action: Delete, id: l.id})
		}
	} else if problem == nil {
		problem = &Problem{Reason: v1alpha1.ReasonDeleting, Message: l.id.String() + " is to be deleted when all else is in place"}
	}
	status.Health, _ = healthOf(live)
	status.Message = problem.Error()
	if uid := text(live, "metadata", "uid"); uid != "" {
		status.UID = types.UID(uid)
	}
	c.problems = append(c.problems, placedProblem{l.id, problem})
	c.result.Status.Resources = append(c.result.Status.Resources, status)
}
