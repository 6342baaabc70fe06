package reconcile

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// mostTries is the maximum number of dry runs, for one object in one reconciliation, that search for rejected
// fields. Fields that are not known to be accepted by then are deferred.
const mostTries = 32

// mostNear is the maximum number of sibling fields whose removal is tried one by one, the nearest first. More
// are tried only if the API server accepts the change without all near siblings.
const mostNear = 2

// search finds out why an API server rejects a patch. It belongs to one change and one rejection, and is used on the
// goroutine of the change only. Dry runs decide, because messages of an API server are no interface, and its causes
// are only hints.
type search struct {
	*sender

	at cluster.Location
	// change is the rejected change. Its units may be tried in any combination.
	change plan.Change
	// units are the parts of the change that can be written separately: see
	// docs/semantics.md#what-the-api-server-refuses.
	units []plan.Unit
	// causes are the fields that the API server names. They are hints: it may name no more
	// than the spec, or a field that was not sent (spec.clusterIPs[0] for spec.clusterIP).
	causes []string
	// problem is the problem of the rejected patch. It becomes that of the deferred fields.
	problem *plan.Problem
	// inTheWay lists the fields that prevent the adoption of an object.
	inTheWay []plan.Sibling
	// invalid is true if validation rejects the object, so that a sibling field may be the cause. A policy
	// can deny for any reason.
	invalid bool
}

// progress is the state of the search for one object whose patch was rejected. It is kept while the plan is executed,
// so that the next rejection of the same object continues the search. mostTries applies to all its searches together.
type progress struct {
	// tries is the number of dry runs so far.
	tries int
	good  map[string]bool // units that are accepted together
}

// errElsewhere stops a search because a dry run has failed for another reason.
var errElsewhere = errors.New("the object has changed")

// refuse finds out which fields of a patch the API server rejects, and records them for the next decision. It reports
// whether another request must be sent: then the outcome contains the object for the next decision. If not, the outcome
// contains the problem. It sends only dry runs and reads. Source: docs/semantics.md#what-the-api-server-refuses.
func (a *sender) refuse(ctx context.Context, at cluster.Location, change plan.Change, err error, problem *plan.Problem) (plan.Outcome, bool) {
	problem = change.ExplainCuts(problem)
	outcome := plan.Outcome{Action: plan.Update, Problem: problem}
	s := &search{sender: a, at: at, change: change, units: change.Units(), causes: causesOf(err), problem: problem, invalid: code(err) == http.StatusUnprocessableEntity}
	if change.Live() == nil || len(s.units) == 0 {
		return outcome, false
	}
	// Only managedFields show which client has set a sibling field.
	if s.invalid && slices.ContainsFunc(s.units, change.HasSiblings) && !hasManagers(change.Live()) {
		fresh, again := a.reread(ctx, at, change)
		if !again || fresh.Object == nil {
			return fresh, again
		}
		s.change = a.decideAgain(change.ID, fresh.Object)
		if !reflect.DeepEqual(s.change.Patch, change.Patch) {
			return fresh, true
		}
		s.units = s.change.Units()
	}
	found, err := s.find(ctx)
	if err != nil {
		return a.reread(ctx, at, change)
	}
	if len(found) == 0 {
		problem := *s.problemWith(s.refusedPaths(ctx))
		problem.Message += plan.InTheWay(s.inTheWay)
		outcome.Problem = &problem
		return outcome, false
	}
	a.mu.Lock()
	a.refused[change.ID] = append(a.refused[change.ID], found...)
	a.mu.Unlock()
	return plan.Outcome{Object: s.change.Live()}, true
}

// find returns the rejected leaves for the next decision. It returns none if no part of the change can be written.
// The error is errElsewhere.
func (s *search) find(ctx context.Context) ([]plan.RejectedLeaf, error) {
	// A change of the desired state is written completely or not at all, so its parts are not tried.
	if s.change.Alters() {
		siblings, err := s.clearing(ctx, nil, s.units)
		switch {
		case err != nil || s.change.Adopts():
			s.inTheWay = siblings
			return nil, err
		case len(siblings) > 0:
			return s.cleared(siblings), nil
		}
		if rejected, ok := s.plan.Reject(s.change, s.problemWith(s.refusedPaths(ctx))); ok {
			return []plan.RejectedLeaf{rejected}, nil
		}
		return nil, nil
	}
	good, bad, err := s.firstRefused(ctx)
	if err != nil {
		return nil, err
	}
	if len(bad) == 1 {
		siblings, err := s.clearing(ctx, good, bad)
		if err != nil || len(siblings) > 0 {
			return s.cleared(siblings), err
		}
	}
	var found []plan.RejectedLeaf
	for _, u := range bad {
		found = append(found, s.hold(u.Path, u))
		if around, ok := u.Around(s.causes); ok {
			found = append(found, s.hold(around, u))
		}
	}
	return found, nil
}

