package plan

import "holdfast.dev/holdfast/pkg/manifest"

// DecideAgain decides one resource again, given the live object that was found while
// the plan was being executed: a create met an object of that name, or a guard
// failed because another client was faster. live is nil if there is none. refused are
// the leaves of it that the API server has refused meanwhile: see Refuse.
//
// The plan stays as it was: the Outcome of the resource carries the change.
func (p *Plan) DecideAgain(id manifest.ID, live map[string]any, refused ...Refused) Change {
	now := *p
	now.in.Memory = p.in.Memory.with(refused)
	for _, res := range p.resources {
		if res.object.ID == id {
			res = res.fresh()
			now.decide(res, live)
			return res.change
		}
	}
	for _, old := range p.pruned {
		if old.id == id {
			old = &pruned{id: old.id, status: old.status, previous: old.previous}
			now.judge(old, live)
			return old.change
		}
	}
	return Change{Action: Unchanged, ID: id}
}
