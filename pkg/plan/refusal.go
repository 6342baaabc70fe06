package plan

import (
	"slices"
	"time"

	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// Refusal is a leaf that the API server refuses to change: it is immutable, or
// the value is not valid. It is held back for a while, that leaf alone; the
// others of its resource stay held.
type Refusal struct {
	Problem *Problem
	// Times is how often it was refused.
	Times int
	// Until is when it is tried again.
	Until time.Time
}

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

// Refuse holds a leaf back that the API server has refused to change, and
// returns the Problem that its resource has from now on. Its other leaves can be
// decided again with Found.
func (p *Plan) Refuse(leaf Leaf, problem *Problem) *Problem {
	if p.in.Memory == nil {
		p.in.Memory = &Memory{}
	}
	return p.in.Memory.refuse(leaf, problem, p.in.Now).problem(p.in.Now)
}

// problem is that of the resource, with the time until the leaf is tried again.
func (r *Refusal) problem(now time.Time) *Problem {
	problem := *r.Problem
	problem.Partial, problem.RetryAfter = true, max(r.Until.Sub(now), time.Millisecond)
	return &problem
}

func (m *Memory) refuse(leaf Leaf, problem *Problem, now time.Time) *Refusal {
	if m.Refusals == nil {
		m.Refusals = map[Leaf]*Refusal{}
	}
	r := m.Refusals[leaf]
	if r == nil {
		r = &Refusal{}
		m.Refusals[leaf] = r
	}
	wait := min(firstRefusal<<min(r.Times, 8), longestRefusal)
	r.Problem, r.Times, r.Until = problem, r.Times+1, now.Add(wait)
	return r
}

// refusal is the Problem of the first leaf that is held back because it was
// refused, or nil.
func (p *Plan) refusal(id manifest.ID, compared delta.Comparison) *Problem {
	if p.in.Memory == nil || len(p.in.Memory.Refusals) == 0 {
		return nil
	}
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
