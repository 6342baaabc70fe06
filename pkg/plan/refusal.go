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

// The first and the longest backoff of a rejected leaf. The backoff doubles with each rejection: 2, 4, 8, and then
// always 16 minutes.
const (
	firstRefusal   = 2 * time.Minute
	longestRefusal = 16 * time.Minute
)

// mostRefused limits how many deferred fields a message names in addition to the first.
const mostRefused = 32

// Alters reports whether a change has a desired state or schema other than the recorded ones, and does not
// correct drift only. Such a change is written completely or not at all. It is false for a resource whose rejected
// change is deferred: only drift from the last-applied state is corrected then.
func (c Change) Alters() bool {
	res := c.resource
	if res == nil || res.rejected != nil {
		return false
	}
	r := res.previous
	return res.policy.Begins || !res.hasRecord() || !res.entry.SameFields(r.Entry) || !observer.Equal(res.stored(), r.Desired)
}

// RejectedLeaf is a part of a patch that the API server has rejected. It is an argument of Replan, and part of
// the Outcome of its resource. Package reconcile finds it with dry runs of Change.PatchOf:
//
//	rejected                                       returned by        effect of Replan
//	a leaf or unit, in the correction of drift     RecordRejection    the unit is deferred
//	a change of the desired state                  Reject             the last-applied state is held
//	a field, because of a free field next to it    Clear              the free field is removed
type RejectedLeaf struct {
	// Leaf is the deferred leaf or unit. Its path is empty if the API server rejected the whole change.
	Leaf Leaf
	// Problem is the Problem of the resource from now on.
	Problem *Problem

	// Exactly one of these is for the memory: the rejection of a leaf or unit, that of a whole change, or the
	// paths of fields to remove.
	refusal   Rejection
	rejection *RejectedChange
	conflicts []string
}

// RecordRejection defers a leaf or a unit whose change the API server rejected. The other leaves of its
// resource can be decided again with Replan. The plan and its memory do not change: Summarize adds the result, from
// the Outcome, to the next State.
func (p *Plan) RecordRejection(leaf Leaf, problem *Problem) RejectedLeaf {
	refusal := Rejection{}
	if before := p.in.Memory.Rejections[leaf]; before != nil {
		refusal = *before
	}
	// A copy, because the caller uses the Problem for several leaves.
	located := *problem
	located.Path, _ = observer.ParsePath(leaf.Path) // nil if it is not a valid path
	refusal.again(&located, p.in.Now)
	return RejectedLeaf{Leaf: leaf, Problem: refusal.problem(p.in.Now), refusal: refusal}
}

// ExplainCuts returns the Problem of a rejected change, and adds which dropped maps it removes only in part: their rest
// may be invalid.
func (c Change) ExplainCuts(problem *Problem) *Problem {
	if c.resource == nil || len(c.resource.letting.cuts) == 0 {
		return problem
	}
	explained := *problem
	explained.Message += "; " + list(c.resource.letting.cuts)
	return &explained
}

// again counts a rejection and sets the time of the next attempt.
func (r *Rejection) again(problem *Problem, now time.Time) {
	// The shift is limited, because it would overflow after many rejections.
	r.Until = now.Add(min(firstRefusal<<min(r.Times, 8), longestRefusal))
	r.Problem, r.Times = problem, r.Times+1
}

// with returns the memory with the rejected leaves added. It does not modify the receiver.
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

// put sets a value in a map. It allocates the map if it is nil.
func put[M ~map[K]V, K comparable, V any](to *M, key K, value V) {
	if *to == nil {
		*to = M{}
	}
	(*to)[key] = value
}

// problem returns the Problem of the resource, with the time until the next attempt to change the leaf. The
// time is 0 if the backoff has ended.
func (r *Rejection) problem(now time.Time) *Problem {
	problem := *r.Problem
	problem.Partial, problem.RetryAfter = true, max(r.Until.Sub(now), 0)
	return &problem
}

// refusal returns the Problem of the leaves that are deferred because of a rejection, or nil if there are
// none. It is the Problem of the first leaf, and its message names the others.
func (p decider) refusal(id manifest.ID, compared delta.Comparison) (problem *Problem) {
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
		problem.Message += "; also deferred: " + listed(others, mostRefused)
	}
	return problem
}

// refusalOf returns the rejection of a leaf or of its unit, or nil.
func (m *State) refusalOf(id manifest.ID, d delta.Difference) *Rejection {
	if r := m.Rejections[Leaf{id, d.Path}]; r != nil || d.Unit == "" {
		return r
	}
	return m.Rejections[Leaf{id, d.Unit}]
}

// accepts deletes the rejections of leaves that are in sync and have no drift below them. Their next rejection starts
// with the first backoff again.
func (m *State) accepts(drifted map[Leaf]bool) {
	maps.DeleteFunc(m.Rejections, func(leaf Leaf, _ *Rejection) bool { return !drifted[leaf] && !hasDriftBelow(leaf, drifted) })
}

// hasDriftBelow reports whether a field of a rejected unit has drifted.
func hasDriftBelow(leaf Leaf, drifted map[Leaf]bool) bool {
	for d := range drifted {
		if d.ID == leaf.ID && (leaf.Path == delta.Root || observer.IsUnder(d.Path, leaf.Path)) {
			return true
		}
	}
	return false
}

// EachRefusal calls a function with the rejection of each leaf and of each change.
func (m *State) EachRefusal(do func(*Rejection)) {
	for _, r := range m.Rejections {
		do(r)
	}
	for _, r := range m.RejectedChanges {
		do(&r.Rejection)
	}
}

// Live returns the live object of the decision of a change, or nil if there is none.
func (c Change) Live() map[string]any {
	if c.resource == nil {
		return nil
	}
	return c.resource.live
}
