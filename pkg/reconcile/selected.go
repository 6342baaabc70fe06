package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// ranges returns the ranges of objects to watch for spec.select, without duplicates. It omits kinds with problems.
func (k *knownKinds) ranges(selections []intent.Selection) cluster.Ranges {
	ranges := cluster.Ranges{}
	for _, entry := range selections {
		kind := k.find(entry.GroupVersionKind)
		if kind == nil || kind.cause() != nil {
			continue
		}
		for _, r := range k.rangesFor(entry) {
			if !slices.Contains(ranges[kind.Resource], r) {
				ranges[kind.Resource] = append(ranges[kind.Resource], r)
			}
		}
	}
	return ranges
}

// rangesFor returns one range for each namespace that a spec.select item names, or one range for all namespaces. The
// ranges contain all conditions that the API server can evaluate. The others, such as `*` in a name, are evaluated by
// Selection.Covers.
func (k *knownKinds) rangesFor(entry intent.Selection) []cluster.ObjectRange {
	r := cluster.ObjectRange{Labels: entry.Labels.String(), Name: entry.Name()}
	// A name that the API server selects by needs no pattern.
	if r.Name == "" {
		r.Names = strings.Join(entry.Names, ",")
	}
	if namespaced, known := k.Namespaced(entry.GroupKind()); known && !namespaced {
		return []cluster.ObjectRange{r}
	}
	if entry.AllNamespaces() {
		if !slices.Contains(entry.Namespaces, "*") {
			r.Namespaces = strings.Join(entry.Namespaces, ",")
		}
		return []cluster.ObjectRange{r}
	}
	all := make([]cluster.ObjectRange, len(entry.Namespaces))
	for i, namespace := range entry.Namespaces {
		all[i] = r
		all[i].Namespace = namespace
	}
	return all
}

// addSelectable adds the objects that spec.select may match. If the objects of an item cannot be read, its matches are
// unknown. All items are read before it returns ErrNotSeen, so that all watches start together.
// Source: docs/semantics.md, "Many objects at once".
func (g *gatherer) addSelectable(ctx context.Context) error {
	if len(g.selections) == 0 {
		return nil
	}
	var waiting error
	g.Input.UnresolvedSelections = map[int]*plan.Problem{}
	for _, entry := range g.selections {
		found, problem, err := g.matchingObjects(ctx, entry)
		if err != nil {
			waiting = err
		}
		if problem != nil {
			g.Input.UnresolvedSelections[entry.Position] = problem
			continue
		}
		for id, object := range found {
			if entry.Covers(id) && !g.shared[id] { // a shared object is watched by its name
				g.Input.Live[id] = object
			}
		}
	}
	return waiting
}

// addSelected adds the objects that spec.select matches to the desired ones. The objects of an item with unknown
// matches remain in the inventory.
func (g *gatherer) addSelected() {
	if len(g.selections) == 0 || g.Input.Application.DeletionTimestamp != nil {
		return
	}
	selected := intent.Selected(g.Input.Intent(), g.selections)
	for id, by := range selected {
		g.desired[id] = by[0].GroupVersionKind
	}
	g.retainUnresolved(selected)
	// Without the matches of an item, its objects would seem to have left the selection.
	if len(g.Input.UnresolvedSelections) == 0 {
		g.delayChurn(selected)
	}
}

// matchingObjects returns the objects that an item may match, or why they are unknown. waiting is ErrNotSeen or nil;
// found is then incomplete.
func (g *gatherer) matchingObjects(ctx context.Context, entry intent.Selection) (found map[manifest.ID]map[string]any, problem *plan.Problem, waiting error) {
	kind := g.kinds.find(entry.GroupVersionKind)
	if kind == nil {
		return nil, nil, nil
	}
	if problem := kind.cause(); problem != nil {
		return nil, problem, nil
	}
	found = map[manifest.ID]map[string]any{}
	for _, part := range g.kinds.rangesFor(entry) {
		objects, err := g.view.Range(ctx, kind.GroupKind(), kind.Mapping, part)
		switch {
		case errors.Is(err, ErrNotSeen):
			waiting = err
			continue
		case err != nil && g.request.MayList == nil: // reads use the user's rights
			return nil, g.view.Problem(err, listOf(kind, part), "list"), nil
		case err != nil:
			return nil, watchProblem(g.Input.Application, kind.GroupKind(), kind.Resource, err), nil
		}
		if problem := g.listProblem(ctx, kind, part, objects); problem != nil {
			return nil, problem, nil
		}
		maps.Copy(found, objects)
	}
	return found, nil, waiting
}

// listOf returns the location of all objects of a kind in a range. It has no name, so messages describe the kind and
// the namespace.
func listOf(kind *knownKind, part cluster.ObjectRange) cluster.Location {
	return cluster.Location{ID: manifest.ID{Group: kind.gvk.Group, Kind: kind.gvk.Kind, Namespace: part.Namespace}, Mapping: kind.Mapping, Shared: true}
}