// cleared returns the siblings in the form in which Replan removes them; nil if there are none.
func (s *search) cleared(siblings []plan.Sibling) []plan.RejectedLeaf {
	if len(siblings) == 0 {
		return nil
	}
	return []plan.RejectedLeaf{plan.Clear(s.change.ID, siblings)}
}

// hold defers a unit because of the fields of a unit, which is usually the same.
func (s *search) hold(path string, because plan.Unit) plan.RejectedLeaf {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.plan.RecordRejection(plan.Leaf{ID: s.change.ID, Path: path}, s.problemWith(pathsOf(because)))
}

// firstRefused returns a rejected unit, and the units that are accepted together. It searches for the longest run of
// accepted units, in an order that ends with the units that the API server names. Beyond mostTries, it returns all
// units that are not known to be accepted.
//
// It is a binary search: the API server accepts order[:accepted] and rejects order[:refused]. The first dry run
// leaves out the units that the API server named, so a correct hint shortens the search.
func (s *search) firstRefused(ctx context.Context) (good, bad []plan.Unit, err error) {
	known := s.progressOf(s.change.ID)
	rank := func(u plan.Unit) int {
		switch {
		case known.good[u.Path]:
			return 0
		case !slices.ContainsFunc(s.causes, u.IsNamed):
			return 1
		}
		return 2
	}
	order := slices.Clone(s.units)
	slices.SortStableFunc(order, func(a, b plan.Unit) int { return rank(a) - rank(b) })
	count := func(most int) (n int) {
		for _, u := range order {
			if rank(u) <= most {
				n++
			}
		}
		return n
	}
	// Units that were accepted together before need no dry run. All units together were rejected.
	accepted, refused := count(0), len(order)
	for next := count(1); accepted+1 < refused; next = (accepted + refused) / 2 {
		if next <= accepted || next >= refused {
			next = (accepted + refused) / 2
		}
		if known.tries >= mostTries {
			break
		}
		ok, err := s.accepts(ctx, order[:next], nil)
		if err != nil {
			return nil, nil, err
		}
		if ok {
			accepted = next
		} else {
			refused = next
		}
	}
	for _, u := range order[:accepted] {
		known.good[u.Path] = true
	}
	if accepted+1 < refused {
		return order[:accepted], order[accepted:], nil
	}
	return order[:accepted], order[accepted:refused], nil
}

// clearing returns the sibling fields to remove so that the API server accepts the rejected units. It returns
// only fields that must be removed: those that the API server names, or a single field, or, for drift, all
// siblings.
func (s *search) clearing(ctx context.Context, good, bad []plan.Unit) ([]plan.Sibling, error) {
	if !s.invalid {
		return nil, nil
	}
	// The first slice contains all siblings. named lists those that the API server names, near those next to a field
	// that it names.
	var beside, named, near []plan.Sibling
	for _, u := range bad {
		beside = append(beside, s.plan.Siblings(s.change, u)...)
	}
	for _, sibling := range beside {
		if slices.ContainsFunc(s.causes, sibling.IsNamed) {
			named = append(named, sibling)
		}
		if s.distance(sibling) >= 0 {
			near = append(near, sibling)
		}
	}
	if len(near) == 0 {
		near = beside
	}
	slices.SortStableFunc(near, func(a, b plan.Sibling) int { return s.distance(a) - s.distance(b) })
	// If the API server rejects the change without all near siblings, only the nearest are tried one by one.
	if len(near) > mostNear {
		ok, err := s.accepts(ctx, slices.Concat(good, bad), near)
		if err != nil {
			return nil, err
		}
		if !ok {
			near = near[:mostNear]
		}
	}
	for _, siblings := range s.tries(beside, named, near) {
		if ok, err := s.accepts(ctx, slices.Concat(good, bad), siblings); ok || err != nil {
			return siblings, err
		}
	}
	return nil, nil
}

// tries returns the sets of sibling fields to remove, in the order in which they are tried.
func (s *search) tries(beside, named, near []plan.Sibling) (tries [][]plan.Sibling) {
	if len(named) > 0 {
		tries = append(tries, named)
	}
	for _, sibling := range near {
		if one := []plan.Sibling{sibling}; !reflect.DeepEqual(one, named) {
			tries = append(tries, one)
		}
	}
	if len(beside) > 1 && !s.change.Alters() && !reflect.DeepEqual(beside, named) {
		tries = append(tries, beside)
	}
	return tries
}

