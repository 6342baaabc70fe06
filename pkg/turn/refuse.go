package turn

import (
	"context"
	"fmt"
	"strings"

	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/plan"
)

// mostParts is how many leaves of a refused patch are tried one by one.
const mostParts = 16

// tryParts finds the leaves because of which an API server refused a patch, and
// holds them back. Each is tried alone, as a dry run: the paths in an API
// server's answer are not always those of the fields that were sent
// (spec.clusterIPs[0] for spec.clusterIP). It returns how many leaves are
// accepted, and the problem of the resource; nil if no leaf alone is to blame.
func (a *action) tryParts(ctx context.Context, at cluster.Location, change plan.Change, whole *plan.Problem) (accepted int, problem *plan.Problem) {
	parts := change.Parts()
	if len(parts) == 1 {
		return 0, a.hold(at, parts[0], whole)
	}
	if len(parts) > mostParts {
		return 0, nil
	}
	for _, part := range parts {
		if err := a.target.TryPatch(ctx, at, part.Ops); refused(err) && !guardFailed(err) {
			problem = a.hold(at, part, whole) // what is said about all of it is the most precise
			continue
		}
		accepted++
	}
	return accepted, problem
}

// hold holds a leaf back, and names it where the API server names what is above it.
func (a *action) hold(at cluster.Location, part plan.Part, problem *plan.Problem) *plan.Problem {
	if !strings.Contains(problem.Message, part.Path) {
		named := *problem
		named.Message = fmt.Sprintf("%s (it refuses %s)", problem.Message, part.Path)
		problem = &named
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	refused := a.plan.Refuse(plan.Leaf{ID: at.ID, Path: part.Path}, problem)
	a.refused[at.ID] = append(a.refused[at.ID], refused)
	return refused.Problem
}
