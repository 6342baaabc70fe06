package plan

import (
	"cmp"
	"slices"
	"sync"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/manifest"
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
func Decide(in Input) *Plan {
	p := newPlan(in)
	if p.Invalid = cmp.Or(UnsupportedProblem(in.Application), incompleteProblem(in.Application)); p.Invalid != nil {
		return p
	}
	p.unmask()
	r, problem := p.render()
	if problem != nil {
		p.Invalid = problem
		return p
	}
	p.given, p.Warnings = r.warnings, slices.Clip(r.warnings)
	resources := p.rendered(r)
	records, inventory := recordsOf(in, resources)
	accepted := acceptedOf(in)
	p.statuses = statusByID(inventory)
	if p.mayHaveCreated(r.objects) {
		addCreated(records, in)
	}
	p.awaited = sync.OnceValue(func() awaitedObject { return p.firstAwaited(resources) })
	desired := make(map[manifest.ID]bool, len(r.objects))
	for _, res := range resources {
		id := res.object.ID
		desired[id] = true
		res.previous, res.accepted = records[id], accepted[id]
		p.decide(res, p.in.Live[id])
		p.resources = append(p.resources, res)
		p.Warnings = append(p.Warnings, res.warnings...)
	}
	p.limitBaselines()
	p.warnUnrestorable()
	if p.Invalid = sizeProblem(p); p.Invalid != nil {
		p.resources = nil
		return p
	}
	if !p.restored() { // a restored spec may not have all resources
		p.prune(inventory, desired, records)
		p.limitDeletions()
	}
	p.order()
	return p
}

// rendered returns the desired resources, before any live object is considered.
func (p *Plan) rendered(r renderedInput) []*resource {
	resources := make([]*resource, len(r.objects))
	for i, object := range r.objects {
		res := &resource{resourceInput: resourceInput{
			object: object, written: r.written[i], rendered: r.entries[i], kind: p.in.Kinds.Type(object.GVK()),
			policy: claim.DesiredPolicy(p.in.Application, object.Ownership),
		}}
		if res.policy.Creates { // fields of shared objects are held by key, so Typed does not apply to them
			res.rendered = res.rendered.Typed(res.kind)
		}
		resources[i] = res
	}
	return resources
}

// newPlan returns an empty plan with a copy of the memory, because the caller may go on to change its own.
func newPlan(in Input) *Plan {
	if in.ContestPolicy == (ContestPolicy{}) {
		in.ContestPolicy = DefaultContestPolicy
	}
	var memory State
	if in.Memory != nil {
		memory = *in.Memory
	}
	in.Memory = &memory
	return &Plan{in: in, hooks: hooked(in)}
}

// mayHaveCreated reports whether an object exists, or may exist, that the status does not record.
func (p *Plan) mayHaveCreated(objects []manifest.Object) bool {
	for id := range p.in.Live {
		if p.unrecorded(p.statuses[id]) {
			return true
		}
	}
	return slices.ContainsFunc(objects, func(o manifest.Object) bool { return p.unrecorded(p.statuses[o.ID]) })
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
	in.Application.Generation++
	return Decide(in)
}
