package plan

import (
	"cmp"
	"slices"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/record"
)

// Decide returns the plan for an Application. For each desired resource:
//
//	live object                                   action
//	none                                          create
//	owned, no drift                               unchanged
//	owned, drifted                                update
//	owned, being deleted                          unchanged, until it is gone
//	not owned, adoption allowed                   update
//	not owned                                     unchanged, with a Problem
//
// and for each resource in the inventory, or with tracking metadata of the Application, that is not desired:
//
//	owned                                         delete
//	none, or no longer owned                      removed from the inventory
//
// Decide writes nothing and does not change its input.
//
// The result has Invalid set, and no changes, if the input cannot be used. One mistake rejects the whole input.
func Decide(in Input) *Plan {
	p := newPlan(in)
	if p.Invalid = cmp.Or(intent.UnsupportedProblem(in.Application), intent.IncompleteProblem(in.Application), intent.TooLargeProblem(in.Application, intent.MaxDecoded)); p.Invalid != nil {
		return p
	}
	// A restored translation must have its Secret values before it is rendered.
	p.unmask()
	r, problem := intent.Render(p.intent())
	if problem != nil {
		p.Invalid = problem
		return p
	}
	p.given, p.Warnings = r.Warnings, slices.Clip(r.Warnings)
	resources := p.desired(r)
	// The status records resources in the order of the manifests, so a record is compared with its manifest first.
	records := record.Read(in.Application, in.Kinds, func(i int) (map[string]any, *observer.Schema) {
		if i >= len(resources) {
			return nil, nil
		}
		return resources[i].object.Content, resources[i].rendered
	})
	accepted := p.acceptedForms()
	p.statuses = record.ByID(in.Application.Status.Resources)
	// The annotation is compressed, so it is only read if it can name an object that the status does not have.
	if p.mayHaveCreated(r.Objects) {
		record.AddCreated(records, in.Application, in.Kinds)
	}
	p.awaited = decider{&p.facts}.firstAwaited(resources)
	desired := make(map[manifest.ID]bool, len(r.Objects))
	for _, res := range resources {
		id := res.object.ID
		desired[id] = true
		res.previous, res.accepted = records[id], accepted[id]
		decider{&p.facts}.decide(res, p.in.Live[id])
		// In the order of the manifests. Summarize writes the status in this order, too.
		p.resources = append(p.resources, res)
		p.Warnings = slices.Concat(p.Warnings, res.newElementWarnings(), res.warnings)
	}
	// Only now are all baselines known. They share one limit.
	p.limitBaselines()
	p.Warnings = append(p.Warnings, unrestorableWarnings(p.resources)...)
	if p.Invalid = sizeProblem(p); p.Invalid != nil {
		// Without resources, Summarize cannot write a status that does not fit.
		p.resources = nil
		return p
	}
	if !p.restored() { // a restored spec may not have all resources
		p.prune(desired, records)
	}
	p.Changes = orderedChanges(p.resources, p.pruned)
	return p
}

// desired returns the desired resources, before any live object is considered. The policy follows from the spec:
// decide adapts it to the live object.
func (f *facts) desired(r intent.Rendering) []*resource {
	resources := make([]*resource, len(r.Objects))
	for i, object := range r.Objects {
		res := &resource{objectState: objectState{resourceInput: resourceInput{
			object: object, written: r.Written[i], rendered: r.Entries[i], kind: f.in.Kinds.Type(object.GVK()),
			policy: claim.DesiredPolicy(f.in.Application, object.Ownership),
		}}}
		if res.policy.Creates { // fields of shared objects are held by key, so Typed does not apply to them
			res.rendered = res.rendered.Typed(res.kind)
		}
		resources[i] = res
	}
	return resources
}

// newPlan returns an empty plan with a copy of the memory, because the caller may go on to change its own.
func newPlan(in Input) *Plan {
	in.ContestPolicy = cmp.Or(in.ContestPolicy, DefaultContestPolicy)
	var memory State
	if in.Memory != nil {
		memory = *in.Memory
	}
	// The maps are shared with the caller's State. Decisions never change them: see State.with and State.clone.
	in.Memory = &memory
	return &Plan{facts: facts{in: in, hooks: hooked(in)}}
}

// NewInvalid returns the plan for an invalid Application. It only needs the Application and the memory of
// the input.
func NewInvalid(in Input, problem *Problem) *Plan {
	p := newPlan(in)
	p.Invalid = problem
	return p
}

// WithFields returns the plan for the same Application and live objects with another spec.fields.
func (p *Plan) WithFields(fields []v1alpha1.ResourceFields) *Plan {
	in := p.in
	in.Application = in.Application.DeepCopy()
	in.Application.Spec.Fields = fields
	// Another generation than the status describes: what differs is then a change of the spec, not drift.
	in.Application.Generation++
	return Decide(in)
}

// EditFields returns spec.fields after an edit of the fields of a resource: see intent.EditFields. The plan determines
// the resources to which a name or wildcard can apply. It does not change.
func (p *Plan) EditFields(id manifest.ID, edit intent.Edit) (fields []v1alpha1.ResourceFields, notes []string, err error) {
	ids := make([]manifest.ID, len(p.Changes))
	for i, change := range p.Changes {
		ids[i] = change.ID
	}
	return intent.EditFields(p.in.Intent(), ids, id, edit)
}
