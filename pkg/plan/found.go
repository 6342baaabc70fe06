package plan

import "holdfast.dev/holdfast/pkg/manifest"

// Found decides one resource again, given the live object that was found while
// the plan was being executed: a create met an object of that name, or a guard
// failed because somebody was faster. live is nil if there is none.
func (p *Plan) Found(id manifest.ID, live map[string]any) Change {
	if p.in.Live == nil {
		p.in.Live = map[manifest.ID]map[string]any{}
	}
	if live == nil {
		delete(p.in.Live, id)
	} else {
		p.in.Live[id] = live
	}
	for _, res := range p.resources {
		if res.object.ID == id {
			res.live, res.problem, res.adopting = nil, nil, false
			p.decide(res, p.statuses[id])
			p.replace(res.change)
			return res.change
		}
	}
	for _, l := range p.leaving {
		if l.id == id {
			p.judge(l)
			p.replace(l.change)
			return l.change
		}
	}
	return Change{Action: Unchanged, ID: id}
}

func (p *Plan) replace(change Change) {
	for i := range p.Changes {
		if p.Changes[i].ID == change.ID {
			p.Changes[i] = change
		}
	}
}
