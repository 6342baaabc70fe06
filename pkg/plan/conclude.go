package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
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
// whose change failed keeps its record, so that what is still to be removed is
// not forgotten. It updates the memory that the plan was decided with.
func (p *Plan) Conclude(outcomes map[manifest.ID]Outcome, now time.Time) Result {
	if p.in.Memory == nil {
		p.in.Memory = &Memory{}
	}
	c := &conclusion{plan: p, now: metav1.NewTime(now.UTC().Truncate(time.Second)), outcomes: outcomes}
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
	result   Result

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

type doneChange struct {
	action Action
	id     manifest.ID
	paths  []string
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
	c.result.RetryAfter = c.plan.in.Memory.settle(c.drifted, c.now.Time, c.plan.in.Rules)
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
	outcome, attempted := c.outcomes[res.object.ID]
	live := res.live
	problem := res.problem
	if attempted {
		if outcome.Object != nil {
			live = outcome.Object
		}
		if outcome.Gone {
			live = nil
		}
		if outcome.Problem != nil {
			problem = outcome.Problem
		}
	}
	wrote := attempted && outcome.Object != nil && outcome.Problem == nil &&
		(outcome.Action == Create || outcome.Action == Update)
	compared := res.compared
	if attempted && live != nil && outcome.Object != nil {
		compared = c.responded(res, outcome, wrote)
	}
	if wrote {
		c.corrected(res)
	}
	c.record(res, problem)
	c.inventory(res, before, live, problem, wrote && outcome.Action == Update)
	if live != nil {
		observed := res.entry.Project(res.kind, res.desired, live)
		c.result.Status.LastObservedManifest = append(c.result.Status.LastObservedManifest, encode(manifest.Redact(observed)))
	}
	c.accepted(res, compared)
	c.contested(res, compared)
	c.held += max(compared.Held-len(compared.Differences), 0)
}

// responded takes in an API server's response: what it lengthened, what it
// accepted in another form, and what is to be learned from it.
// It returns the comparison with the response.
func (c *conclusion) responded(res *resource, outcome Outcome, wrote bool) delta.Comparison {
	p, live := c.plan, outcome.Object
	if outcome.WithoutLearned {
		res.desired = res.entry.Desired(res.kind, res.object.Content, nil)
	}
	if wrote {
		res.entry.RaiseSurplus(res.kind, res.desired, live)
	}
	res.learn(live)
	after := p.compare(res, live)
	if !wrote {
		c.result.Again = c.result.Again || after.Correctable()
		return after
	}
	for path, form := range delta.Accept(after, func(path string) bool { return res.wrote(path, outcome.Action) && !isMark(path) }) {
		if res.accepted == nil {
			res.accepted = delta.Accepted{}
		}
		res.accepted[path] = form
		if form.Dropped() {
			c.warnings = append(c.warnings, fmt.Sprintf("%s: the API server dropped %s: is it a typing error?", res.object.ID, path))
		}
	}
	for _, d := range after.Differences {
		if d.Reason == delta.Extra && res.wrote(d.Path, outcome.Action) {
			// Somebody on the way to the API server adds it to whatever we write.
			p.in.Memory.contest(Leaf{res.object.ID, d.Path}, c.now.Time, p.in.Rules)
		}
	}
	after = p.compare(res, live)
	c.result.Again = c.result.Again || after.Correctable()
	return after
}

// wrote tells whether a path was part of what we sent.
func (res *resource) wrote(path string, action Action) bool {
	if action == Create {
		return true
	}
	for _, d := range res.change.Fields {
		if !d.HeldBack && observer.Under(path, d.Path) {
			return true
		}
	}
	return false
}

// isMark tells whether a path is one of our own marks, which nobody may drop.
func isMark(path string) bool {
	return path == "metadata.labels['"+v1alpha1.LabelApplicationUID+"']" ||
		path == "metadata.annotations['"+v1alpha1.AnnotationTrackingID+"']"
}

// corrected remembers the corrections that were made, for fights.
func (c *conclusion) corrected(res *resource) {
	done := doneChange{action: Update, id: res.object.ID}
	if res.change.Action == Create {
		done.action = Create
	}
	for _, d := range res.change.Fields {
		if d.HeldBack {
			continue
		}
		done.paths = append(done.paths, d.Path)
		if d.Reason != delta.Removed && !res.adopting {
			c.plan.in.Memory.corrected(Leaf{res.object.ID, d.Path}, d, c.now.Time, c.plan.in.Rules)
		}
	}
	c.done = append(c.done, done)
}

// stored is the desired state as the status shows it.
func (res *resource) stored() map[string]any { return manifest.Redact(res.desired) }

// record writes the schema and the desired state, or keeps those on record as
// long as what they say is not yet done.
func (c *conclusion) record(res *resource, problem *Problem) {
	s := &c.result.Status
	entry, desired := res.entry.Raw(), res.stored()
	if r := res.previous; problem != nil && r != nil && r.entry != nil && r.entry.Default == res.entry.Default {
		entry, desired = r.entry.Raw(), r.desired
	}
	s.MangledObserverSchema = append(s.MangledObserverSchema, encode(entry))
	s.LastAppliedManifest = append(s.LastAppliedManifest, encode(desired))
}

func (c *conclusion) inventory(res *resource, before *v1alpha1.ResourceStatus, live map[string]any, problem *Problem, corrected bool) {
	status := v1alpha1.ResourceStatus{
		ResourceReference: reference(res.object.ID, res.object.APIVersion),
		Schema:            v1alpha1.SchemaUser,
	}
	if res.entry.Default {
		status.Schema = v1alpha1.SchemaDefault
	}
	if before != nil {
		status.UID, status.LastCorrection = before.UID, before.LastCorrection
	}
	if live != nil {
		status.UID = types.UID(text(live, "metadata", "uid"))
	}
	if corrected && !res.adopting {
		status.LastCorrection = &c.now
	}
	health, unhealthy := healthOf(live)
	status.Health = health
	if unhealthy != nil {
		status.Reason, status.Message = unhealthy.Reason, unhealthy.Message
		c.unhealthy = append(c.unhealthy, placedProblem{res.object.ID, unhealthy})
	}
	if problem != nil {
		status.Reason, status.Message = problem.Reason, problem.Message
		c.problems = append(c.problems, placedProblem{res.object.ID, problem})
	}
	c.result.Status.Resources = append(c.result.Status.Resources, status)
}

// accepted writes the accepted forms that still count: those whose desired
// value the last comparison still asked for, or all if there was none.
func (c *conclusion) accepted(res *resource, compared delta.Comparison) {
	id := res.object.ID
	delete(c.plan.in.Memory.Secrets, id)
	for _, path := range slices.Sorted(maps.Keys(res.accepted)) {
		form := res.accepted[path]
		if compared.Relied != nil && !compared.Relied[path] {
			continue
		}
		if secretPath(id, path) {
			c.plan.in.Memory.acceptSecret(id, path, form)
			continue
		}
		a := v1alpha1.AcceptedField{
			Resource: reference(id, res.object.APIVersion), Path: path,
			Desired: encode(form.Desired.Any), Dropped: form.Dropped(),
		}
		if form.Accepted.Set {
			value := encode(form.Accepted.Any)
			a.Accepted = &value
		}
		c.result.Status.Accepted = append(c.result.Status.Accepted, a)
	}
}

func (m *Memory) acceptSecret(id manifest.ID, path string, form delta.Form) {
	if m.Secrets == nil {
		m.Secrets = map[manifest.ID]delta.Accepted{}
	}
	if m.Secrets[id] == nil {
		m.Secrets[id] = delta.Accepted{}
	}
	m.Secrets[id][path] = form
}

// contested writes the leaves that back off.
func (c *conclusion) contested(res *resource, compared delta.Comparison) {
	id := res.object.ID
	for _, d := range compared.Differences {
		c.drifted[Leaf{id, d.Path}] = true
	}
	for _, leaf := range c.plan.in.Memory.leaves(id) {
		f := c.plan.in.Memory.Fights[leaf]
		if !f.Contested() {
			continue
		}
		field := v1alpha1.ContestedField{
			Resource: reference(id, res.object.APIVersion), Path: leaf.Path, Manager: f.Manager,
			Corrections: int32(f.Corrections), NextCorrection: metav1.NewTime(f.Next.UTC().Truncate(time.Second)),
		}
		if !secretPath(id, leaf.Path) {
			field.Desired, field.Observed = optional(f.Desired), optional(f.Observed)
		}
		c.result.Status.Contested = append(c.result.Status.Contested, field)
	}
}

// leaving keeps a resource in the inventory until it is gone.
func (c *conclusion) leaving(l *leaving) {
	outcome, attempted := c.outcomes[l.id]
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
	status.Message = problem.Message
	if uid := text(live, "metadata", "uid"); uid != "" {
		status.UID = types.UID(uid)
	}
	c.problems = append(c.problems, placedProblem{l.id, problem})
	c.result.Status.Resources = append(c.result.Status.Resources, status)
}

// event tells in one event what was done.
func (c *conclusion) event() {
	if len(c.done) == 0 {
		return
	}
	var parts []string
	for _, kind := range []struct {
		action Action
		word   string
	}{{Create, "created"}, {Update, "corrected"}, {Delete, "deleted"}} {
		if part := describeDone(c.done, kind.action, kind.word); part != "" {
			parts = append(parts, part)
		}
	}
	reasons := map[Action]string{Create: "Created", Update: "Corrected", Delete: "Deleted"}
	reason := "Changed"
	if len(parts) == 1 {
		reason = reasons[c.done[0].action]
	}
	note := strings.Join(append(parts, c.warnings...), "; ")
	c.result.Event = &Event{Warning: len(c.warnings) > 0, Reason: reason, Note: shorten(note, 1024)}
}

func describeDone(done []doneChange, action Action, word string) string {
	const shown = 3
	var names []string
	n := 0
	for _, d := range done {
		if d.action != action {
			continue
		}
		if n++; n > shown {
			continue
		}
		name := d.id.String()
		if action == Update && len(d.paths) > 0 {
			name += " (" + strings.Join(d.paths[:min(len(d.paths), shown)], ", ")
			if len(d.paths) > shown {
				name += fmt.Sprintf(" and %d more", len(d.paths)-shown)
			}
			name += ")"
		}
		names = append(names, name)
	}
	if n == 0 {
		return ""
	}
	if n > shown {
		names = append(names, fmt.Sprintf("%d more", n-shown))
	}
	return word + " " + strings.Join(names, ", ")
}

func shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit-len("…")], "") + "…"
}

// optional is a value that may be absent.
func optional(v delta.Value) *runtime.RawExtension {
	if !v.Set {
		return nil
	}
	raw := encode(v.Any)
	return &raw
}

// leaves are the leaves of a resource that have a history, in order.
func (m *Memory) leaves(id manifest.ID) []Leaf {
	var found []Leaf
	for leaf := range m.Fights {
		if leaf.ID == id {
			found = append(found, leaf)
		}
	}
	slices.SortFunc(found, func(a, b Leaf) int { return strings.Compare(a.Path, b.Path) })
	return found
}
