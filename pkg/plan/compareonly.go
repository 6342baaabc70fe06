package plan

import (
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
)

// Observes reports whether the Application asks that nothing be written, and all that differs
// be told. One that is being deleted is deleted as any other.
func (p *Plan) Observes() bool {
	return p.in.Application.Spec.Mode == v1alpha1.ModeObserve && !p.retiring
}

// Idle reports whether nothing of the plan is to be executed.
func (p *Plan) Idle() bool { return p.Suspended() || p.Observes() }

// compareOnly compares an object with what is desired of it, our marks left out. An object that
// is not ours is compared, too: the Application's ServiceAccount has read it.
func (p *Plan) compareOnly(res *resource, live map[string]any) {
	if !p.Observes() || res.live == nil && !res.foreign || text(live, "metadata", "deletionTimestamp") != "" {
		return
	}
	if res.foreign {
		res.live = live
		res.entry.FindSurplus(res.kind, res.desired, live)
	}
	in := p.comparison(res, live)
	if in.Entry, in.Desired = res.entry, res.desired; res.entry.Default {
		in.Manifest = res.desired
	}
	compared := res.withoutClaimed(delta.Compare(in))
	res.observed = compared.Differences
	if res.foreign {
		res.compared, res.change.Fields = compared, compared.Differences
		res.change.UID, res.change.ResourceVersion = text(live, "metadata", "uid"), text(live, "metadata", "resourceVersion")
	}
}