// listedFor is how long a right to list is not checked again when new objects appear. Until then, new objects are
// used on the basis of the last check.
const listedFor = time.Minute

// listProblem returns why the objects of a range may not be used; nil if the ServiceAccount may read all of
// them. It is necessary because a watch has the rights of the controller. It checks the right once for each
// generation of the spec. It checks again, at most once a minute, if new objects appeared.
func (g *gatherer) listProblem(ctx context.Context, kind *knownKind, part cluster.ObjectRange, objects map[manifest.ID]map[string]any) *plan.Problem {
	app, m := g.Input.Application, g.memory
	if g.request.MayList == nil || app.DeletionTimestamp != nil {
		return nil
	}
	key := listKey{kind.GroupKind(), part.Namespace, part.Name}
	known, has := m.lists[key]
	uids, news := make(map[string]struct{}, len(objects)), false
	for _, object := range objects {
		uid := uidOf(object)
		_, shown := known.uids[uid]
		uids[uid], news = struct{}{}, news || !shown
	}
	now := listPermission{generation: app.Generation, account: app.Spec.ServiceAccountName, at: known.at, uids: uids}
	// A repeated list of known objects reveals nothing that was not permitted before.
	if !has || known.generation != now.generation || known.account != now.account || news && g.Input.Now.Sub(known.at) > listedFor {
		at := listOf(kind, part)
		failed := at.ID
		if part.Name != "" {
			// RBAC can permit to list one name and not another. The asterisk keeps it apart from the object of that name.
			failed.Name = "*" + part.Name
		}
		if blocked := g.Input.Blocked[failed]; blocked != nil {
			return blocked
		}
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		if err := g.request.MayList(ctx, kind.Mapping, part); err != nil {
			delete(m.lists, key)
			return m.failed(failed, g.view.Problem(err, at, "list"), g.Input.Now)
		}
		delete(m.failures, failed)
		now.at = g.Input.Now
	}
	put(&m.lists, key, now)
	return nil
}

// retainUnresolved keeps the objects in the inventory that a spec.select item with unknown matches may cover. It
// blocks them, so that they are neither changed nor released.
func (g *gatherer) retainUnresolved(selected map[manifest.ID][]intent.Selection) {
	for _, entry := range g.selections {
		problem := g.Input.UnresolvedSelections[entry.Position]
		if problem == nil {
			continue
		}
		for _, status := range g.Input.Application.Status.Resources {
			id := manifest.IDFromReference(status.ResourceReference)
			_, desired := g.desired[id]
			if claim.RecordedPolicy(g.Input.Application, &status).Claims && !desired && selected[id] == nil && entry.Covers(id) {
				g.Input.Blocked[id] = problem
			}
		}
	}
}

const (
	// freeComings is how often an object can leave the selection before it is deferred when it matches again.
	freeComings = 4
	// longestComing is the maximum time for which the object is then deferred.
	longestComing = 5 * time.Minute
	// forgetComing is how long after an object last left the selection its churn is forgotten. Until then it is
	// reported, also while the object is not deferred.
	forgetComing = 2 * longestComing
)

// wait returns how long after its last departure an object is deferred. It is 0 for the first departures.
func (c selectionChurn) wait() time.Duration {
	if c.times <= freeComings {
		return 0
	}
	return min(time.Second<<min(c.times-freeComings, 10), longestComing)
}

// delayChurn defers objects that repeatedly enter and leave the selection, each time for longer, and reports them until
// they have rested. Holdfast may be the cause: one Application selects objects by a label that another Application holds on the objects that the label
// selects. It compares the matches with those of the previous reconciliation, and records them.
func (g *gatherer) delayChurn(selected map[manifest.ID][]intent.Selection) {
	m, now := g.memory, g.Input.Now
	// An object that matched before, and does not match now, has left.
	for id := range m.selected {
		if selected[id] == nil {
			put(&m.churn, id, selectionChurn{m.churn[id].times + 1, now})
		}
	}
	// Only current matches are compared next time.
	m.selected = nil
	for id := range selected {
		put(&m.selected, id, struct{}{})
	}
	for _, id := range slices.SortedFunc(maps.Keys(m.churn), func(a, b manifest.ID) int { return strings.Compare(a.String(), b.String()) }) {
		c := m.churn[id]
		rest := c.left.Add(forgetComing).Sub(now)
		if rest <= 0 {
			delete(m.churn, id)
			continue
		}
		if c.wait() == 0 {
			continue
		}
		problem := &plan.Problem{
			Reason: v1alpha1.ReasonWaiting, RetryAfter: rest,
			Message: fmt.Sprintf("%s repeatedly starts and stops matching spec.select, so it is held with increasing backoff: check which client changes its labels or creates it again", id),
		}
		if wait := c.left.Add(c.wait()).Sub(now); wait > 0 && selected[id] != nil {
			problem.RetryAfter = wait
			g.Input.Blocked[id] = problem
			continue
		}
		g.Input.RestlessSelections = append(g.Input.RestlessSelections, problem)
	}
}
