package plan

import (
	"maps"
	"slices"
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

// Part is the part of an update that corrects one leaf.
type Part struct {
	Path string
	// Ops are the operations, with their guards before them.
	Ops []delta.Op
}

// Parts are the leaves of an update, each as a patch of its own, to find out
// which of them an API server refuses.
func (c Change) Parts() []Part {
	var parts []Part
	for _, d := range c.Fields {
		if d.HeldBack {
			continue
		}
		guards, ops := delta.Comparison{Differences: []delta.Difference{d}}.Patch(c.UID, c.ResourceVersion)
		parts = append(parts, Part{Path: d.Path, Ops: slices.Concat(guards, ops)})
	}
	return parts
}

// Refused is a leaf that the API server has refused to change while a plan was
// executed: DecideAgain is given it, and the Outcome of its resource.
type Refused struct {
	Leaf Leaf
	// Problem is that of the resource from now on.
	Problem *Problem

	refusal Refusal
}

// Refuse is a leaf that the API server has refused to change: it is held back for a
// while. The other leaves of its resource can be decided again with DecideAgain.
func (p *Plan) Refuse(leaf Leaf, problem *Problem) Refused {
	refusal := Refusal{}
	if before := p.in.Memory.Refusals[leaf]; before != nil {
		refusal = *before
	}
	wait := min(firstRefusal<<min(refusal.Times, 8), longestRefusal)
	located := *problem
	located.Path, _ = observer.ParsePath(leaf.Path) // nil for what is no path
	refusal.Problem, refusal.Times, refusal.Until = &located, refusal.Times+1, p.in.Now.Add(wait)
	return Refused{Leaf: leaf, Problem: refusal.problem(p.in.Now), refusal: refusal}
}

// with is the memory with what an API server has refused since. The receiver is not
// changed.
func (m *Memory) with(refused []Refused) *Memory {
	if len(refused) == 0 {
		return m
	}
	more := *m
	more.Refusals = maps.Clone(m.Refusals)
	if more.Refusals == nil {
		more.Refusals = map[Leaf]*Refusal{}
	}
	for _, r := range refused {
		more.Refusals[r.Leaf] = &r.refusal
	}
	return &more
}

// problem is that of the resource, with the time until the leaf is tried again; 0 if
// it only waits for another reason to be tried.
func (r *Refusal) problem(now time.Time) *Problem {
	problem := *r.Problem
	problem.Partial, problem.RetryAfter = true, max(r.Until.Sub(now), 0)
	return &problem
}

// refusal is the Problem of the first leaf that is held back because it was
// refused, or nil.
func (p *Plan) refusal(id manifest.ID, compared delta.Comparison) *Problem {
	for _, d := range compared.Differences {
		if r := p.in.Memory.Refusals[Leaf{id, d.Path}]; d.HeldBack && r != nil {
			return r.problem(p.in.Now)
		}
	}
	return nil
}

// hasRefused reports whether an API server has refused to change a leaf that is still not
// in place, however long ago.
func (m *Memory) hasRefused(leaf Leaf) bool { return m != nil && m.Refusals[leaf] != nil }

// accepts forgets the refusals of leaves that are in place, and have no drift below them.
func (m *Memory) accepts(drifted map[Leaf]bool) {
	for leaf := range m.Refusals {
		if !drifted[leaf] && !hasDriftBelow(leaf, drifted) {
			delete(m.Refusals, leaf)
		}
	}
}

func hasDriftBelow(leaf Leaf, drifted map[Leaf]bool) bool {
	for d := range drifted {
		if d.ID == leaf.ID && observer.Under(d.Path, leaf.Path) {
			return true
		}
	}
	return false
}
