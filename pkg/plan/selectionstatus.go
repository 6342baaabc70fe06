package plan

import (
	"maps"
	"slices"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/health"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
)

// selected sets the number of objects that each spec.select item matches, and adds the problems of items that could not
// be resolved, and of objects that repeatedly start and stop matching. It uses the status of the resources, so these must be complete.
func (c *summarizer) selected() {
	entries := c.plan.in.Application.Spec.Select
	c.result.Status.Selected = nil
	if len(entries) == 0 {
		return
	}
	counts := make([]v1alpha1.SelectedObjects, len(entries))
	for i := range entries {
		counts[i].APIVersion, counts[i].Kind = entries[i].APIVersion, entries[i].Kind
		if problem := c.plan.in.UnresolvedSelections[i]; problem != nil {
			c.problems = append(c.problems, resourceProblem{Problem: problem})
		}
	}
	for _, problem := range c.plan.in.RestlessSelections {
		c.problems = append(c.problems, resourceProblem{Problem: problem})
	}
	ready := map[manifest.ID]bool{}
	for _, r := range c.result.Status.Resources {
		ready[manifest.IDFromReference(r.ResourceReference)] = isReady(r)
	}
	read, _ := intent.Selections(c.plan.in.Application)
	for id, by := range intent.Selected(c.plan.in.Intent(), read) {
		// An object that two items match counts in both.
		for _, s := range by {
			counts[s.Position].Objects++
			if ready[id] {
				counts[s.Position].Ready++
			}
		}
	}
	c.result.Status.Selected = counts
}

// Selected returns the number of objects that each spec.select item matches, and the IDs of all matched
// objects. It returns nil if the spec is invalid; the Problem of the plan then explains why.
func (p *Plan) Selected() (views []ViewSelection, ids map[manifest.ID]bool) {
	if p.in.Application == nil || p.retiring || p.Invalid != nil {
		return nil, nil
	}
	entries, _ := intent.Selections(p.in.Application)
	// counts and changes are by the position of the item in spec.select.
	writes, counts := map[manifest.ID]bool{}, make(map[int]int, len(entries))
	for _, c := range p.Changes {
		writes[c.ID] = c.Writes()
	}
	selected, changes := intent.Selected(p.in.Intent(), entries), map[int]int{}
	ids = make(map[manifest.ID]bool, len(selected))
	for id, by := range selected {
		ids[id] = true
		for _, s := range by {
			if counts[s.Position]++; writes[id] {
				changes[s.Position]++
			}
		}
	}
	for _, s := range entries {
		views = append(views, ViewSelection{
			Entry: manifest.Path{"spec", "select", s.Position}.String(), Kind: s.Kind, Objects: counts[s.Position], Changes: changes[s.Position],
		})
	}
	return views, ids
}

// isReady reports whether a resource is in sync and healthy, according to its inventory entry.
func isReady(r v1alpha1.ResourceStatus) bool { return r.Reason == "" && r.Health == health.Current }

// ViewSelection is the number of objects that a spec.select item matches.
type ViewSelection struct {
	// Entry is the path of the item, for example spec.select[0].
	Entry string `json:"entry" yaml:"entry"`
	Kind  string `json:"kind" yaml:"kind"`
	// Objects is the number of matched objects. Changes is how many of them the plan writes.
	Objects int `json:"objects" yaml:"objects"`
	Changes int `json:"changes" yaml:"changes"`
}

// isUnselected reports whether a problem belongs to a spec.select item. Such a problem is reported only once.
func (in *Input) isUnselected(problem *Problem) bool {
	return slices.Contains(slices.Collect(maps.Values(in.UnresolvedSelections)), problem)
}
