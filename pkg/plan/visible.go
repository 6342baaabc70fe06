package plan

import (
	"slices"

	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/observer"
)

// IsOnlyCompared reports whether the object of a change has another owner, and this Application only
// observes it.
func (c Change) IsOnlyCompared() bool {
	return c.resource != nil && !c.resource.policy.Writes && c.resource.live != nil
}

// IsTrackingOnly reports whether a change writes at most the tracking metadata of an object.
func (c Change) IsTrackingOnly() bool {
	if c.Problem != nil || c.Action != Update && c.Action != Unchanged {
		return false
	}
	return !slices.ContainsFunc(c.Fields, func(d delta.Difference) bool { return !claim.IsOnlyTracking(d) })
}

// Additions returns the elements that other clients added to open lists of the object. They are kept.
func (c Change) Additions() []delta.Difference {
	if c.resource == nil {
		return nil
	}
	return c.resource.compared.Additions
}

// MaybeRespelled is the note on a live value that may be the accepted form of the desired value.
const MaybeRespelled = "perhaps only another spelling"

// Visible returns the drifted fields of a change to show to a user. It omits values that are the accepted
// form of the desired value, and the tracking metadata of an observe-only Application.
func (p *Plan) Visible(c Change) []delta.Difference {
	// In observe-only mode, the comparison without tracking metadata replaces the differences of the next patch.
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
		// The patch also has differences that are no drift of a value, such as removals.
		isDrift := i >= 0 || d.Reason != delta.Changed && d.Reason != delta.Missing && !claim.IsOnlyTracking(d)
		if d.Spelling != observer.Respelled && (isDrift || !observes) {
			visible = append(visible, d)
		}
	}
	return visible
}

// Doubtful returns the patch that writes the visible fields whose live value may be the accepted form of
// the desired one; nil if there are none. A dry run of it shows the accepted forms: see Settle.
func (p *Plan) Doubtful(c Change) []delta.Op {
	doubtful := slices.DeleteFunc(p.Visible(c), func(d delta.Difference) bool { return d.Spelling != observer.MaybeRespelled || d.HeldBack })
	if c.Live() == nil || len(doubtful) == 0 {
		return nil
	}
	guards, ops := delta.Comparison{Differences: doubtful}.Patch(c.UID, c.ResourceVersion)
	return slices.Concat(guards, ops)
}

// Settle decides the doubtful fields, given the response to a dry run of Doubtful. If a field has the same
// value in the response, then the live value is the accepted form of the desired value. Settle changes the
// differences of the change in place. It must only be called for a change for which Doubtful returned a patch.
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