// distance returns how near a field is to a field that the API server names; negative if it is not near.
func (s *search) distance(sibling plan.Sibling) int {
	nearest := -1
	for _, cause := range s.causes {
		if d := sibling.Distance(cause); d >= 0 && (nearest < 0 || d < nearest) {
			nearest = d
		}
	}
	return nearest
}

// accepts reports whether the API server accepts some units of the change in a dry run, with some sibling fields
// removed. After mostTries dry runs, it returns false without a request. It returns errElsewhere if the search cannot
// continue: a guard has failed, or the dry run had no response.
func (s *search) accepts(ctx context.Context, units []plan.Unit, siblings []plan.Sibling) (bool, error) {
	known := s.progressOf(s.change.ID)
	if known.tries >= mostTries {
		return false, nil
	}
	known.tries++
	err := s.target.TryPatch(ctx, s.at, s.change.PatchOf(units, siblings))
	switch {
	case err == nil:
		return true, nil
	case (refused(err) || deniedByAdmission(err)) && !guardFailed(err):
		return false, nil
	}
	return false, errElsewhere
}

// progressOf returns the progress of the search for an object, which it creates at first.
func (a *sender) progressOf(id manifest.ID) *progress {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.searched[id] == nil {
		put(&a.searched, id, &progress{good: map[string]bool{}})
	}
	return a.searched[id]
}

// refusedPaths returns the paths because of which a whole change is rejected: those that the API server names, and,
// if it names only a parent such as the spec, those that dry runs find. The paths are for the message only, so an
// error ends the search without an effect.
func (s *search) refusedPaths(ctx context.Context) (paths []string) {
	// A copy of the search, with each field as a unit of its own.
	fields := *s
	fields.units = nil
	for _, u := range s.units {
		for _, d := range u.Fields {
			field := plan.Unit{Path: d.Path, Fields: []delta.Difference{d}}
			if slices.ContainsFunc(s.causes, field.IsNamed) {
				paths = append(paths, d.Path)
			} else {
				fields.units = append(fields.units, field)
			}
		}
	}
	isVague := func(cause string) bool {
		return !slices.ContainsFunc(s.units, func(u plan.Unit) bool { return u.IsNamed(cause) })
	}
	if len(paths) > 0 && !slices.ContainsFunc(s.causes, isVague) {
		return paths
	}
	// Each pass finds one rejected field and removes it, until the API server accepts the others.
	for n := 0; len(fields.units) > 0; n++ {
		if n > 0 || len(paths) > 0 {
			if ok, err := s.accepts(ctx, fields.units, nil); ok || err != nil {
				break
			}
		}
		_, bad, err := fields.firstRefused(ctx)
		if err != nil || len(bad) != 1 {
			break
		}
		paths = append(paths, bad[0].Path)
		fields.units = slices.DeleteFunc(fields.units, func(u plan.Unit) bool { return u.Path == bad[0].Path })
	}
	return paths
}

// pathsOf returns the paths of the fields in a unit.
func pathsOf(u plan.Unit) (paths []string) {
	for _, d := range u.Fields {
		paths = append(paths, d.Path)
	}
	return paths
}

// problemWith returns the problem with the paths added to its message, if the API server names only their parents. The
// result is a copy if the message changes.
func (s *search) problemWith(paths []string) *plan.Problem {
	missing := slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return strings.Contains(s.problem.Message, path) })
	if len(missing) == 0 {
		return s.problem
	}
	problem := *s.problem
	problem.Message = fmt.Sprintf("%s (it rejects %s)", problem.Message, strings.Join(missing, ", "))
	return &problem
}

// hasManagers reports whether an object has managedFields, which an object from a watch may lack.
func hasManagers(object map[string]any) bool {
	return len(manifest.NestedMaps(object, "metadata", "managedFields")) > 0
}

// clear records the aliases of written fields that the API server left unchanged, so that the next patch removes
// them. It reports whether there are any. answer is the response to the patch. Source: docs/semantics.md, "Writing".
func (a *sender) clear(change plan.Change, answer map[string]any) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	aliases := a.plan.Aliases(change, answer)
	if len(aliases) > 0 {
		a.refused[change.ID] = append(a.refused[change.ID], plan.Clear(change.ID, aliases))
	}
	return len(aliases) > 0
}
