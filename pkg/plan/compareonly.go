package plan

import (
	"slices"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/observer"
)

// IsObserveOnly reports whether the Application asks that nothing be written, and all that differs
// be told. One that is being deleted is deleted as any other.
func (p *Plan) IsObserveOnly() bool {
	return p.in.Application.Spec.Mode == v1alpha1.ModeObserve && !p.retiring
}

// IsNoOp reports whether nothing of the plan is to be executed.
func (p *Plan) IsNoOp() bool { return p.Suspended() || p.IsObserveOnly() }

// compareOnly compares an object with what is desired of it, our marks left out. An object that
// is not ours is compared, too: the Application's ServiceAccount has read it.
func (p *Plan) compareOnly(res *resource, live map[string]any) {
	if !p.IsObserveOnly() || res.live == nil && res.policy.writes || text(live, "metadata", "deletionTimestamp") != "" {
		return
	}
	if !res.policy.writes {
		res.live = live
		res.entry.FindSurplus(res.kind, res.desired, live)
	}
	in := p.comparison(res, live)
	if in.Entry, in.Desired = res.entry, res.desired; res.entry.Default {
		in.Manifest = res.desired
	}
	in.CompareOnly = true
	compared := res.withoutClaimed(delta.Compare(in))
	for _, d := range compared.Differences {
		if d.Spelling == observer.MaybeRespelled {
			res.doubtful = append(res.doubtful, d)
			continue
		}
		res.observed = append(res.observed, d)
	}
	if !res.policy.writes {
		res.compared, res.change.Fields = compared, compared.Differences
		res.change.UID, res.change.ResourceVersion = text(live, "metadata", "uid"), text(live, "metadata", "resourceVersion")
	}
}

// IsOnlyCompared reports whether the object of a change is another owner's, and this Application
// observes it.
func (c Change) IsOnlyCompared() bool {
	return c.resource != nil && !c.resource.policy.writes && c.resource.live != nil
}

// MaybeRespelled is the note on a live value that may be the desired one.
const MaybeRespelled = "perhaps only another spelling"

// Visible returns the fields of a change that differ for a reader. Another spelling of a value is
// none of them, and neither is the tracking metadata of an Application that only observes.
func (p *Plan) Visible(c Change) []delta.Difference {
	var visible, compared []delta.Difference
	observes := p.IsObserveOnly() && c.resource != nil && !c.Prune
	if observes {
		compared = slices.Concat(c.resource.observed, c.resource.doubtful)
	}
	for _, d := range c.Fields {
		i := slices.IndexFunc(compared, func(only delta.Difference) bool { return only.Path == d.Path })
		if i >= 0 {
			d = compared[i]
		}
		isDrift := i >= 0 || d.Reason != delta.Changed && d.Reason != delta.Missing && !isOnlyMarks(d)
		if d.Spelling != observer.Respelled && (isDrift || !observes) {
			visible = append(visible, d)
		}
	}
	return visible
}

// Doubtful returns the patch that writes the visible fields that may have only another
// spelling; nil if there are none.
func (p *Plan) Doubtful(c Change) []delta.Op {
	doubtful := slices.DeleteFunc(p.Visible(c), func(d delta.Difference) bool { return d.Spelling != observer.MaybeRespelled || d.HeldBack })
	if c.Live() == nil || len(doubtful) == 0 {
		return nil
	}
	guards, ops := delta.Comparison{Differences: doubtful}.Patch(c.UID, c.ResourceVersion)
	return slices.Concat(guards, ops)
}

// Settle ends the doubt, given the answer to a dry run of Doubtful: what the answer leaves as
// it was is another spelling.
func (c Change) Settle(answer map[string]any) {
	for _, fields := range [][]delta.Difference{c.Fields, c.resource.doubtful} {
		for i, d := range fields {
			if d.Spelling != observer.MaybeRespelled || d.HeldBack {
				continue
			}
			fields[i].Spelling = observer.Different
			if observer.Equal(d.LivePath().Live(answer), d.LivePath().Live(c.Live())) {
				fields[i].Spelling = observer.Respelled
			}
		}
	}
}
