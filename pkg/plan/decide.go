package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
)

// Decide says what to do about an Application. For each desired resource:
//
//	live object                        action
//	none                               create
//	ours, nothing drifted              unchanged
//	ours, drifted                      update
//	ours, being deleted                unchanged, until it is gone
//	not ours, may be adopted           update
//	not ours                           unchanged, with a Problem
//
// and for each resource on record, or with our marks, that is not desired:
//
//	ours                               delete
//	none, or not ours any more         forgotten
//
// Decide writes nothing and changes nothing of its input.
func Decide(in Input) *Plan {
	p := newPlan(in)
	if p.Invalid = incompleteProblem(in.Application); p.Invalid != nil {
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
	if p.Invalid = nullsLost(r, records); p.Invalid != nil {
		return p
	}
	accepted := acceptedOf(in)
	p.statuses = statusByID(inventory)
	if p.mayHaveCreated(r.objects) {
		addCreated(records, in)
	}
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
	if !p.restored() { // it may know too little
		p.prune(inventory, desired, records)
	}
	p.order()
	return p
}

// rendered are the desired resources, before anything is known of them.
func (p *Plan) rendered(r renderedInput) []*resource {
	resources := make([]*resource, len(r.objects))
	for i, object := range r.objects {
		res := &resource{
			object: object, written: r.written[i], rendered: r.entries[i], kind: p.in.Kinds.Type(object.GVK()),
			policy: policyOf(p.in.Application, object),
		}
		if res.policy.creates { // fields of shared objects are held by key: no list is one value
			res.rendered = res.rendered.Typed(res.kind)
		}
		resources[i] = res
	}
	return resources
}

// newPlan has the input as it is now: the memory may go on after it.
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

// mayHaveCreated reports whether anything is, or may be, there that is not on record.
func (p *Plan) mayHaveCreated(objects []manifest.Object) bool {
	for id := range p.in.Live {
		if p.unrecorded(p.statuses[id]) {
			return true
		}
	}
	return slices.ContainsFunc(objects, func(o manifest.Object) bool { return p.unrecorded(p.statuses[o.ID]) })
}

// NewInvalid is the plan for an Application about which nothing can be decided. Of the
// input it needs the Application and the memory.
func NewInvalid(in Input, problem *Problem) *Plan {
	p := newPlan(in)
	p.Invalid = problem
	return p
}

// WithFields is the plan for the same Application and the same live objects, with other
// fields.
func (p *Plan) WithFields(fields []v1alpha1.ResourceFields) *Plan {
	in := p.in
	in.Application = in.Application.DeepCopy()
	in.Application.Spec.Fields = fields
	in.Application.Generation++
	return Decide(in)
}

// WithSchema is the plan for the same Application and the same live objects, with another
// observer schema.
func (p *Plan) WithSchema(schema []runtime.RawExtension) *Plan {
	in := p.in
	in.Application = in.Application.DeepCopy()
	in.Application.Spec.ObserverSchema = schema
	in.Application.Generation++
	return Decide(in)
}
