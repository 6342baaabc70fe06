package plan

import (
	"slices"

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
	if p.Refused = incomplete(in.Application); p.Refused != nil {
		return p
	}
	p.unmask()
	r, problem := p.render()
	if problem != nil {
		p.Refused = problem
		return p
	}
	p.given, p.Warnings = r.warnings, r.warnings
	records, inventory := recordsOf(in)
	if p.Refused = nullsLost(r, records); p.Refused != nil {
		return p
	}
	accepted := acceptedOf(in)
	p.statuses = statusByID(inventory)
	if p.mayHaveCreated(r.objects) {
		addCreated(records, in)
	}
	desired := make(map[manifest.ID]bool, len(r.objects))
	for i, object := range r.objects {
		desired[object.ID] = true
		kind := in.Kinds.Type(object.GVK())
		res := &resource{
			object: object, written: r.written[i], rendered: r.entries[i].Typed(kind), kind: kind,
			previous: records[object.ID], accepted: accepted[object.ID], shared: IsShared(in.Application, object.Ownership),
		}
		if res.shared {
			res.rendered = r.entries[i] // held by key: nothing of it is one value
		}
		p.decide(res, p.in.Live[object.ID])
		p.resources = append(p.resources, res)
		p.Warnings = slices.Concat(p.Warnings, res.warnings)
	}
	p.fitBaselines()
	if p.Refused = tooLarge(p); p.Refused != nil {
		p.resources = nil
		return p
	}
	if !p.restored() { // it may know too little
		p.prune(inventory, desired, records)
	}
	p.order()
	return p
}

// newPlan has the input as it is now: the memory may go on after it.
func newPlan(in Input) *Plan {
	if in.Rules == (Rules{}) {
		in.Rules = DefaultRules
	}
	var memory Memory
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

// Refuse is the plan for an Application about which nothing can be decided. Of the
// input it needs the Application and the memory.
func Refuse(in Input, problem *Problem) *Plan {
	p := newPlan(in)
	p.Refused = problem
	return p
}
