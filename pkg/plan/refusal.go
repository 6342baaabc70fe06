package plan

import (
	"maps"
	"slices"
	"strings"
	"time"

	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// The first wait of a refused leaf, which doubles each time, and the longest.
const (
	firstRefusal   = 2 * time.Minute
	longestRefusal = 16 * time.Minute
)

// mostRefused is how many fields that are held back a message names beside the first.
const mostRefused = 32

// Alters reports whether a change comes of another intent than the one on record, and not of
// drift alone: then the object gets all of it or nothing.
func (c Change) Alters() bool {
	res := c.resource
	if res == nil || res.rejected != nil {
		return false
	}
	r := res.previous
	return res.policy.begins || r == nil || r.entry == nil || !res.entry.SameFields(r.entry) || !observer.Equal(res.stored(), r.desired)
}

// RejectedLeaf is what has been found out about the patch that an API server has refused:
// Replan is given it, and the Outcome of its resource.
type RejectedLeaf struct {
	// Leaf is what is held back: a leaf, a unit, or, if the whole change is refused, nothing.
	Leaf Leaf
	// Problem is that of the resource from now on.
	Problem *Problem

	refusal   Rejection
	rejection *RejectedChange
	conflicts []string
}

// RecordRejection is a leaf, or a unit, that the API server has refused to change: it is held back for
// a while. The other leaves of its resource can be decided again with Replan.
func (p *Plan) RecordRejection(leaf Leaf, problem *Problem) RejectedLeaf {
	refusal := Rejection{}
	if before := p.in.Memory.Rejections[leaf]; before != nil {
		refusal = *before
	}
	located := *problem
	located.Path, _ = observer.ParsePath(leaf.Path) // nil for what is no path
	refusal.again(&located, p.in.Now)
	return RejectedLeaf{Leaf: leaf, Problem: refusal.problem(p.in.Now), refusal: refusal}
}

// again notes one more refusal.
func (r *Rejection) again(problem *Problem, now time.Time) {
	r.Until = now.Add(min(firstRefusal<<min(r.Times, 8), longestRefusal))
	r.Problem, r.Times = problem, r.Times+1
}

// with is the memory with what an API server has refused since. The receiver is not
// changed.
func (m *State) with(refused []RejectedLeaf) *State {
	if len(refused) == 0 {
		return m
	}
	more := *m
	more.Rejections, more.RejectedChanges, more.conflicts = maps.Clone(m.Rejections), maps.Clone(m.RejectedChanges), maps.Clone(m.conflicts)
	for _, r := range refused {
		switch {
		case r.rejection != nil:
			put(&more.RejectedChanges, r.Leaf.ID, r.rejection)
		case r.conflicts != nil:
			put(&more.conflicts, r.Leaf.ID, slices.Concat(more.conflicts[r.Leaf.ID], r.conflicts))
		default:
			put(&more.Rejections, r.Leaf, &r.refusal)
		}
	}
	return &more
}

// put makes a map when the first is put into it.
func put[K comparable, V any](to *map[K]V, key K, value V) {
	if *to == nil {
		*to = map[K]V{}
	}
	(*to)[key] = value
}

// problem is that of the resource, with the time until the leaf is tried again; 0 if
// it only waits for another reason to be tried.
func (r *Rejection) problem(now time.Time) *Problem {
	problem := *r.Problem
	problem.Partial, problem.RetryAfter = true, max(r.Until.Sub(now), 0)
	return &problem
}

// refusal is the Problem of the leaves that are held back because they were refused, or nil:
// that of the first, which names the others.
func (p *Plan) refusal(id manifest.ID, compared delta.Comparison) (problem *Problem) {
	var others []string
	for _, d := range compared.Differences {
		r := p.in.Memory.refusalOf(id, d)
		switch {
		case !d.HeldBack || r == nil:
		case problem == nil:
			problem = r.problem(p.in.Now)
		case !strings.Contains(problem.Message, d.Path):
			others = append(others, d.Path)
		}
	}
	if len(others) > 0 {
		problem.Message += "; held back, too: " + listed(others, mostRefused)
	}
	return problem
}

// refusalOf returns the refusal of a leaf or of its unit, or nil.
func (m *State) refusalOf(id manifest.ID, d delta.Difference) *Rejection {
	if r := m.Rejections[Leaf{id, d.Path}]; r != nil || d.Unit == "" {
		return r
	}
	return m.Rejections[Leaf{id, d.Unit}]
}

// hasRefused reports whether an API server has refused to change a leaf that is still not
// in place, however long ago.
func (m *State) hasRefused(leaf Leaf) bool { return m != nil && m.Rejections[leaf] != nil }

// accepts forgets the refusals of leaves that are in place, and have no drift below them.
func (m *State) accepts(drifted map[Leaf]bool) {
	for leaf := range m.Rejections {
		if !drifted[leaf] && !hasDriftBelow(leaf, drifted) {
			delete(m.Rejections, leaf)
		}
	}
}

func hasDriftBelow(leaf Leaf, drifted map[Leaf]bool) bool {
	for d := range drifted {
		if d.ID == leaf.ID && (leaf.Path == delta.Root || observer.IsUnder(d.Path, leaf.Path)) {
			return true
		}
	}
	return false
}

// EachRefusal calls a function with everything that the API server has refused.
func (m *State) EachRefusal(do func(*Rejection)) {
	for _, r := range m.Rejections {
		do(r)
	}
	for _, r := range m.RejectedChanges {
		do(&r.Rejection)
	}
}

// Live returns the object that a change was decided with; nil if there is none.
func (c Change) Live() map[string]any {
	if c.resource == nil {
		return nil
	}
	return c.resource.live
}
